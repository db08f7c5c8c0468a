#!/usr/bin/python3
"""The man pages and the completion know every command and option that --help lists.

usage: man_page_test.py SOURCE_DIR BUILD_DIR PROGRAM...

BUILD_DIR/man holds the pages that the build makes of docs/man/*.in.  The parts of docs/man/*.1 between
'.\\" from --help' and '.\\" end' are made from what the programs print; INLINE_PROF_WRITE_PAGES=1 writes them.
"""

import os
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


class Help:
    """The --help of a program or command: usage, entries of each list, examples, exit statuses."""

    def __init__(self, program, *command):
        text = output_of(program, *command, "--help")
        self.summary, self.usage = re.match(r"(.*)\nUsage: (.*)\n", text).groups()
        self.lists = {}
        for title, lines in re.findall(r"^(\w+):\n((?:  .*\n)+)", text, re.MULTILINE):
            self.lists[title] = re.findall(r"^  (\S+(?: \S+)*)(?:\s\s+(\S.*))?$",
                                           re.sub(r"\n {20,}", "   ", lines), re.MULTILINE)
        self.examples = re.findall(r"^  (%s .*)" % program, text, re.MULTILINE)
        self.statuses = " ".join(text.partition("Exit status:")[2].split())

    def commands(self):
        return [name for name, _ in self.lists.get("Subcommands", [])]


def roff(text):
    """Text as troff shows it unchanged."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def entries(found, known=()):
    """A paragraph for each option that is not among `known`, and a sentence that names those."""
    lines = []
    shared = [name.split()[0].split("=")[0] for name, words in found if (name, words) in known]
    for name, words in found:
        if (name, words) in known or name.startswith("-h,") or name == "--version":
            continue
        lines += [".TP", ".B " + roff(name.replace(" REQUIRED", "").replace(" ...", "...")), roff(words or "")]
    if shared := [name for name in shared if not name.startswith("-h,")]:
        lines += [".PP", "And as above: " + roff(", ".join(shared)) + "."]
    return lines


def section(program, *command, known=()):
    said = Help(program, *command)
    return [".SS " + roff(" ".join(command)), roff(said.summary.rstrip(".") + "."), ".PP", ".B " + roff(said.usage),
            *entries(said.lists.get("Positionals", []) + said.lists["Options"], known)]


def has_measure():
    """True if prof-measure is there, which is built with CUDA only."""
    return subprocess.run([str(PROGRAMS["prof-model"]), "measure", "--help"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def parts_of(program):
    """The parts of the page by their names."""
    top = Help(program)
    options = [entry for entry in top.lists.get("Positionals", []) + top.lists["Options"]]
    lines = [".SH OPTIONS", *entries(options)]
    if top.commands():
        lines += [".SH COMMANDS"]
    for command in top.commands():
        if command != "measure":
            lines += section(program, command, known=options)
    parts = {"options": lines, "examples": [".SH EXAMPLES", ".nf", *map(roff, top.examples), ".fi"]}
    if top.statuses:
        parts["exit status"] = [".SH EXIT STATUS", roff(top.statuses)]
    if "measure" in top.commands() and has_measure():
        parts["measure"] = section(program, "measure")
    return {name: "\n".join(lines) + "\n" for name, lines in parts.items()}


class ManPages(unittest.TestCase):
    maxDiff = None

    def test_the_programs_list_their_commands(self):
        self.assertEqual(Help("prof-analyze").commands(), ["compare", "check", "scaling", "ranks", "history", "dataset"])
        self.assertEqual(Help("prof-model").commands(),
                         ["list", "predict", "fit", "evaluate", "iteration", "convert", "measure"])

    def test_a_page_says_what_the_program_says(self):
        for program in PROGRAMS:
            page = PAGES[program + ".1"]
            for name, expected in parts_of(program).items():
                with self.subTest(program=program, part=name):
                    text = page.read_text()
                    before, mark, rest = text.partition('.\\" from --help: %s\n' % name)
                    found, end, after = rest.partition('.\\" end\n')
                    self.assertTrue(mark and end, "no such part")
                    if "INLINE_PROF_WRITE_PAGES" in os.environ:
                        page.write_text(before + mark + expected + end + after)
                    else:
                        self.assertEqual(found, expected, "INLINE_PROF_WRITE_PAGES=1 writes it")

    def test_the_page_of_the_library_has_every_variable(self):
        if "prof-run" not in PROGRAMS:
            self.skipTest("built without CUDA")
        page = PAGES["inline_prof.7"].read_text().replace("\\-", "-")
        named = {name for name in re.findall(r"^\.B (\w+)$", page, re.MULTILINE) if name.isupper()}
        self.assertEqual(named - {"PMI_RANK"},
                         set(re.findall(r"^(\w+)  \(", output_of("prof-run", "--help-env"), re.MULTILINE)))

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
