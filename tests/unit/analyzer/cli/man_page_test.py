#!/usr/bin/python3
"""The man pages and the completion know every command and option that --help lists.

usage: man_page_test.py SOURCE_DIR BUILD_DIR PROGRAM...

BUILD_DIR/man holds the pages that the build makes of docs/man/*.in.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
MADE = pathlib.Path(sys.argv[2]).resolve() / "man"
PROGRAMS = {path.name: path for path in (pathlib.Path(name).resolve() for name in sys.argv[3:] if name)}
PAGES = {path.name: path for path in [*(SOURCE / "docs/man").glob("*.[17]"), *MADE.iterdir()]}


def output_of(program, *arguments):
    return subprocess.run([str(PROGRAMS[program]), *arguments], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def commands(program):
    below = output_of(program, "--help").partition("Subcommands:")[2]
    return re.findall(r"^  ([a-z]+)", below.split("\n\n", 1)[0], re.MULTILINE)


def options(program, *command):
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z0-9-]*)", output_of(program, *command, "--help"),
                          re.MULTILINE))


def asked_commands(program):
    """Those that can say their options: what measures is another program, built with CUDA only."""
    names = commands(program)
    return names if "prof-run" in PROGRAMS else [name for name in names if name != "measure"]


def page_text(name):
    return PAGES[name].read_text().replace("\\-", "-")


def environment():
    return set(re.findall(r"^(\w+)  \(", output_of("prof-run", "--help-env"), re.MULTILINE))


class ManPages(unittest.TestCase):
    def test_the_programs_list_their_commands(self):
        self.assertEqual(set(commands("prof-analyze")),
                         {"compare", "check", "scaling", "ranks", "dataset"})
        self.assertIn("predict", commands("prof-model"))

    def test_a_page_has_every_command_and_option(self):
        for program in PROGRAMS:
            page = page_text(program + ".1")
            for command in [(), *((name,) for name in asked_commands(program))]:
                with self.subTest(program=program, command=command):
                    missing = [option for option in options(program, *command)
                               if not re.search(r'(?m)(^|[ .",])%s\b(?!-)' % re.escape(option), page)]
                    self.assertEqual(missing, [])
                    self.assertIn("".join(command), page)

    def test_a_page_has_no_option_that_there_is_not(self):
        for program in PROGRAMS:
            if asked_commands(program) != commands(program):
                continue
            known = {"--version"}.union(*(options(program, *command) for command in
                                          [(), *((name,) for name in commands(program))]))
            if program == "prof-model":
                known |= options(program, "measure", "--suggest", "PARAMS")
            named = set(re.findall(r"(?<!\w)--[a-z][a-z0-9-]*", page_text(program + ".1")))
            self.assertEqual(named - known, set(), program)

    def test_the_page_of_the_library_has_every_variable(self):
        if "prof-run" not in PROGRAMS:
            self.skipTest("built without CUDA")
        page = set(re.findall(r"^\.B (\w+)$", page_text("inline_prof.7"), re.MULTILINE))
        self.assertEqual({name for name in page if name.isupper()} - {"PMI_RANK"}, environment())

    def test_every_page_is_installed_and_clean(self):
        installed = (SOURCE / "cmake/install_package.cmake").read_text()
        for name, page in PAGES.items():
            self.assertIn(name.partition(".")[0] if name.endswith(".1") else name, installed)
            if shutil.which("groff"):
                done = subprocess.run(["groff", "-man", "-ww", "-z", str(page)],
                                      stderr=subprocess.PIPE, check=True, universal_newlines=True)
                self.assertEqual(done.stderr, "", page)


class Completion(unittest.TestCase):
    def complete(self, program, *words):
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _inline_prof_complete;'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        with tempfile.TemporaryDirectory() as empty:  # else its files are offered, too
            done = subprocess.run(["bash", "-c", script, "bash",
                                   str(SOURCE / "cmake/prof_completion.bash"),
                                   str(PROGRAMS[program]), *words],
                                  cwd=empty, stdout=subprocess.PIPE, check=True,
                                  universal_newlines=True)
        return set(done.stdout.split())

    def test_offers_commands_and_options(self):
        self.assertEqual(self.complete("prof-analyze", "comp"), {"compare"})
        self.assertTrue({"--machine", "--format", "--top"} <= self.complete("prof-analyze", "--"))
        self.assertEqual(self.complete("prof-analyze", "compare", "--fail"), {"--fail-on"})
        self.assertEqual(self.complete("prof-analyze", "--fail"), set())

    def test_knows_every_program(self):
        for program in PROGRAMS:
            self.assertEqual(self.complete(program, "--vers"), {"--version"}, program)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
