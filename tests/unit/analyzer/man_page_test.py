#!/usr/bin/python3
"""The man page and the completion know every command and option that --help lists.

usage: man_page_test.py PROF_ANALYZE SOURCE_DIR
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()


def help_of(*command):
    return subprocess.run([str(PROGRAM), *command, "--help"], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def commands():
    below = help_of().split("Subcommands:", 1)[1]
    return re.findall(r"^  ([a-z]+)", below.split("\n\n", 1)[0], re.MULTILINE)


def options(*command):
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z-]*)", help_of(*command), re.MULTILINE))


class Help(unittest.TestCase):
    def test_lists_the_commands(self):
        self.assertEqual(set(commands()), {"compare", "check", "timeline", "scaling", "ranks"})

    def test_the_man_page_has_every_command_and_option(self):
        page = (SOURCE / "docs/man/prof-analyze.1").read_text().replace("\\-", "-")
        for command in [(), *((name,) for name in commands())]:
            for option in options(*command):
                self.assertRegex(page, r"(?m)(^|[ .])%s\b" % re.escape(option), command)
            self.assertIn("".join(command), page)

    def complete(self, *words):
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _inline_prof_complete;'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        with tempfile.TemporaryDirectory() as empty:  # else its files are offered, too
            done = subprocess.run(["bash", "-c", script, "bash",
                                   str(SOURCE / "cmake/prof_completion.bash"), str(PROGRAM), *words],
                                  cwd=empty, stdout=subprocess.PIPE, check=True,
                                  universal_newlines=True)
        return set(done.stdout.split())

    def test_the_completion_offers_them(self):
        self.assertEqual(self.complete("comp"), {"compare"})
        self.assertTrue({"--machine", "--format", "--top"} <= self.complete("--"))
        self.assertEqual(self.complete("compare", "--fail"), {"--fail-on"})
        self.assertEqual(self.complete("--fail"), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
