#!/usr/bin/env python3
"""prof-run ctl, on a program that runs.

usage: control_test.py LIBRARY HOST_PROGRAM SIMULATED_GPU PROF_RUN
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LIBRARY, HOST, SIMULATED_GPU, PROF_RUN = (pathlib.Path(name).resolve() for name in sys.argv[1:5])
PATIENCE_S = 60  # far more than a loaded machine needs


class Control(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.file = self.folder / "control"

    def start(self, **variables):
        """A program that is watched once its iterations have their samples, for as long as the test takes."""
        kept = {name: value for name, value in os.environ.items() if not re.match(r"INLINE_PROF_|RANK$|LD_", name)}
        with (self.folder / "output").open("w") as output:
            self.host = subprocess.Popen(
                [str(HOST), "--marks", "a:8:100000000:pause=500"], cwd=self.folder, stdout=output, stderr=output,
                env={**kept, "LD_PRELOAD": str(LIBRARY), "LD_LIBRARY_PATH": str(SIMULATED_GPU), "INLINE_PROF_REPEAT": "5",
                     "INLINE_PROF_OVERHEAD": "64", "INLINE_PROF_WATCH": "10%", "INLINE_PROF_CHECKPOINT": "86400", **variables})
        self.addCleanup(self.host.wait)
        self.addCleanup(self.host.kill)
        while LIBRARY.name not in pathlib.Path("/proc/%d/maps" % self.host.pid).read_text():
            self.assertIsNone(self.host.poll())

    def ctl(self, *words):
        return subprocess.run([str(PROF_RUN), "ctl", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=PATIENCE_S, check=False)

    def done(self, request):
        result = self.ctl("--timeout", PATIENCE_S, self.host.pid, request)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith("%d: " % self.host.pid))
        return result.stdout.split(": ", 1)[1]

    def refused(self, sentence, *words):
        result = self.ctl("--timeout", 2, *words)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(sentence, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def status_with(self, words):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            status = self.done("status")
            if words in status:
                return status
        raise AssertionError("%s: not within %d s: %s" % (words, PATIENCE_S, status))

    def numbers(self):
        """Iterations and watched pairs so far."""
        return map(int, re.search(r"iteration (\d+), (\d+) pairs in", self.done("status")).groups())

    def output(self):
        return (self.folder / "output").read_text()

    def end(self):
        self.host.send_signal(signal.SIGTERM)
        self.assertEqual(self.host.wait(PATIENCE_S), -signal.SIGTERM)
        return json.loads((self.folder / "prof.json").read_text())

    def test_pauses_goes_on_and_writes(self):
        self.start()
        self.status_with("watching")
        self.done("pause")
        self.assertIn("watching, paused", self.done("status"))
        iterations, pairs = self.numbers()
        time.sleep(0.5)
        later, same = self.numbers()
        self.assertEqual(same, pairs)
        self.assertGreater(later, iterations)
        self.done("resume")
        while list(self.numbers())[1] <= pairs:
            pass
        self.assertFalse((self.folder / "prof.json").exists())
        self.assertEqual(self.done("write"), "%s is written\n" % (self.folder / "prof.json"))
        profile = json.loads((self.folder / "prof.json").read_text())
        self.assertGreater(profile["history"]["pairs"], pairs)
        # Nothing is left of requests and answers, wherever the program looks.
        self.assertEqual(list(pathlib.Path("/tmp").glob("inline_prof.%d.control*" % self.host.pid)), [])
        self.end()
        self.assertEqual(self.output().count("\n"), 1, self.output())

    def test_pauses_the_characterisation(self):
        self.start(INLINE_PROF_REPEAT="20000")
        self.status_with("measuring")
        self.refused("it is paused", *(self.done("pause") and (self.host.pid, "characterise")))
        self.assertIn("measuring, paused", self.done("status"))
        taken = []
        for _ in range(2):
            self.done("write")
            profile = json.loads((self.folder / "prof.json").read_text())
            taken.append(sum(len(event["measured_times_ms"]) for event in profile["events"]))
        self.assertEqual(taken[0], taken[1])
        self.done("resume")
        while taken[0] >= taken[1]:
            self.done("write")
            profile = json.loads((self.folder / "prof.json").read_text())
            taken[1] = sum(len(event["measured_times_ms"]) for event in profile["events"])

    def test_characterises_anew(self):
        for policy in "interleaved", "adaptive":
            with self.subTest(policy):
                self.start(INLINE_PROF_POLICY=policy)
                self.status_with("watching")
                while list(self.numbers())[1] < 200:
                    pass
                first, _ = self.numbers()
                self.done("characterise")
                self.status_with("watching")
                profile = self.end()
                self.assertEqual(len(profile["phases"]), 1)
                self.assertTrue(profile["complete"])
                self.assertGreater(sum("history" in event for event in profile["events"]), 5)
                for event in profile["events"]:
                    if policy == "interleaved":
                        self.assertEqual(len(event["iterations"]), 5)
                    self.assertTrue(all(iteration > first for iteration in event["iterations"]), event["iterations"])
                self.assertGreater(len(profile["iter_time_ms"]), 40)
                (self.folder / "prof.json").unlink()

    def test_is_not_upset_by_what_stands_in_the_file(self):
        self.start(INLINE_PROF_CONTROL=str(self.folder / "%q{NAME}"), NAME="control")
        self.status_with("watching")
        self.file.write_bytes(b"\xff\x00\x1b" * 2000)
        time.sleep(2)
        self.assertEqual(len(self.file.read_bytes()), 6000)  # it may be anything of the user's
        self.done("status")
        kinds = [("is too large", lambda: self.file.write_text("pause" * 10_000_000)),
                 ("is no regular file", lambda: os.mkfifo(self.file)),
                 ("is a symbolic link", lambda: self.file.symlink_to(HOST))]
        if os.geteuid() == 0:
            kinds.append(("belongs to another user", lambda: (self.file.write_text("pause\n"), os.chown(self.file, 12345, -1))))
        for words, make in kinds:
            make()
            while words not in self.output():
                self.assertIsNone(self.host.poll())
            self.done("status")  # takes its place
        # By hand, without an id; its answer stays.
        self.file.write_text("pause\n")
        while not self.file.read_text().startswith("done  nothing is measured"):
            pass
        self.file.unlink()
        self.assertIn("paused", self.done("status"))
        self.end()
        self.assertEqual(self.output().count("holds no request, expected"), 1)
        self.assertEqual(self.output().count("\n"), 2 + len(kinds), self.output())

    def test_says_what_cannot_be_asked(self):
        self.start()
        self.status_with("watching")
        self.refused("libinline_prof.so is not loaded in this process", os.getpid(), "pause")
        self.host.send_signal(signal.SIGSTOP)
        self.refused("no answer in 2 s through /proc/%d/root/tmp/inline_prof" % self.host.pid, self.host.pid, "pause")
        self.host.send_signal(signal.SIGCONT)
        self.assertNotIn("paused", self.done("status"))
        self.end()
        self.refused("there is no such process", self.host.pid, "pause")
        for words in ["pause"], [1, "stop"], ["one", "pause"], [0, "pause"]:
            result = self.ctl(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("expected", result.stderr)

    def test_one_process_of_several_may_be_silent(self):
        self.start()
        self.status_with("watching")
        result = self.ctl(os.getpid(), self.host.pid, "status")
        self.assertEqual(result.returncode, 1)
        self.assertIn("%d: watching" % self.host.pid, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
