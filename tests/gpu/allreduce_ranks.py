#!/usr/bin/env python3
"""Checks the profiles of examples/allreduce on two GPUs (claim 47).

    allreduce_ranks.py --library LIBINLINE_PROF --program ALLREDUCE --work DIR

The last rank has half as many samples again, so that the first one waits for it.  Prints lines
`PASS|FAIL|SKIP 47: TEXT`:

  every ncclAllReduce is an event of its own on each rank, of the same size, communicator and place
  all ranks end with the same weights
  the rank that comes early has the longer collective, by what it waits

Exit status 1 if one failed, 77 if nothing could run.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import sys

from host_program import SKIPPED, Failure, Skip, preloaded, run

RANKS = 2
LAYERS = 4
WIDTH = 4096
BATCH = 4096
ITERATIONS = 600  # enough for REPEAT samples of each of the 29 events
REPEAT = 8
# Both ranks leave a collective together: on each its start and its length add up to the same moment, counted from
# an iteration that begins on the one rank some time before it does on the other, always the same.  What may be
# apart besides: two event times, and how long a kernel takes to let go.
MOST_APART_MS = 0.05
LEAST_WAIT_MS = 0.05


def count_gpus():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Skip(str(error)) from error
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def collectives_of(profile):
    """The all-reduces by their place in the iteration."""
    events = [event for event in profile["events"] if event["event_name"] == "all_reduce"]
    return sorted(events, key=lambda event: event["met_times_within_this_stream"])


def check_events(profiles):
    """Raises Failure unless each rank has each collective, and all agree on what it is."""
    comms = set()
    for rank, profile in enumerate(profiles):
        if profile.get("rank") != rank:
            raise Failure(f"the profile of rank {rank} says rank {profile.get('rank')}")
        events = collectives_of(profile)
        if len(events) != LAYERS:
            raise Failure(f"rank {rank} has {len(events)} events all_reduce, expected {LAYERS}")
        for place, event in enumerate(events):
            op = event.get("op") or {}
            expected = {"kind": "collective", "op": "all_reduce", "count": WIDTH * WIDTH, "type": op.get("type"),
                        "ranks": RANKS, "sequence": place, "comm": op.get("comm"), "bytes": op.get("bytes"),
                        "source": "ncclAllReduce"}
            wrong = [f"{key} {op.get(key)}, expected {value}" for key, value in expected.items()
                     if op.get(key) != value or value is None]
            if event["calls"] != 1:
                wrong.append(f"calls {event['calls']}, expected 1")
            if not event["measured_times_ms"]:
                wrong.append("no sample")
            if wrong:
                raise Failure(f"rank {rank}, all_reduce #{place}: {'; '.join(wrong)}")
            comms.add((op["comm"], op["type"], op["bytes"]))
    if len(comms) != 1:
        raise Failure(f"ranks differ in communicator, type or bytes: {sorted(comms)}")
    return f"{LAYERS} ncclAllReduce of {comms.pop()[2]} bytes are events on each of {RANKS} ranks"


def median_times(event):
    return (statistics.median(event["measured_times_ms"]),
            statistics.median(event["iter_start_to_event_start_times_ms"]))


def check_waiting(profiles):
    """Raises Failure unless rank 0, which comes early, has the longer collectives, by what it waits."""
    if not all(event["measured_times_ms"] for profile in profiles for event in collectives_of(profile)):
        raise Failure("collectives without samples cannot be compared")
    waited, longer, words = [], [], []
    for place, (early, late) in enumerate(zip(*map(collectives_of, profiles))):
        (long_ms, early_ms), (short_ms, late_ms) = median_times(early), median_times(late)
        waited.append(late_ms - early_ms)
        longer.append(long_ms - short_ms)
        words.append(f"#{place} {long_ms * 1e3:.0f} us against {short_ms * 1e3:.0f}, {longer[-1] * 1e3:.0f} longer; "
                     f"starts {waited[-1] * 1e3:.0f} us earlier")
    apart = [more - wait for more, wait in zip(longer, waited)]
    text = (f"the early rank's collectives: {' | '.join(words)}; its iterations begin "
            f"{statistics.median(apart) * 1e3:.0f} us before the other's")
    if min(longer) < LEAST_WAIT_MS or max(apart) - min(apart) > max(MOST_APART_MS, 0.1 * max(longer)):
        raise Failure(f"{text}; expected: each longer by {LEAST_WAIT_MS * 1e3:.0f} us at least, and all by what they "
                      "start earlier and the iterations begin apart")
    return text


def check_weights(said):
    if "simulated GPU" in said:
        raise Skip("weights are not computed on the simulated GPU")
    line = next((line for line in said.splitlines() if line.startswith(("PASS", "FAIL"))), "")
    if not line.startswith("PASS"):
        raise Failure(f"the example says '{line or 'nothing of its weights'}'")
    return line[len("PASS: "):]


def profiles_of(folder):
    found = sorted(folder.glob("*.prof.json"))
    if len(found) != RANKS:
        raise Failure(f"{len(found)} profiles, expected {RANKS}: {', '.join(path.name for path in found)}")
    return sorted((json.loads(path.read_text()) for path in found), key=lambda profile: profile.get("rank", 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=30)
    options = parser.parse_args()
    try:
        if not options.program.exists():
            raise Skip("examples/allreduce was not built: no NCCL in this toolkit")
        gpus = count_gpus()
        if gpus < RANKS:
            raise Skip(f"{gpus} GPU{'' if gpus == 1 else 's'} here, {RANKS} are needed")
        options.work.mkdir(parents=True, exist_ok=True)
        for old in options.work.glob("*.json"):
            old.unlink()
        variables = preloaded(options.library, "", warmup=10, repeat=REPEAT)
        variables["INLINE_PROF_DIR"] = str(options.work)
        del variables["INLINE_PROF_OUT"]
        said = run([str(options.program), "--ranks", str(RANKS), "--imbalance", "50", "--layers", str(LAYERS),
                    "--width", str(WIDTH), "--batch", str(BATCH), "--iterations", str(ITERATIONS)], variables, options.timeout).stdout
        profiles = profiles_of(options.work)
    except Skip as reason:
        print(f"SKIP 47: {reason}")
        return SKIPPED
    except (Failure, json.JSONDecodeError) as reason:
        print(f"FAIL 47: {reason}")
        return 1
    failed = False
    for check, given in ((check_events, profiles), (check_weights, said), (check_waiting, profiles)):
        try:
            print(f"PASS 47: {check(given)}")
        except Skip as reason:
            print(f"SKIP 47: {reason}")
        except Failure as reason:
            failed = True
            print(f"FAIL 47: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
