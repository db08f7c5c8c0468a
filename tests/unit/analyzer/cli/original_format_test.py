#!/usr/bin/python3
"""--format original gives what the original profiler's documented parsing gives.

usage: original_format_test.py PROF_ANALYZE TEST_DATA_DIR

The rules, written here once more and on their own: events in order of start_index; grouped by device
("device_" + id) and stream ("stream_" + a number, counted over all devices in order of first
appearance); each with the arithmetic means of its times and of its offsets, and the label
LAYER.NAME; beside them the host and the mean iteration.
"""

import json
import pathlib
import subprocess
import sys
import unittest

PROGRAM = sys.argv[1]
FILE = pathlib.Path(sys.argv[2]) / "hugectr/dlrm_a100_8gpu.prof.json"


def average(numbers):
    total = 0.0
    for number in numbers:  # not sum(): from Python 3.12 on it rounds better than the original did
        total += number
    return total / len(numbers)


def expected(profile):
    numbers = {}
    devices = {}
    for event in sorted(profile["events"], key=lambda e: e["start_index"]):
        number = numbers.setdefault(event["stream"], len(numbers))
        streams = devices.setdefault("device_%d" % event["device_id"], {})
        streams.setdefault("stream_%d" % number, []).append({
            "name": event["name"],
            "start_index": event["start_index"],
            "end_index": event["end_index"],
            "label": event["layer_name"] + "." + event["name"],
            "avg_measured_time_ms": average(event["measured_times_ms"]),
            "avg_iter_start_to_event_start_time_ms":
                average(event["iter_start_to_event_start_times_ms"]),
        })
    return [{"host_name": profile["host_name"],
             "avg_iter_time_ms": average(profile["iter_time_ms"]),
             "timeline": devices}]


class OriginalFormat(unittest.TestCase):
    def test_of_the_real_file(self):
        done = subprocess.run([PROGRAM, str(FILE), "--event-bias", "off", "--format", "original"],
                              stdout=subprocess.PIPE, check=True)
        got = json.loads(done.stdout)
        want = expected(json.loads(FILE.read_text()))
        self.assertEqual(json.dumps(got), json.dumps(want))  # order and every digit included


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
