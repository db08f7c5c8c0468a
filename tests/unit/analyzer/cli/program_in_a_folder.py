"""Runs the program of a test, sys.argv[1], and makes a folder for the files of each test."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest


def run(*arguments, text=None, stdout=subprocess.PIPE):
    return subprocess.run([sys.argv[1], *map(str, arguments)], input=text, stdout=stdout, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def write(self, name, document):
        file = self.path / name
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        return file

    def assert_refused(self, status, words, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), arguments)
        self.assertIn(words, done.stderr)
