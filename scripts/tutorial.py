#!/usr/bin/env python3
"""Runs the commands of the tutorial, of the page on many ranks and of two examples, block after block, in one folder each.

usage: scripts/tutorial.py BUILD_DIR [--write]

A block that ends with `# exit status N` has to end so, any other one with 0.  With --write each
`text` block that follows a `sh` block becomes what that one printed.  Without a GPU is enough: the
tutorial runs on the simulated one.
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
PAGES = [SOURCE / page for page in ("docs/tutorial.md", "docs/distributed.md", "examples/trace/README.md",
                                    "examples/watch/README.md")]
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?P<between>\n*)(?P<output>^```text\n.*?^```\n)?",
                   re.MULTILINE | re.DOTALL)


def run(page, commands, folder, environment):
    """Returns the output of a block, both streams as a terminal would show them."""
    wanted = re.search(r"# exit status (\d+)", commands)
    done = subprocess.run(["bash", "-c", "set -o pipefail\n" + commands], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          check=False)
    if done.returncode != (int(wanted.group(1)) if wanted else 0):
        sys.exit("%s: exit status %d of\n%s\n%s" % (page, done.returncode, commands, done.stdout))
    return re.sub(r"\b%s\b" % re.escape(socket.gethostname()), "HOST", done.stdout).replace(folder + "/", "")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    programs = [build / "libinject/run", build / "analyzer/cli", build / "examples/dlrm"]
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("INLINE_PROF_", "PROFILING_", "SIMGPU_"))}
    environment["PATH"] = os.pathsep.join([*map(str, programs), environment["PATH"]])
    environment["SOURCE"] = str(SOURCE)

    for page in PAGES:
        text = page.read_text()
        with tempfile.TemporaryDirectory() as folder:
            def renewed(block):
                printed = run(page, block["commands"], folder, environment)
                output = block["output"]
                if output:
                    output = "```text\n%s```\n" % re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)
                return "```sh\n%s```\n%s%s" % (block["commands"], block["between"], output or "")
            text = BLOCK.sub(renewed, text)
        if arguments.write:
            page.write_text(text)


if __name__ == "__main__":
    main()
