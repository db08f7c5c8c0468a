#!/usr/bin/env python3
"""Checks that scripts/gpu_check.sh shares its parts out as it says, and within ten minutes a call."""

import collections
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = (SOURCE / "scripts/gpu_check.sh").read_text()
COMMENT = SCRIPT[:SCRIPT.index("\nset -euo")]
LIMITS = {part: int(limit) for part, limit in
          re.findall(r"\[(\w+)\]=(\d+)", re.search(r"limit_s=\((.*?)\)", SCRIPT, re.DOTALL).group(1))}
CALLS = {number: re.search(rf"^{name}_call=\((.*?)\)", SCRIPT, re.MULTILINE).group(1).split()
         for number, name in enumerate(("first", "second", "third"), 1)}


def number_of(name):
    return int(re.search(rf"^{name}=(\d+)", SCRIPT, re.MULTILINE).group(1))


class SharesTest(unittest.TestCase):
    def test_every_call_is_within_its_time(self):
        for number, parts in CALLS.items():
            self.assertLessEqual(sum(LIMITS[part] for part in parts), number_of("call_s"), f"call {number}")
        self.assertLess(number_of("call_s"), 600)

    def test_the_comment_has_the_sums(self):
        said = re.findall(r"(\d+) minutes (\d+) s\s+together", COMMENT.replace("\n#", " "))
        self.assertEqual([60 * int(minutes) + int(seconds) for minutes, seconds in said],
                         [sum(LIMITS[part] for part in parts) for parts in CALLS.values()])

    def test_the_calls_hold_every_part_but_the_tests(self):
        counts = collections.Counter(part for number in (1, 2) for part in CALLS[number])
        self.assertEqual({part for part, count in counts.items() if count > 1}, {"machine", "build"})
        self.assertEqual(set(counts) | {"tests"}, set(LIMITS))
        for part in LIMITS:
            self.assertIn(f"\npart_{part}() {{", SCRIPT)
            self.assertRegex(COMMENT, rf"\n#   {part} |Apart: {part}|measure")

    def test_measure_has_its_whole_budget_in_a_call_of_its_own(self):
        # prof-model measure --budget-s, by default (docs/measurements.md)
        most = number_of("longest_measure_s") - number_of("measure_rest_s")
        self.assertEqual(most, 480)
        self.assertIn("8 minutes, the default of prof-model measure", COMMENT.replace("\n#", ""))
        self.assertIn("all but 80 s", COMMENT)
        self.assertGreater(LIMITS["measure"], number_of("measure_rest_s"))
        for parts in (CALLS[2], CALLS[3]):
            self.assertEqual(parts[-1], "measure", "what is left is known at the end")

    def test_the_claims_name_parts_that_there_are(self):
        rows = re.findall(r"^\| (\d+) \|.*?\|.*?\| (.*?) \| (?:not yet seen|seen.*?) \|$",
                          (SOURCE / "docs/gpu_results.md").read_text(), re.MULTILINE)
        self.assertGreater(len(rows), 50)
        for number, checked_by in rows:
            parts = set(re.findall(r"[a-z]+", checked_by)) & set(LIMITS)
            self.assertTrue(parts or "no part yet" in checked_by, f"claim {number}: {checked_by}")


if __name__ == "__main__":
    unittest.main()
