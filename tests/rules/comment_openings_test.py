"""Plants comments in each language: those that open badly must be named with their line, and no others."""

import pathlib
import tempfile
import unittest

import comment_openings

CPP = """// What this file is.
#include <x>

// Returns the last one.
// What follows a first line is no opening.
int last();  // Of the list.
const char* text = "// What a string holds";
const char* raw = R"(
// What a raw string holds
)";
int many = 1'000'000;  // Whatever it says.
/* Where a C comment opens. */
int other;
// - Those behind a dash.
"""
PYTHON = """#!/usr/bin/env python3
\"\"\"That is a module.\"\"\"
text = "# What a string holds"  # For what it is worth


def f():
    \"\"\"Returns nothing.\"\"\"
    # One that is no more.
    # One of many.
"""
SHELL = """#!/bin/bash
echo "# What a string holds" '# What' a#What ${#What}
echo  # Whose output goes nowhere
# What
# this is
"""
CMAKE = """# Whether it is built.
set(a "# What")  # Where it lies
"""


class CommentOpenings(unittest.TestCase):
    def found(self, name, text):
        complaints = comment_openings.check_text(pathlib.Path(name), text)
        self.assertTrue(all(complaint.startswith(name + ":") for complaint in complaints), complaints)
        return [(int(line), words.split('"')[1]) for _, line, words in (c.split(":") for c in complaints)]

    def test_cpp(self):
        self.assertEqual(self.found("a/b.cpp", CPP), [(1, "What"), (6, "Of"), (12, "Where"), (14, "Those")])

    def test_python(self):
        self.assertEqual(self.found("b.py", PYTHON), [(2, "That"), (3, "For what"), (8, "One that")])

    def test_shell(self):
        self.assertEqual(self.found("c.sh", SHELL), [(3, "Whose"), (4, "What")])

    def test_cmake(self):
        self.assertEqual(self.found("CMakeLists.txt", CMAKE), [(2, "Where")])

    def test_other_files_and_builds_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for path in ("a.md", "build/a.sh", "bad/a.sh"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("# What\n")
            self.assertEqual(comment_openings.check(root),
                             ['bad/a.sh:1: the comment opens with "What"'])


if __name__ == "__main__":
    unittest.main()
