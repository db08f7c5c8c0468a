#!/usr/bin/env python3
"""Runs prof-run as its user does."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

parser = argparse.ArgumentParser()
for name in ("--prof-run", "--library", "--simulated-gpu", "--programs", "--page"):
    parser.add_argument(name, type=pathlib.Path, required=True)
parser.add_argument("--bin-to-lib", required=True)
parser.add_argument("--sanitized", required=True)
OPTIONS, rest = parser.parse_known_args()
sys.argv[1:] = rest
LIBRARY = OPTIONS.library.resolve()

# A sanitizer's run-time library must come first in a program; /bin/sh has none.
needs_preload = unittest.skipIf(OPTIONS.sanitized == "1",
                                "a sanitized library cannot be preloaded into plain programs")


def clean_environment(**variables):
    environment = {name: value for name, value in os.environ.items()
                   if not re.match(r"INLINE_PROF_|PROFILING_|LD_|CUDA_|NVTX_|RANK$|SLURM_|OMPI_|PMI_",
                                   name)}
    environment.update(variables)
    return environment


class ProfRun(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def run_it(self, *arguments, program=OPTIONS.prof_run, **variables):
        return subprocess.run([str(program), *map(str, arguments)], cwd=self.folder,
                              env=clean_environment(**variables), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def script(self, name, text, mode=0o755):
        file = self.folder / name
        file.write_text(text)
        file.chmod(mode)
        return file

    def program(self, name):
        return OPTIONS.programs / name


@needs_preload
class AnInjectedProgram(ProfRun):
    def first_call(self, **more):
        return subprocess.run(
            [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).cuInit(0)",
             OPTIONS.simulated_gpu.resolve() / "libcuda.so.1"], cwd=self.folder, capture_output=True,
            text=True, check=False, env=clean_environment(CUDA_INJECTION64_PATH=str(LIBRARY)), **more)

    @unittest.skipUnless(os.geteuid() == 0, "only root may take two user ids")
    def test_that_has_other_rights_than_its_caller_is_left_alone(self):
        self.assertIn("inline_prof: ", self.first_call().stderr)
        secure = self.first_call(preexec_fn=lambda: os.setresuid(65534, 0, 0))
        self.assertEqual((secure.returncode, secure.stderr, os.listdir(self.folder)), (0, "", []))


@needs_preload
class AProgramUnderTheLibrary(ProfRun):
    def shown(self, variable, *arguments, **variables):
        result = self.run_it(*arguments, "--", "/bin/sh", "-c", f'printf %s "${variable}"',
                             **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_has_the_library_preloaded_once_and_before_what_was(self):
        self.assertEqual(self.shown("LD_PRELOAD"), str(LIBRARY))
        for before in ("libm.so.6", f"{LIBRARY} libm.so.6"):
            self.assertEqual(self.shown("LD_PRELOAD", LD_PRELOAD=before), f"{LIBRARY}:libm.so.6")

    def test_does_not_have_another_version_of_it_beside(self):
        other = self.folder / "libinline_prof.so"
        shutil.copy(OPTIONS.library, other)
        result = self.run_it("/bin/sh", "-c", "printf %s $LD_PRELOAD", LD_PRELOAD=f"{other}:libm.so.6")
        self.assertEqual(result.stdout, f"{LIBRARY}:libm.so.6")
        self.assertEqual(result.stderr, f"prof-run: LD_PRELOAD names another library, {other}, which is left "
                                        f"out: {LIBRARY} is ours\n")

    def test_has_loaded_it(self):
        self.assertIn(str(LIBRARY), self.run_it("/bin/cat", "/proc/self/maps").stdout)

    def test_gets_its_arguments_as_they_are(self):
        result = self.run_it("--warmup", "3", "--", "/bin/echo", "--warmup", "4", "--", "x y")
        self.assertEqual(result.stdout, "--warmup 4 -- x y\n")
        self.assertEqual(self.run_it("--warmup", "3", "/bin/echo", "--sim").stdout, "--sim\n")

    def test_is_found_in_the_path(self):
        self.script("found", "#!/bin/sh\necho here\n")
        result = self.run_it("found", PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual(result.stdout, "here\n")

    def test_gets_a_schedule_of_some_layers(self):
        path = self.shown("INLINE_PROF_SCHEDULE", "--only", "blocks.2.attn*", TMPDIR=str(self.folder))
        matches = [pattern["match"] for pattern in json.loads(pathlib.Path(path).read_text())["patterns"]]
        self.assertEqual(matches, ["*blocks.2.attn*.*"])
        result = self.run_it("--only", "x", "--schedule", path, "--", "/bin/echo", "ran")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--only makes a schedule: expected no --schedule beside it", result.stderr)

    def test_does_not_start_without_its_schedule(self):
        result = self.run_it("--schedule", "none.json", "--", "/bin/echo", "ran")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, "^prof-run: --schedule /.*/none.json: No such file or directory; "
                         "expected a readable file")
        result = self.run_it("--", "/bin/echo", "ran", INLINE_PROF_SCHEDULE="none.json")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, "^prof-run: INLINE_PROF_SCHEDULE=none.json: ")

    def test_may_be_the_doctor_behind_its_options(self):
        result = self.run_it("--sim", "doctor")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("driver", result.stdout)

    def test_ends_with_its_own_status_or_signal(self):
        self.assertEqual(self.run_it("/bin/sh", "-c", "exit 5").returncode, 5)
        self.assertEqual(self.run_it("/bin/sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_finds_every_option_in_its_environment(self):
        (self.folder / "s.json").write_text("{}")
        for option, variable, value, shown in (
                ("--schedule", "SCHEDULE", "s.json", f"{self.folder}/s.json"),
                ("--dir", "DIR", "/x/y", "/x/y"),
                ("--out", "OUT", "%h.json", f"{self.folder}/%h.json"),
                ("--warmup", "WARMUP", "0", "0"),
                ("--repeat", "REPEAT", "7", "7"),
                ("--policy", "POLICY", "interleaved", "interleaved"),
                ("--seed", "SEED", "9", "9"),
                ("--mode", "MODE", "data", "data"),
                ("--iteration", "ITERATION", "macro", "macro"),
                ("--ranks", "RANKS", "0,2-3", "0,2-3"),
                ("--checkpoint", "CHECKPOINT", "5", "5"),
                ("--log", "LOG", "info", "info")):
            self.assertEqual(self.shown("INLINE_PROF_" + variable, option, value), shown, option)
        self.assertEqual(self.shown("INLINE_PROF_EXIT_WHEN_DONE", "--exit-when-done"), "1")
        self.assertEqual(self.shown("INLINE_PROF_TORCH", "--torch"), "1")

    def test_puts_the_python_part_before_what_python_looks_for_first(self):
        self.assertEqual(self.shown("PYTHONPATH", PYTHONPATH="/mine"), "/mine")
        self.assertEqual(self.shown("PYTHONPATH", PYTHONPATH="/mine", INLINE_PROF_TORCH="0"),
                         "/mine")
        alone = self.shown("PYTHONPATH", "--torch")
        self.assertTrue((pathlib.Path(alone) / "sitecustomize.py").is_file(), alone)
        self.assertEqual(self.shown("PYTHONPATH", PYTHONPATH="/mine", INLINE_PROF_TORCH="1"),
                         alone + ":/mine")

    def test_keeps_what_no_option_changes(self):
        self.assertEqual(self.shown("INLINE_PROF_SEED", "--warmup", "3", INLINE_PROF_SEED="4"), "4")
        for variable in ("INLINE_PROF_LOG", "INLINE_PROF_DISABLE"):
            self.assertEqual(self.shown(variable), "")
        self.assertEqual(self.shown("INLINE_PROF_LOG", INLINE_PROF_LOG="error"), "error")
        # An option beats the environment, and the library sees to unknown names.
        self.assertEqual(self.shown("INLINE_PROF_SEED", "--seed", "5", INLINE_PROF_SEED="4"), "5")
        self.assertEqual(self.shown("INLINE_PROF_NOSUCH", INLINE_PROF_NOSUCH="1"), "1")

    def test_is_found_beside_an_installed_library(self):
        (self.folder / "bin").mkdir()
        library = (self.folder / "bin" / OPTIONS.bin_to_lib).resolve()
        library.mkdir(parents=True)
        shutil.copy(OPTIONS.prof_run, self.folder / "bin")
        shutil.copy(OPTIONS.library, library)
        result = self.run_it("/bin/sh", "-c", 'printf %s "$LD_PRELOAD"',
                             program=self.folder / "bin" / "prof-run")
        self.assertEqual(result.stdout, str(library / "libinline_prof.so"), result.stderr)


class AWrongCommandLine(ProfRun):
    def refused(self, rows):
        for status, sentence, *arguments in rows:
            variables = arguments.pop() if isinstance(arguments[-1], dict) else {}
            result = self.run_it(*arguments, **variables)
            self.assertEqual(result.stderr.splitlines()[0], f"prof-run: {sentence}")
            self.assertEqual((result.returncode, result.stdout), (status, ""))

    @needs_preload
    def test_names_a_program_that_cannot_be_started(self):
        self.script("locked", "#!/bin/sh\n", mode=0o644)
        self.refused([(127, "./absent: No such file or directory", "./absent"),
                      (127, "absent-everywhere: No such file or directory", "absent-everywhere"),
                      (126, "./locked: Permission denied", "./locked")])

    def test_without_a_program_or_with_what_the_library_would_refuse(self):
        self.refused([(2, "no program is named", "--warmup", "3"),
                      (2, "unknown option --wramup", "--wramup", "3", "/bin/true"),
                      (2, "--warmup ten: expected 0 to 1000000000", "--warmup", "ten", "/bin/true"),
                      (2, "--out /x/%q: %q is not followed by {VAR}; known are %h, %p, %r, %q{VAR} and %%",
                       "--out", "/x/%q", "/bin/true"),
                      (2, "--log loud: expected quiet, error, warning, info", "--log", "loud", "/bin/true"),
                      (2, "PROFILING_MODE=7: expected 0, 1, 2", "/bin/true", {"PROFILING_MODE": "7"})])

    def test_without_a_library(self):
        shutil.copy(OPTIONS.prof_run, self.folder)
        result = self.run_it("/bin/sh", "-c", "echo trained; exit 7",
                             program=self.folder / "prof-run")
        self.assertEqual(result.returncode, 7)  # the program runs all the same
        self.assertEqual(result.stdout, "trained\n")
        self.assertIn("libinline_prof.so is neither in the build tree nor", result.stderr)
        self.assertIn("the program runs without being profiled", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    @needs_preload
    def test_with_a_library_that_ld_preload_cannot_name(self):
        (self.folder / "a b").mkdir()
        shutil.copy(OPTIONS.library, self.folder / "a b")
        (self.folder / "a b" / "run").mkdir()
        shutil.copy(OPTIONS.prof_run, self.folder / "a b" / "run")
        result = self.run_it("/bin/true", program=self.folder / "a b" / "run" / "prof-run")
        self.assertEqual(result.returncode, 0)
        self.assertIn("LD_PRELOAD cannot hold a path with a blank or a colon", result.stderr)


class TheTableOfVariables(ProfRun):
    def table(self):
        return json.loads(self.run_it("--help-env", "--format", "json").stdout)

    def rows_of_the_page(self):
        rows = []
        for line in OPTIONS.page.read_text().splitlines():
            cells = [cell.strip().replace("`", "").replace("\\|", "|")
                     for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) == 4 and re.fullmatch(r"(INLINE_PROF|PROFILING)_\w+", cells[0]):
                rows.append(dict(zip(("name", "default", "range", "meaning"), cells)))
        return rows

    def test_is_the_table_of_the_page(self):
        rows = self.rows_of_the_page()
        self.assertEqual(rows, self.table())
        self.assertGreater(len(rows), 20)

    def test_is_shown_as_text_as_well(self):
        text = " ".join(self.run_it("--help-env").stdout.split())
        for row in self.table():
            self.assertIn(f"{row['name']} (default {row['default']}; {row['range']}) "
                          f"{row['meaning']}", text)

    def test_explains_every_option_of_the_help(self):
        text = self.run_it("--help").stdout
        for row in self.table():
            if f"({row['name']})" in text:
                self.assertIn(row["meaning"], text)
        self.assertIn("(INLINE_PROF_SCHEDULE)", text)


class TheSimulatedGpu(ProfRun):
    @needs_preload
    def test_is_what_the_program_finds(self):
        result = self.run_it("--sim", self.program("device_count"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^\d+ devices\n$")

    @needs_preload
    def test_comes_before_other_folders(self):
        result = self.run_it("--sim", "/bin/sh", "-c", 'printf %s "$LD_LIBRARY_PATH"',
                             LD_LIBRARY_PATH="/x")
        self.assertEqual(result.stdout, f"{OPTIONS.simulated_gpu}:/x")

    @needs_preload
    def test_refuses_a_program_that_is_linked_statically(self):
        self.refused("is linked statically", "linked_statically")

    @needs_preload
    def test_takes_a_program_that_needs_no_gpu(self):
        self.assertEqual(self.run_it("--sim", self.program("plain")).returncode, 0)

    def refused(self, reason, name):
        program = self.program(name)
        result = self.run_it("--sim", program)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, f"prof-run: --sim: {program} {reason}\n")

    def test_refuses_and_names_what_it_lacks(self):
        self.refused("needs cuNotSimulatedAtAll and 1 more, which the simulated GPU does not offer", "needs_a_function")
        self.refused("needs libcufft.so.10, which is not simulated", "needs_a_library")
        self.refused("brings its own CUDA runtime, which needs a real driver; link it with nvcc -cudart shared", "own_runtime")


class TheDoctorAlone(ProfRun):
    def test_fails_without_a_library(self):
        shutil.copy(OPTIONS.prof_run, self.folder)
        result = self.run_it("doctor", program=self.folder / "prof-run")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("FAIL  library"), result.stdout)


@needs_preload
class TheDoctor(ProfRun):
    def checks(self, *arguments, status=0, **variables):
        result = self.run_it("doctor", "--format", "json", *arguments, **variables)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["schema"], "inline_prof_doctor/1")
        self.assertEqual(report["ok"], status == 0)
        return report["checks"]

    def states(self, name, *arguments, **keywords):
        return [(check["state"], check["text"]) for check in self.checks(*arguments, **keywords)
                if check["name"] == name]

    def test_is_content_with_a_usual_machine(self):
        checks = self.checks("--", self.program("plain"))
        self.assertEqual([check["name"] for check in checks],
                         ["library", "preload", "glibc", "driver", "configuration", "directory",
                          "environment", "command", "libraries"])
        self.assertEqual({check["state"] for check in checks} - {"OK", "WARN"}, set())

    def test_says_which_libraries_can_say_what_they_compute(self):
        self.assertEqual(self.states("libraries", "--", self.program("calls_cublas")),
                         [("OK", "calls of libcublas say what they compute")])
        self.assertEqual(self.states("libraries", "--", self.program("static_copy")),
                         [("WARN", "libcublas inside static_copy: static copy, kernels timed, shapes "
                                   "missing")])

    def test_prints_a_line_a_check(self):
        lines = self.run_it("doctor").stdout.splitlines()
        self.assertEqual(lines[0], f"OK    library        {LIBRARY}")
        self.assertEqual(lines[1], "OK    preload        a child has loaded the library")

    def test_knows_the_version_of_the_driver(self):
        states = self.states("driver", LD_LIBRARY_PATH=str(OPTIONS.simulated_gpu))
        self.assertEqual([state for state, _ in states], ["OK"])
        self.assertRegex(states[0][1], r"^CUDA \d+\.\d+$")

    def test_fails_with_a_library_that_cannot_be_loaded(self):
        (self.folder / "run").mkdir()
        shutil.copy(OPTIONS.prof_run, self.folder / "run")
        (self.folder / "libinline_prof.so").write_text("not a library")
        result = self.run_it("doctor", program=self.folder / "run" / "prof-run")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"^FAIL  library +\S+: file too short|invalid ELF header")

    def test_repeats_what_the_library_would_say_of_a_variable(self):
        self.assertEqual(self.states("configuration", status=1, INLINE_PROF_REPEAT="0"),
                         [("FAIL", "INLINE_PROF_REPEAT=0: expected 1 to 1000000")])
        self.assertEqual(self.states("configuration", INLINE_PROF_NOSUCH="0"),
                         [("WARN", "INLINE_PROF_NOSUCH: unknown variable; prof-run --help-env "
                                   "lists the known ones")])
        self.assertEqual(self.states("configuration", INLINE_PROF_DISABLE="1")[0][0], "WARN")

    def test_looks_at_the_directory(self):
        self.assertEqual(self.states("directory", INLINE_PROF_DIR="later"),
                         [("OK", "later: will be made")])
        self.script("file", "")
        self.assertEqual(
            self.states("directory", status=1, INLINE_PROF_DIR="file/below"),
            [("FAIL", "file/below: prof.json cannot be written there: Not a directory")])

    def test_names_tools_that_are_in_the_way(self):
        for ours in ({}, {"LD_PRELOAD": str(OPTIONS.library)}):
            self.assertEqual(self.states("environment", **ours), [("OK", "no other tool is in the way")])
        self.assertEqual(
            self.states("environment", CUDA_INJECTION64_PATH="/x.so", CUDA_LAUNCH_BLOCKING="1"),
            [("WARN", "CUDA_INJECTION64_PATH=/x.so: another profiler is injected and costs time of "
                      "its own"),
             ("WARN", "CUDA_LAUNCH_BLOCKING=1: every launch waits: times are upper bounds")])

    def test_looks_at_the_program(self):
        script = self.script("script", "#!/bin/sh\n")
        for program, state, words in (
                (self.program("plain"), "OK", ""),
                (self.program("linked_statically"), "FAIL", ": linked statically, so LD_PRELOAD is ignored"),
                (self.program("own_runtime"), "OK", ": brings its own CUDA runtime; it is measured, and cannot be simulated"),
                ("./absent", "FAIL", ": no program of this name can be started"),
                (script, "OK", ": a script; what it starts inherits the library")):
            self.assertEqual(self.states("command", "--", program, status=int(state == "FAIL")), [(state, f"{program}{words}")])

    @unittest.skipUnless(os.geteuid() == 0, "only root may give a program other rights")
    def test_sees_a_program_that_runs_with_other_rights(self):
        program = self.folder / "other_rights"
        shutil.copy(self.program("plain"), program)
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.assertEqual(self.states("command", "--", program, status=1),
                         [("FAIL", f"{program}: runs with other rights than yours, so LD_PRELOAD is "
                                   "ignored")])


if __name__ == "__main__":
    unittest.main()
