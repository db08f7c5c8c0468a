#!/usr/bin/env python3
"""Rejects comments that open with a word that leaves the reader without subject and verb.

    comment_openings.py ROOT

Reads the C++, Python, shell and CMake files below ROOT.  A comment is a block of
consecutive comment lines, a comment behind code, or a docstring.  Prints one `FILE:LINE: the comment opens with "WORD"`
per violation; exit status 1 if there is one.
"""

import argparse
import ast
import io
import pathlib
import re
import sys
import tokenize

OPENING = re.compile(r"\W*(Of|What|Where|Those|That|Whose|For what|One that)\b")
C_SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".inc", ".def", ".S"}
HASH_SUFFIXES = {".sh", ".cmake", ".bash"}
HASH_NAMES = {"CMakeLists.txt", "run"}
NOT_OURS = {"build", "third_party_offline", ".git", "__pycache__"}

# Strings are matched first, so that a comment's signs inside one do not count.
C_TOKEN = re.compile(r'R"(?P<mark>[^()\\ ]{0,16})\(.*?\)(?P=mark)"'
                     r'|"(?:[^"\\\n]|\\.)*"'
                     r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'"
                     r"|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL)
HASH_COMMENT = re.compile(r"""^(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*'|(?<=\S)#)*?(?:^|(?<=\s))(#.*)""")


# Each yields (line, column, text) of every comment.
def c_comments(text):
    for match in C_TOKEN.finditer(text):
        if match.group("comment"):
            column = match.start() - text.rfind("\n", 0, match.start()) - 1
            yield text.count("\n", 0, match.start()) + 1, column, match.group("comment")


def hash_comments(text):
    for number, line in enumerate(text.splitlines(), start=1):
        match = HASH_COMMENT.match(line)
        if match and not line.startswith("#!"):
            yield number, match.start(1), match.group(1)


def python_comments(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            yield token.start[0], token.start[1], token.string


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield node.body[0].lineno, docstring


def blocks(comments):
    """Yields (line, text) of the first line of each block: consecutive lines in the same column are one."""
    after = None
    for line, column, text in comments:
        if (line, column) != after:
            yield line, text
        after = (line + 1 + text.count("\n"), column)


def openings(path, text):
    """Yields (line, text) of each comment's opening in the file `path`."""
    if path.suffix in C_SUFFIXES:
        yield from blocks(c_comments(text))
    elif path.suffix == ".py":
        yield from blocks(python_comments(text))
        yield from docstrings(text)
    elif path.suffix in HASH_SUFFIXES or path.name in HASH_NAMES:
        yield from blocks(hash_comments(text))


def check_text(path, text):
    """Complaints about the text of one file."""
    found = []
    for line, opening in openings(path, text):
        match = OPENING.match(opening)
        if match:
            found.append((line, f'{path}:{line}: the comment opens with "{match.group(1)}"'))
    return [complaint for _, complaint in sorted(found)]


def check(root):
    complaints = []
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if not file.is_file() or NOT_OURS & set(path.parts[:-1]):
            continue
        if path.suffix in C_SUFFIXES | HASH_SUFFIXES | {".py"} or path.name in HASH_NAMES:
            complaints += check_text(path, file.read_text(errors="replace"))
    return complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    options = parser.parse_args()
    complaints = check(options.root.resolve())
    print("\n".join(complaints) if complaints else "every comment opens well")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
