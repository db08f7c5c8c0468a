#!/usr/bin/env python3
"""Runs the commands of the README, of the tutorial, of the page on many ranks and of the examples, block after block, in
one folder for each page.

usage: scripts/tutorial.py BUILD_DIR [--write]

A block that ends with `# exit status N` has to end so, any other one with 0.  With --write each
`text` block that follows a `sh` block becomes what that one printed.  An output in which `...`
stands for lines that are left out is not replaced: its lines have to be among the printed ones, in
their order.  No GPU is needed: programs run on the simulated one.
"""

import argparse
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("allreduce", "conv", "dlrm", "graph")
PAGES = ["README.md", "docs/tutorial.md", "docs/distributed.md",
         *("examples/%s/README.md" % name for name in (*PROGRAMS, "trace", "watch"))]
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?P<between>\n*)(?P<output>^```text\n.*?^```\n)?",
                   re.MULTILINE | re.DOTALL)


def run(page, commands, folder, environment):
    """Returns the output of a block, both streams as a terminal would show them."""
    wanted = re.search(r"# exit status (\d+)", commands)
    done = subprocess.run(["bash", "-c", "set -e -o pipefail\n" + commands], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          check=False)
    if done.returncode != (int(wanted.group(1)) if wanted else 0):
        sys.exit("%s: exit status %d of\n%s\n%s" % (page, done.returncode, commands, done.stdout))
    return re.sub(r"\b%s\b" % re.escape(socket.gethostname()), "HOST", done.stdout).replace(folder + "/", "")


def check_excerpt(page, output, printed):
    """Looks for the lines of the output, in their order, among the printed ones."""
    printed_lines = iter(line.rstrip() for line in printed.splitlines())
    for line in output.splitlines()[1:-1]:
        if line != "..." and line not in printed_lines:
            sys.exit("%s: expected the line\n%s\nin\n%s" % (page, line, printed))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    programs = [build / "libinject/run", build / "analyzer/cli", *(build / "examples" / name for name in PROGRAMS)]
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("INLINE_PROF_", "PROFILING_", "SIMGPU_"))}
    environment["PATH"] = os.pathsep.join([*map(str, programs), environment["PATH"]])
    environment["SOURCE"] = str(SOURCE)

    for page in PAGES:
        name = pathlib.Path(page).parent.name
        if name in PROGRAMS and not (build / "examples" / name / name).exists():
            print("%s: left out, %s is not built" % (page, name))
            continue
        text = (SOURCE / page).read_text()
        with tempfile.TemporaryDirectory() as folder:
            def renewed(block):
                output = block["output"]
                if page == "README.md" and not output:
                    return block.group()  # installs and builds
                where = str(SOURCE) if page == "README.md" else folder
                printed = run(page, block["commands"], where, environment)
                if output and "\n...\n" in output:
                    check_excerpt(page, output, printed)
                elif output:
                    output = "```text\n%s```\n" % re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)
                return "```sh\n%s```\n%s%s" % (block["commands"], block["between"], output or "")
            text = BLOCK.sub(renewed, text)
        if arguments.write:
            (SOURCE / page).write_text(text)


if __name__ == "__main__":
    main()
