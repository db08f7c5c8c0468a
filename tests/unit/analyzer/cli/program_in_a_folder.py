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


def event(name, index, times_ms, **more):
    """An event of a prof.json, the index-th of its stream."""
    return {"event_name": name, "device_id": 0, "stream": "0x1", "start_index": 2 * index, "end_index": 2 * index + 1,
            "met_times_within_this_stream": 0, "measured_times_ms": times_ms, **more}


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def write(self, name, document):
        file = self.path / name
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        return file

    def good(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def assert_refused(self, status, words, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), arguments)
        self.assertIn(words, done.stderr)
