#!/usr/bin/env python3
"""Checks what the pages of the project say about the tree they lie in.

    docs_check.py ROOT

Every relative link leads to a file; every file of the tree that a command block or a path in backticks
names is there; no text of ours holds a path that means something on one machine only.  Prints one
`FILE:LINE: what is wrong` per violation; exit status 1 if there is one.
"""

import pathlib
import re
import sys

TEXT_SUFFIXES = {".md", ".txt", ".cmake", ".sh", ".py", ".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".S",
                 ".json", ".map", ".in"}
# Measured data are kept as their makers wrote them.
NOT_OURS = {"build", "third_party_offline", ".git", "data"}

# Home folders and build machines.  Spelled in parts, since this file is checked as well.
MACHINE_PATH = re.compile(r"(?<![\w.$}*/-])/(?:root|home|work|workspace|mnt|Users)/(?!\.\.\.)[\w.-]+")

COMMAND_LANGUAGES = {"sh", "bash", "console", "shell"}
FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\w*)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ROOM_NAMES = "|".join(["scripts", "docs", "examples", "tests", "simgpu", "base", "macros", "python", "schedule", "libinject",
                       "analyzer", "cmake", re.escape(".ci")])
# A path in a command, as far as it names a file of the tree and not one that is still to be made.
TREE_PATH = re.compile(r"(?:^|[\s=\"'`])(?:\./)?((?:%s)/[\w./-]+)" % ROOM_NAMES)
# A span in backticks that is nothing but such a path; `{a,b}.cpp` stands for several, `*` for any.
QUOTED_PATH = re.compile(r"`((?:\.\./)*(?:%s)/[\w./*{},-]*)`" % ROOM_NAMES)


def expanded(path):
    """`a/{b,c}.cpp` as `a/b.cpp` and `a/c.cpp`."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [name for part in braces.group(1).split(",")
            for name in expanded(path[:braces.start()] + part + path[braces.end():])]


def markdown_files(root):
    for file in sorted(root.rglob("*.md")):
        if not NOT_OURS & set(file.relative_to(root).parts[:-1]):
            yield file


def check_markdown(root, file):
    """Complaints about the links and the command blocks of one page."""
    name = file.relative_to(root)
    language = None  # of the code block that we are in
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        fence = FENCE.match(line)
        if fence:
            language = None if language is not None else (fence.group(2) or "plain")
            continue
        if language is None:
            for target in LINK.findall(line):
                path = target.split("#")[0]
                if path and not re.match(r"[a-z]+:", path) and not (file.parent / path).exists():
                    yield f"{name}:{number}: the link {target} leads nowhere"
            for quoted in QUOTED_PATH.findall(line):
                for path in expanded(quoted):
                    if not any(root.glob(path.rstrip("/"))):
                        yield f"{name}:{number}: {path} in backticks does not exist"
        elif language in COMMAND_LANGUAGES:
            for path in TREE_PATH.findall(line):
                if not (root / path.rstrip(".")).exists():
                    yield f"{name}:{number}: the command names {path}, which does not exist"


def check_machine_paths(root):
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if NOT_OURS & set(path.parts[:-1]) or not file.is_file():
            continue
        if file.suffix not in TEXT_SUFFIXES and path.parts[0] != ".ci":
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), start=1):
            found = MACHINE_PATH.search(line)
            if found:
                yield f"{path}:{number}: {found.group(0)} means something on one machine only"


def check(root):
    complaints = list(check_machine_paths(root))
    for file in markdown_files(root):
        complaints += check_markdown(root, file)
    return complaints


def main(arguments):
    complaints = check(pathlib.Path(arguments[0]).resolve())
    print("\n".join(complaints) if complaints else "the pages agree with the tree")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
