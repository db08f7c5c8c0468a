#!/usr/bin/env python3
"""Joins the event pairs of pair_bias with CUPTI's durations of the same launches.

    pair_bias_report.py [--check] PAIRS.json [UNDER_CUPTI.json CENSUS.json] [-o BIAS.json]

PAIRS.json comes from a run without any tool.  UNDER_CUPTI.json and CENSUS.json come from a second
run under census_cupti.cpp: same program, same order of launches, so the n-th `spin` of the one is the
n-th of the other.  Prints a table in microseconds:

    pair      median of the event pairs
    inner     first to last instruction of the kernel, by the GPU's global timer
    cupti     start to end of the kernel, by CUPTI
    pair-cupti, cupti-inner   medians of the columns' differences

With --check the exit status is 1 where a pair is shorter than the kernel inside it.
"""

import argparse
import json
import pathlib
import statistics
import sys


def percentile(values, share):
    """Nearest-rank percentile of a non-empty list."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def attach_durations(rows, activities):
    """Gives each row CUPTI's durations in us of its launches, in launch order.

    Returns the names of the kernels whose counts do not fit: their rows get none.
    """
    misfits = []
    for kernel in sorted({row["kernel"] for row in rows if row["kernel"]}):
        # CUPTI gives the mangled name, in which the plain one is preceded by its length.
        found = [values for name, values in activities.items()
                 if name == kernel or f"{len(kernel)}{kernel}" in name]
        durations = [value for values in found for value in values]
        mine = [row for row in rows if row["kernel"] == kernel]
        if len(found) != 1 or len(durations) != sum(len(row["pair_us"]) for row in mine):
            misfits.append(kernel)
            continue
        position = 0
        for row in mine:
            count = len(row["pair_us"])
            row["cupti_us"] = [ns / 1000 for ns in durations[position:position + count]]
            position += count
    return misfits


def summarise(pairs, reference):
    """One line a row: numbers only, None where nothing was measured."""
    lines = []
    for index, row in enumerate(pairs["rows"]):
        has_inner = row["kernel"] == "spin"
        cupti = reference[index].get("cupti_us") if reference else None
        pair_us = statistics.median(row["pair_us"])
        inner_us = statistics.median(row["inner_us"]) if has_inner else None
        cupti_us = statistics.median(cupti) if cupti else None
        cupti_inner_us = (statistics.median(reference[index]["inner_us"])
                          if cupti and has_inner else None)
        lines.append({
            "state": row["state"],
            "kernel": row["kernel"] or "(none)",
            "target_us": row["target_us"],
            "count": len(row["pair_us"]),
            "tight": row["tight"],
            "pair_us": pair_us,
            "pair_p05_us": percentile(row["pair_us"], 0.05),
            "pair_p95_us": percentile(row["pair_us"], 0.95),
            "inner_us": inner_us,
            "cupti_us": cupti_us,
            "pair_minus_inner_us": pair_us - inner_us if has_inner else None,
            "pair_minus_cupti_us": pair_us - cupti_us if cupti else None,
            "cupti_minus_inner_us": cupti_us - cupti_inner_us if cupti_inner_us else None,
        })
    return lines


def too_short(lines, timer_step_ns):
    """Rows whose pair is shorter than what it encloses, by more than the two clocks' resolution."""
    resolution_us = 0.5 + 2e-3 * timer_step_ns  # of events (cuda.h, cuEventElapsedTime), of the timer
    return [line for line in lines if line["inner_us"] is not None
            and line["pair_us"] < line["inner_us"] - resolution_us]


def print_table(lines):
    columns = ("pair_us", "pair_p05_us", "pair_p95_us", "inner_us", "cupti_us", "pair_minus_inner_us",
               "pair_minus_cupti_us", "cupti_minus_inner_us")
    titles = ("pair", "p05", "p95", "inner", "cupti", "pair-inner", "pair-cupti", "cupti-inner")
    print(f"{'state':<6} {'kernel':<13} {'target':>7} {'n':>4} {'tight':>5} "
          + " ".join(f"{title:>11}" for title in titles))
    for line in lines:
        values = " ".join(f"{'-' if line[column] is None else format(line[column], '.3f'):>11}"
                          for column in columns)
        print(f"{line['state']:<6} {line['kernel']:<13} {line['target_us']:>7g} {line['count']:>4} "
              f"{line['tight']:>5} {values}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("under_cupti", type=pathlib.Path, nargs="?")
    parser.add_argument("census", type=pathlib.Path, nargs="?")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    pairs = json.loads(options.pairs.read_text())
    reference = None
    if options.census:
        reference = json.loads(options.under_cupti.read_text())["rows"]
        census = json.loads(options.census.read_text())
        for misfit in attach_durations(reference, census["activities"]):
            print(f"CUPTI's records of {misfit} do not fit the launches: left out")
        for error in census["errors"]:
            print(f"CUPTI: {error}")
    lines = summarise(pairs, reference)
    print(f"{pairs['device']}: {pairs['cycles_per_us']:.0f} SM cycles/us, global timer steps of "
          f"{pairs['timer_step_ns']} ns")
    print_table(lines)
    if options.output:
        head = {key: pairs[key] for key in ("device", "cycles_per_us", "timer_step_ns")}
        options.output.write_text(json.dumps({**head, "rows": lines}, indent=1) + "\n")
    short = too_short(lines, pairs["timer_step_ns"])
    for line in short:
        print(f"{line['state']} {line['target_us']} us: the pair is shorter than the kernel inside it")
    return 1 if options.check and short else 0


if __name__ == "__main__":
    sys.exit(main())
