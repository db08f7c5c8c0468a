"""Why the device was idle: what a report says of it, against the simulator's log of a run in real time."""

import bisect
import collections
import statistics

LONGEST_START_US = 3.0  # as the report has it: from work that stands in the queue to its begin
# Reasons that a report tells apart; what it says of collectives that wait is in busy time.
THREAD, BETWEEN, WAIT, OTHERS, STARTS, UNKNOWN = REASONS = (
    "the launching thread", "between iterations", "host synchronisation", "other streams or ranks", "starts of queued work",
    "not known")

Work = collections.namedtuple("Work", "begin end asked waited")


def work_of(folder, process):
    """Returns the work of the process's device, in the order in which it began."""
    work = []
    with open(folder / "timeline", encoding="utf-8") as lines:
        for line in lines:
            _, logged_process, _, _, _, begin, length, _, _, _, asked, waited = line.rstrip("\n").split("\t")
            if int(logged_process) == process:
                work.append(Work(int(begin), int(begin) + int(length), int(asked), int(waited)))
    return sorted(work)


def gap_by_reason(work, ended, is_first):
    """{reason: ns} of the time without work before `work`; the work before it had ended at `ended`."""
    gap = work.begin - ended
    if work.asked <= ended:
        start = min(gap, LONGEST_START_US * 1e3)
        return {STARTS: start, OTHERS: gap - start}
    has_waited = ended < work.waited <= work.begin
    if not is_first:
        return {WAIT if has_waited else THREAD: gap}
    waiting = work.waited - ended if has_waited else 0
    return {WAIT: waiting, BETWEEN: gap - waiting}


def true_parts(folder, process, first, last):
    """Returns means of the iterations of middling length from mark `first` to mark `last`: (us of an iteration, {reason: us})."""
    marks = sorted(map(int, (folder / f"libraries/steps.{process}").read_text().split()))
    iterations = {}  # number: {reason, or "length": ns}
    ended = number_before = None
    for work in work_of(folder, process):
        number = bisect.bisect_right(marks, work.asked)
        if ended is not None:
            found = iterations.setdefault(number, collections.Counter())
            if work.begin > ended:
                found.update(gap_by_reason(work, ended, number != number_before))
            found["length"] += max(0, work.end - ended)
        ended = max(work.end, ended or 0)
        number_before = number
    chosen = sorted((found for number, found in iterations.items() if first <= number <= last), key=lambda found: found["length"])
    chosen = chosen[len(chosen) // 4:len(chosen) - len(chosen) // 4]
    if len(chosen) < 5:
        raise ValueError(f"{len(chosen)} iterations between marks {first} and {last} of {len(marks)}: expected 5 at least")
    return (statistics.fmean(found["length"] for found in chosen) / 1e3,
            {reason: statistics.fmean(found[reason] for found in chosen) / 1e3 for reason in REASONS})


def check(folder, profile, analysis, least_explained):
    """Words for the table: each reason's percent of the iteration (and the true one). Raises ValueError where less than
    `least_explained` percent of what the report says is idle is laid to its true reason. How much is idle is only stated: where
    launches come late, a measured time contains some of the launching, so that less seems to be."""
    numbers = sorted(number for event in profile["events"] for number in event["iterations"])
    length_us, true_us = true_parts(folder, profile["process_id"], numbers[0], numbers[-1])
    if not analysis["idle"]:
        raise ValueError("the report does not say why the device was idle")
    (idle,) = analysis["idle"]
    said = {part["reason"]: 100 * part["us"] / analysis["iteration_us"] for part in idle["parts"]}
    true = {reason: 100 * us / length_us for reason, us in true_us.items()}
    all_said, all_true = sum(said.values()), sum(true.values())
    factor = all_said / all_true if all_true else 0.0
    right = sum(min(said[reason], true[reason] * factor) for reason in REASONS if reason != UNKNOWN)
    explained = 100 * right / all_said if all_said else 100.0
    shown = ", ".join(f"{said[reason]:.1f} % {reason} ({true[reason]:.1f})" for reason in REASONS
                      if max(said[reason], true[reason]) >= 0.05)
    words = f"idle {all_said:.1f} % ({all_true:.1f}), {explained:.1f} % of it explained: {shown}"
    if explained < least_explained:
        raise ValueError(f"{words}; expected {least_explained} %")
    return words
