#!/usr/bin/env python3
"""Writes the prof.json files of a training that was watched for weeks, as the injected library writes them.

    tests/bench/watched_run.py FOLDER [--ranks 8] [--layers 12] [--days 21] [--story throttled,slower,uneven,restarted,all]

A story is what goes wrong: throttled: one rank's GPU from the middle on; slower: a layer on all ranks, in the last fifth;
uneven: now this rank, now that one is slow; restarted: half of the ranks are started again.
"""

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import random

GAMMA = 1.01 / 0.99
SHAPE = (300, 1200, 2000, 1200, 300)  # counts of neighbouring buckets: about 2 % noise
MOST_BINS = 24
KERNELS = (("qkv", 310.0), ("attention", 420.0), ("projection", 110.0), ("mlp_up", 520.0), ("mlp_down", 480.0))
STARTED = "2026-11-03T06:00:00Z"
ITERATION_S = 0.25


def noise(*names):
    """The same number from 0 to 1 for the same names."""
    return int.from_bytes(hashlib.blake2b(repr(names).encode(), digest_size=6).digest(), "big") / 2**48


def edges(seconds):
    """Bins from a minute wide up, the older the wider."""
    low, high = 1.0, 4.0
    for _ in range(50):
        ratio = (low + high) / 2
        low, high = (ratio, high) if sum(60.0 * ratio**i for i in range(MOST_BINS)) < seconds else (low, ratio)
    ends = [seconds]
    for i in range(MOST_BINS - 1):
        ends.append(ends[-1] - 60.0 * high**i)
    return [0.0] + [end for end in reversed(ends) if end > 0]


