"""Holds what the injected library writes against docs/schemas/prof.schema.json.

    schema_test.py WRITE_A_RUN SCHEMA

Exit status 77 where the validator (Debian's python3-jsonschema) is missing.
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
    print("python3-jsonschema is not installed")
    sys.exit(77)

PROGRAM, SCHEMA = sys.argv[1:3]
del sys.argv[1:]


class WhatTheLibraryWrites(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout
        cls.file = json.loads(text)
        cls.validator = jsonschema.Draft7Validator(json.loads(pathlib.Path(SCHEMA).read_text()))

    def complaints(self, file):
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
                for error in self.validator.iter_errors(file)]

    def test_follows_the_schema(self):
        self.assertEqual(self.complaints(self.file), [])

    def test_would_be_refused_with_a_wrong_type(self):
        wrong = copy.deepcopy(self.file)
        wrong["events"][0]["measured_times_ms"] = "0.04"
        self.assertEqual(len(self.complaints(wrong)), 1)

    def test_says_nothing_that_the_schema_does_not_know(self):
        """A member that the writer spells and the schema does not is missing in the docs as well."""
        schema = self.validator.schema
        event = schema["definitions"]["event"]["properties"]
        parts = [("", self.file, schema["properties"])]
        parts += [("events/", e, event) for e in self.file["events"]]
        parts += [(f"{name}/", self.file[name], schema["properties"][name]["properties"])
                  for name in ("profiler", "overhead")]
        parts += [(f"{name}/", element, schema["properties"][name]["items"]["properties"])
                  for name in ("devices", "calibration", "phases", "runtime_data")
                  for element in self.file[name]]
        unknown = [place + key for place, value, known in parts for key in value
                   if key not in known]
        self.assertEqual(unknown, [])


if __name__ == "__main__":
    unittest.main()
