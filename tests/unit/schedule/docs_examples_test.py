#!/usr/bin/env python3
"""Runs the examples of a page and compares what it shows with what comes out.

    docs_examples_test.py PAGE.md PROGRAM

In a ```console block, what follows a line `$ COMMAND` is its output, standard error first.  `$ cat FILE`
of a file that is not there yet shows its content instead: the file is made.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples(page):
    """Pairs of a command and the text shown under it."""
    for block in BLOCK.findall(page):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = example.partition("\n")
            yield command, shown


def output_of(command, folder, program):
    words = command.split()
    if words[0] == "prof-schedule":
        words[0] = program
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    # If the schedule itself goes to standard output, the page leaves out the summary.
    return run.stdout if command.endswith("-o -") else run.stderr + run.stdout


def main():
    page, program = pathlib.Path(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve())
    run_count = 0
    wrong_count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for command, shown in examples(page.read_text(encoding="utf-8")):
            if command.startswith("cat "):
                file = folder / command.split()[1]
                if not file.exists():
                    file.write_text(shown, encoding="utf-8")
                    continue
            run_count += 1
            output = output_of(command, folder, program)
            if output != shown:
                wrong_count += 1
                print(f"$ {command}\n--- the page shows\n{shown}--- the program says\n{output}")
    print(f"{run_count} examples run, {wrong_count} wrong")
    return 0 if run_count > 0 and wrong_count == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
