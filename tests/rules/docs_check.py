#!/usr/bin/env python3
"""Checks what the pages of the project say about the tree they lie in.

    docs_check.py ROOT

Every relative link leads to a file and a section; every file of the tree that a command block, a path in
backticks or a comment names is there, and so is a section named behind its page; no text of ours holds a path
that means something on one machine only; README.md and docs stay short.  Prints one `FILE:LINE: what is wrong`
per violation; exit status 1 if there is one.
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

# Limits what a newcomer is asked to read: the words of README.md and of all pages under docs, as `wc -w` counts them.
MOST_WORDS = 25000

# Files that a comment names: sources by any end of their path, scripts by their whole path.  Capital letters
# stand for something else, and these files are others'.
NAMED_SOURCE = re.compile(r"(?<![\w./$*<{-])((?:[\w.-]+/)*[\w-][\w.-]*\.(?:md|hpp|cpp|cu))\b(?![\w/*])")
NAMED_SCRIPT = re.compile(r"(?<![\w./$*<{-])((?:scripts|tests|python|docs|examples)/[\w./-]+\.(?:py|sh))\b")
OF_OTHERS = {"PERFORMANCE.md", "doc/PERFORMANCE.md", "simdjson.cpp"}
PLACEHOLDER = re.compile(r"(?<![A-Z])(?!README|CHANGELOG|LICENSE)[A-Z]{3,}")
COMMENTS = {**dict.fromkeys([".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".S"], re.compile(r"//(.*)|^\s*/?\*(.*)")),
            **dict.fromkeys([".py", ".sh", ".cmake", ".txt"], re.compile(r"(?:^|\s)#(.*)"))}
# A section, by its page and its heading in quotation marks.
NAMED_SECTION = re.compile(r"([\w./-]+\.md)(?:,? section|,) \"([^\"]+)\"")

# Recipes name tables and functions of the sources.
RECIPES = "docs/how_to_add.md"
NAMED_IN_CODE = re.compile(r"`(k[A-Z]\w+|[a-z]\w+_\w+\(\)|[A-Z]+_[A-Z_]+|[a-z]+_[a-z_]+)`")

COMMAND_LANGUAGES = {"sh", "bash", "console", "shell"}
FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\w*)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ROOM_NAMES = "|".join(["scripts", "docs", "examples", "tests", "simgpu", "base", "macros", "python", "schedule", "watch",
                       "libinject", "analyzer", "cmake", re.escape(".ci")])
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


def sections_of(page):
    """The headings of a page, those in bold too, and the anchors that lead to the others."""
    headings, bold, inside = [], [], False
    for line in page.read_text().splitlines():
        if FENCE.match(line):
            inside = not inside
        elif not inside and re.match(r"#+ ", line):
            headings.append(line.lstrip("#").strip().replace("`", ""))
        elif not inside:
            bold += re.findall(r"^(?:[*-] )?\*\*([^*]+?)\.?\*\*", line)
    return headings + bold, {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def leads_to_a_section(file, target):
    path, _, anchor = target.partition("#")
    page = file.parent / path if path else file
    return not anchor or page.suffix != ".md" or anchor in sections_of(page)[1]


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
                if re.match(r"[a-z]+:", path):
                    continue
                if path and not (file.parent / path).exists():
                    yield f"{name}:{number}: the link {target} leads nowhere"
                elif not leads_to_a_section(file, target):
                    yield f"{name}:{number}: the page of the link {target} has no such section"
            for quoted in QUOTED_PATH.findall(line):
                for path in expanded(quoted):
                    if not any(root.glob(path.rstrip("/"))):
                        yield f"{name}:{number}: {path} in backticks does not exist"
        elif language in COMMAND_LANGUAGES:
            for path in TREE_PATH.findall(line):
                if not (root / path.rstrip(".")).exists():
                    yield f"{name}:{number}: the command names {path}, which does not exist"


def text_files(root):
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if NOT_OURS & set(path.parts[:-1]) or not file.is_file():
            continue
        if file.suffix in TEXT_SUFFIXES or path.parts[0] == ".ci":
            yield file, path


def check_comments(root):
    """Complaints about files and sections that comments name and the tree does not have."""
    ends = set()
    for file in root.rglob("*"):
        parts = file.relative_to(root).parts
        if not {"build", ".git"} & set(parts):
            ends |= {"/".join(parts[first:]) for first in range(len(parts))}
    for file, path in text_files(root):
        # Tests of rules name files of trees that they make up.
        if path.match("tests/rules/*_test.py"):
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), start=1):
            for name, heading in NAMED_SECTION.findall(line):
                pages = [root / name, file.parent / name, root / path.parts[0] / name]
                page = next((each for each in pages if each.is_file()), None)
                if page and not any(each.startswith(heading) for each in sections_of(page)[0]):
                    yield f"{path}:{number}: {name} has no section \"{heading}\""
            comment = COMMENTS.get(file.suffix) and COMMENTS[file.suffix].search(line)
            text = next(filter(None, comment.groups()), "") if comment and "://" not in line else ""
            for name in NAMED_SOURCE.findall(text) + NAMED_SCRIPT.findall(text):
                if re.sub(r"^(\.\./)+", "", name) not in ends | OF_OTHERS and not PLACEHOLDER.search(name):
                    yield f"{path}:{number}: the comment names {name}, which does not exist"


def check_recipes(root):
    """Complaints about tables and functions that a recipe names and no source has."""
    page = root / RECIPES
    if not page.is_file():
        return
    sources = "\n".join(file.read_text(errors="replace") for file, path in text_files(root) if path.suffix != ".md")
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        for name in NAMED_IN_CODE.findall(line):
            if name.removesuffix("()") not in sources:
                yield f"{RECIPES}:{number}: no source has {name}"


def check_length(root):
    words = sum(len(page.read_text().split()) for page in [root / "README.md", *root.glob("docs/**/*.md")] if page.is_file())
    if words > MOST_WORDS:
        yield f"docs:1: README.md and docs have {words} words, {MOST_WORDS} at most: say it shorter, or beside the code"


def check_machine_paths(root):
    for file, path in text_files(root):
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), start=1):
            found = MACHINE_PATH.search(line)
            if found:
                yield f"{path}:{number}: {found.group(0)} means something on one machine only"


def check(root):
    complaints = [*check_machine_paths(root), *check_comments(root), *check_recipes(root), *check_length(root)]
    for file in markdown_files(root):
        complaints += check_markdown(root, file)
    return complaints


def main(arguments):
    complaints = check(pathlib.Path(arguments[0]).resolve())
    print("\n".join(complaints) if complaints else "the pages agree with the tree")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
