#!/usr/bin/env python3
"""Checks what scripts/gpu_check.sh says of hosts that do not end and of scripts that fail: the programs of a build
are played by shell scripts."""

import os
import pathlib
import subprocess
import tarfile
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class PartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program("libinject/libinline_prof.so", "")  # ld.so says that it is no library, and goes on

    def program(self, path, commands):
        file = self.folder / "build" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/bash\n{commands}\n")
        file.chmod(0o755)

    def check(self, *arguments, **variables):
        """The exit status, and what was said."""
        done = subprocess.run([SOURCE / "scripts/gpu_check.sh", "--build-dir", self.folder / "build", *arguments],
                              env={**os.environ, "OUT": str(self.folder / "out"), "FOLDER": str(self.folder), **variables},
                              capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout

    def assert_ended(self, file):
        pid = int((self.folder / file).read_text())
        for _ in range(50):  # a process that was killed needs a moment
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
            except OSError:
                return
            if state == "Z":
                return
            time.sleep(0.1)
        self.fail(f"process {pid} runs on")

    def test_a_part_over_its_limit_fails_and_leaves_no_process(self):
        # In a process group of its own, as what runs under an inner timeout is.
        self.program("tests/gpu/launch_rate", "timeout 300 bash -c 'echo $$ >\"$FOLDER/pid\"; sleep 300'")
        status, said = self.check("--only", "graphs", "--only", "rate", "--at-most", "2")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "SKIP +graphs: .* was not built")
        self.assertRegex(said, "FAIL +rate: over its limit of 2 s")
        self.assert_ended("pid")

    def test_a_host_that_does_not_end_under_the_library_fails(self):
        hangs = '[[ -z "$LD_PRELOAD" ]] || exec sleep 300\n'
        self.program("tests/gpu/launch_rate", hangs + "echo 1 2 3")
        self.program("tests/gpu/same_results", '[[ "$1" == --reset ]] || ' + hangs + "seq 6")
        status, said = self.check("--only", "rate", "--only", "results")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "FAIL +rate: 19, 20, 22, 28: counting, round 1: did not end within 8 s under the injected library")
        self.assertRegex(said, "FAIL +results: 50: results with the injected library: the program did not end within 9 s under the injected library")
        self.assertRegex(said, "FAIL +results: 50: results after a device reset: no complete prof.json")

    def tools(self, commands):
        """Variables with a CMake that does as it is told."""
        self.program("tools/cmake", commands)
        self.program("tools/nvcc", "")
        return {"PATH": f"{self.folder / 'build/tools'}:{os.environ['PATH']}", "CUDACXX": "nvcc"}

    def test_libraries_that_are_missing_are_named(self):
        for words, missing in (('By not providing "Findfmt.cmake" in CMAKE_MODULE_PATH', "fmt"),
                               ('Could not find a package configuration file provided by "Eigen3" with', "Eigen3"),
                               ("Could NOT find GTest (missing: GTEST_LIBRARY)", "GTest")):
            cmake = self.tools(f"echo 'CMake Error at CMakeLists.txt:25 (find_package):\n  {words}'; exit 1")
            status, said = self.check("--only", "build", **cmake)
            self.assertEqual(status, 1, said)
            self.assertRegex(said, f"FAIL +build: configure: {missing} is missing, scripts/offline_deps.sh .*CMake Error at")
        status, said = self.check("--only", "build", **self.tools("echo 'CMake Error: no nvcc'; exit 1"))
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "FAIL +build: configure: CMake Error: no nvcc")

    def test_a_build_over_its_limit_is_open(self):
        status, said = self.check("--only", "build", "--at-most", "2", **self.tools("sleep 300"))
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "SKIP +build: over its limit of 2 s")

    def packed(self):
        """The text of all files in the archive."""
        with tarfile.open(self.folder / "out/gpu_results.tar.gz") as archive:
            return "".join(archive.extractfile(member).read().decode() for member in archive if member.isfile())

    def test_a_host_that_fails_under_the_library_fails(self):
        self.program("tests/gpu/launch_rate", '[[ -z "$LD_PRELOAD" ]] || { echo broken >&2; exit 5; }; echo 1 2 3')
        status, said = self.check("--only", "rate")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "FAIL +rate: 19, 20, 22, 28: detached, round 3: status 5 under the injected library: broken")
        self.assertRegex(said, "FIGURE +rate: .* round 3: bare 1 2 3; counting failed; ")
        text = self.packed()
        self.assertIn("build/libinject/libinline_prof.so", text)  # ld.so says it in rate.log
        self.assertNotIn(str(self.folder), text)

    def test_who_ends_the_script_ends_its_part(self):
        self.program("tests/gpu/launch_rate", "timeout 300 bash -c 'echo $$ >\"$FOLDER/pid\"; sleep 300'")
        script = subprocess.Popen([SOURCE / "scripts/gpu_check.sh", "--build-dir", self.folder / "build", "--only", "rate"],
                                  env={**os.environ, "OUT": str(self.folder / "out"), "FOLDER": str(self.folder)},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(script.wait)
        self.addCleanup(script.kill)
        for _ in range(100):
            if (self.folder / "pid").exists() and (self.folder / "pid").read_text():
                break
            time.sleep(0.1)
        script.terminate()
        self.assertEqual(script.wait(timeout=20), 143)
        self.assert_ended("pid")

    def test_what_a_script_said_before_its_end_counts(self):
        script = (SOURCE / "scripts/gpu_check.sh").read_text()
        functions = script[script.index("# lines_of NUMBER"):script.index("part_backends() {")]
        runner = "set -euo pipefail\nverdict() { echo \"$1 $2\"; }\n" + functions
        for command, words in (("lines_of '' bash -c 'echo FAIL 7: bad; exit 1'", "FAIL 7: bad\n"),
                               ("lines_of 50 bash -c 'echo PASS good'", "PASS 50: good\n"),
                               ("lines_of 50 bash -c 'exit 77'", ""),
                               ("lines_of '' bash -c 'echo PASS 7: good; echo Traceback >&2; exit 1'",
                                "PASS 7: good\nFAIL bash ended with status 1: Traceback\n"),
                               ("lines_of 3 python3 no/such.py",
                                "FAIL 3: such.py ended with status 2: "),
                               ("lines_of '' bash -c 'echo FAIL 7: bad; kill -9 $$'",
                                "FAIL 7: bad\nFAIL bash ended with status 137: \n")):
            done = subprocess.run(["bash", "-c", runner + command], cwd=self.folder, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(words) if words.endswith(" ") else done.stdout == words, done.stdout)
        # The second line comes after the time is up.
        with self.assertRaises(subprocess.TimeoutExpired) as late:
            subprocess.run(["bash", "-c", runner + "lines_of '' bash -c 'echo FAIL 7: bad; sleep 3; echo PASS'"],
                           cwd=self.folder, capture_output=True, timeout=1, check=False)
        self.assertEqual(late.exception.stdout, b"FAIL 7: bad\n")


if __name__ == "__main__":
    unittest.main()