class Story:
    def __init__(self, names, ranks, layers, days):
        self.names, self.ranks, self.layers, self.seconds = set(names), ranks, layers, days * 86400.0
        self.throttled, self.slower = 3 % ranks, "decoder.%d.mlp" % (layers // 2)

    def factor(self, rank, layer, time_s):
        """By how much a kernel of `layer` is slower on `rank` at `time_s`."""
        factor = 1.0
        if "throttled" in self.names and rank == self.throttled and time_s > 0.55 * self.seconds:
            factor *= 1.38
        if "slower" in self.names and layer == self.slower and time_s > 0.8 * self.seconds:
            factor *= 1.12
        if "uneven" in self.names and noise("who", int(time_s / self.seconds * 19)) * self.ranks // 1 == rank:
            factor *= 1.11
        return factor

    def own_us(self, rank, time_s):
        return sum(us * self.factor(rank, layer_of(i, name), time_s) for i in range(self.layers) for name, us in KERNELS)


def layer_of(i, kernel):
    return "decoder.%d.%s" % (i, "mlp" if kernel.startswith("mlp") else "attention")


def bins(times, us_at, offset_s):
    columns = {"start_s": [], "end_s": [], "first_iteration": [], "last_iteration": [], "first_bucket": [], "counts": []}
    for begin, end in zip(times, times[1:]):
        middle = math.ceil(math.log(1e3 * us_at((begin + end) / 2)) / math.log(GAMMA))
        times_s = (begin - offset_s, end - 0.02 * (end - begin) - offset_s)
        for key, value in zip(columns, (*(round(time, 1) for time in times_s), int(begin / ITERATION_S), int(end / ITERATION_S) - 1,
                                        middle - len(SHAPE) // 2, list(SHAPE))):
            columns[key].append(value)
    return columns


def machine(story, rank, times, offset_s):
    is_throttled = [story.factor(rank, None, time) > 1.3 for time in times]
    def jitter(time, name):
        return noise(rank, time, name)
    return {"device_id": 0, "time_s": [round(time - offset_s, 1) for time in times],
            "sm_clock_mhz": [1410 + 15 * round(jitter(time, "c")) if slow else 1965 + 15 * round(jitter(time, "c")) for time, slow in zip(times, is_throttled)],
            "memory_clock_mhz": [2619 for _ in times],
            "power_w": [round(400 + 5 * jitter(time, "p"), 1) if slow else round(640 + 40 * jitter(time, "p"), 1) for time, slow in zip(times, is_throttled)],
            "temperature_c": [round((84 if slow else 61) + 4 * jitter(time, "t")) for time, slow in zip(times, is_throttled)],
            "throttle_reasons": [0x4 if slow else 0 for slow in is_throttled],
            "ecc_errors": [0 for _ in times], "nvlink_errors": [None for _ in times]}


def document(story, rank, times, offset_s, started_at):
    """One process of `rank`, which ran from times[0] to times[-1]; its own clock began at `offset_s`."""
    random_ = random.Random(rank)
    own = 1.0 + 0.004 * (random_.random() - 0.5)
    peers = range(story.ranks) if story.ranks <= 16 else [story.throttled, rank]
    slowest = {}

    def longest_us(time):
        if time not in slowest:
            slowest[time] = max(story.own_us(peer, time) for peer in peers)
        return slowest[time]

    def event(index, layer, name, us_at, op):
        us = us_at(times[0])
        return {"event_name": name, "layer_name": layer, "device_id": 0, "stream": "0x1", "stream_index": 0, "start_index": index,
                "end_index": index, "met_times_within_this_stream": 0, "calls": 1, "op": op,
                "measured_times_ms": [us * 1e-3 * (1 + 0.01 * (random_.random() - 0.5)) for _ in range(20)],
                "history": bins(times, us_at, offset_s)}

    events = []
    for i in range(story.layers):
        for name, us in KERNELS:
            layer = layer_of(i, name)
            events.append(event(len(events), layer, name,
                                lambda time, us=us, layer=layer: own * us * story.factor(rank, layer, time), None))
    events.append(event(len(events), "optimizer", "all_reduce",
                        lambda time: 900.0 + longest_us(time) - story.own_us(rank, time),
                        {"kind": "collective", "source": "nccl", "function": "all_reduce", "count": 1 << 20, "type": "f32", "ranks": story.ranks}))
    iteration_us = lambda time: 1500.0 + longest_us(time)  # noqa: E731
    until = times[-1] - offset_s
    changes = []
    if "throttled" in story.names and rank == story.throttled:
        began = 0.55 * story.seconds
        if times[0] < began < times[-1]:
            changes = [{"of": "event", "event": i, "layer_name": events[i]["layer_name"], "device_id": 0, "began_s": began - offset_s + i,
                        "detected_s": began - offset_s + 120 + i, "began_iteration": int(began / ITERATION_S), "before_us": us, "after_us": 1.38 * us,
                        "ratio": 1.38, "ratio_ci95": [1.36, 1.40], "reason": "SM clock 1980 -> 1410 MHz: power cap"}
                       for i, (us, event) in enumerate((event["measured_times_ms"][0] * 1e3, event) for event in events[:-1])]
    return {"schema": "inline_prof/1", "host_name": "node%02d" % (rank // 8), "rank": rank, "world_size": story.ranks, "local_rank": rank % 8,
            "process_id": 1000 + rank, "command": "python3 train.py", "started_at": started_at, "complete": True,
            "profiler": {"version": "0.1.0", "event_list_hash": "1"},
            "devices": [{"device_id": 0, "name": "NVIDIA H100 80GB HBM3"}],
            "iter_time_ms": [iteration_us(times[0]) * 1e-3] * 10, "events": events,
            "history": {"budget": 0.0002, "seed": 1, "false_alarms_per_month": 1, "relative_error": 0.01,
                        "started_s": round(times[0] - offset_s, 1), "until_s": round(until, 1), "pairs": int(until / ITERATION_S / 20),
                        "pair_cost_us": 7.1, "cost_share": 0.00019, "iteration": bins(times, iteration_us, offset_s),
                        "machine": [machine(story, rank, times, offset_s)], "changes": changes}}


def started(offset_s):
    import datetime
    first = datetime.datetime.fromisoformat(STARTED[:-1])
    return (first + datetime.timedelta(seconds=offset_s)).isoformat() + "Z"


def write(arguments):
    folder, story, ranks = arguments
    for rank in ranks:
        name = "node%02d.rank%d" % (rank // 8, rank)
        all_times = edges(story.seconds)
        again = 0.4 * story.seconds
        parts = [(all_times, 0.0, "")]
        if "restarted" in story.names and rank % 2 == 0:
            before = [time for time in all_times if time < again]
            parts = [(before + [again - 600.0], 0.0, ""), ([again + 60.0] + [time for time in all_times if time > again + 60.0], again, ".1")]
        for times, offset_s, suffix in parts:
            text = json.dumps(document(story, rank, times, offset_s, started(offset_s)), separators=(",", ":"))
            (folder / ("%s%s.prof.json" % (name, suffix))).write_text(text)


def make(folder, ranks=8, layers=12, days=21.0, story=("throttled", "slower")):
    folder.mkdir(parents=True, exist_ok=True)
    told = Story(story, ranks, layers, days)
    processes = os.cpu_count()
    with multiprocessing.Pool(processes) as pool:
        pool.map(write, [(folder, told, range(first, ranks, processes)) for first in range(processes)])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--days", type=float, default=21.0)
    parser.add_argument("--story", default="throttled,slower")
    given = parser.parse_args()
    make(given.folder, given.ranks, given.layers, given.days, given.story.split(","))


if __name__ == "__main__":
    main()
