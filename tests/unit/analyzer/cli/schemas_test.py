#!/usr/bin/python3
"""The published schemas describe what is read and what is written.

usage: schemas_test.py PROF_ANALYZE SOURCE_DIR; exit status 77 (skipped) without python3-jsonschema.
"""

import copy
import json
import pathlib
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

PROGRAM = sys.argv[1]
SOURCE = pathlib.Path(sys.argv[2])
SMALL = SOURCE / "tests/data/gen3/small_h200.prof.json"


def schema(name):
    document = json.loads((SOURCE / "docs/schemas" / name).read_text())
    jsonschema.Draft7Validator.check_schema(document)
    return jsonschema.Draft7Validator(document)


def report(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--format", "json"],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class ProfSchema(unittest.TestCase):
    def test_describes_the_files_of_the_third_generation(self):
        files = sorted((SOURCE / "tests/data/gen3").glob("*.prof.json"))
        self.assertTrue(files)
        for file in files:
            schema("prof.schema.json").validate(json.loads(file.read_text()))

    def test_refuses_what_the_reader_refuses(self):
        good = json.loads(SMALL.read_text())
        for path, value in [(("schema",), "inline_prof/2"), (("iter_time_ms", 0), -1),
                            (("events", 0, "measured_times_ms", 0), "9us"),
                            (("events", 0, "tight", 0), 1), (("events", 0, "grid"), [1, 1]),
                            (("calibration", 0, "state"), "hot")]:
            bad = copy.deepcopy(good)
            place = bad
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            self.assertFalse(schema("prof.schema.json").is_valid(bad), path)
            done = subprocess.run([PROGRAM, "/dev/stdin"], input=json.dumps(bad).encode(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 1, path)


class ReportSchema(unittest.TestCase):
    def test_describes_every_report(self):
        for arguments in [[], ["--machine", "a100-sxm4-40gb"], ["--event-bias", "off"],
                          ["--event-bias", "4.5"], ["--models", "published"], ["--models", "all"]]:
            schema("report.schema.json").validate(report(SMALL, *arguments))

    def test_describes_a_report_of_several_files(self):
        schema("report.schema.json").validate(report(SMALL, SMALL))

    def test_describes_a_report_that_knows_next_to_nothing(self):
        done = subprocess.run([PROGRAM, "/dev/stdin", "--format", "json"],
                              input=b'{"schema":"inline_prof/1","iter_time_ms":[],"events":[]}',
                              stdout=subprocess.PIPE, check=True)
        schema("report.schema.json").validate(json.loads(done.stdout))

    def test_names_every_member_of_the_report(self):
        document = json.loads((SOURCE / "docs/schemas/report.schema.json").read_text())
        self.assertEqual(set(report(SMALL)), set(document["properties"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
