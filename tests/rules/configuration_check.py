#!/usr/bin/env python3
"""Compares the injected library's table of environment variables with docs/configuration.md.

    configuration_check.py ROOT

Each row of kVariables in libinject/sys/config.cpp must stand in the page as a row
`| `NAME` | default | range | meaning |`, with the same default, range and meaning, and each name in such a
row must stand in kVariables.  Prints one `FILE:LINE: what is wrong` per difference; exit status 1 if there is
one.
"""

import pathlib
import re
import sys

SOURCE = "libinject/sys/config.cpp"
PAGE = "docs/configuration.md"
STRING = r'"((?:[^"\\]|\\.)*)"'
STRINGS = r"((?:" + STRING.replace("(", "(?:", 1) + r"\s*)+)"  # next to each other they are one
VARIABLE = re.compile(r"Variable\{\s*" + r",\s*".join([STRING, STRING, STRING, STRINGS]))


def variables_of(source):
    """{name: (line, default, range, meaning)} of the injected library's table."""
    found = {}
    for match in VARIABLE.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        meaning = "".join(re.findall(STRING, match.group(4)))
        found[match.group(1)] = (line, match.group(2), match.group(3), meaning)
    return found


def rows_of(page):
    """{name: (line, default, range, meaning)} of the page's tables."""
    found = {}
    for number, line in enumerate(page.splitlines(), start=1):
        # A bar inside a cell is written \\| in Markdown.
        cells = [cell.strip().replace("\\|", "|").replace("`", "")
                 for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and re.fullmatch(r"(INLINE_PROF|PROFILING)_\w+", cells[0]):
            found[cells[0]] = (number, *cells[1:])
    return found


def differences(source, page):
    known, shown = variables_of(source), rows_of(page)
    if not known:
        yield f"{SOURCE}:1: no table of variables found"
    for name, (line, *said) in known.items():
        if name not in shown:
            yield f"{SOURCE}:{line}: {name} is not explained in {PAGE}"
            continue
        number, *cells = shown[name]
        for what, here, there in zip(("default", "range", "meaning"), cells, said):
            if here != there:
                yield (f"{PAGE}:{number}: {name}: the {what} is \"{here}\", in {SOURCE}:{line} "
                       f"\"{there}\"")
    for name, (line, *_) in shown.items():
        if name not in known:
            yield f"{PAGE}:{line}: {name} is not in {SOURCE}"


def main(arguments):
    root = pathlib.Path(arguments[0])
    found = list(differences((root / SOURCE).read_text(), (root / PAGE).read_text()))
    print("\n".join(found) if found else "the page agrees with the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
