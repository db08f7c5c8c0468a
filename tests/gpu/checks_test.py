#!/usr/bin/env python3
"""Checks the runner of the GPU checks and how they judge, without a GPU: shell scripts play the programs of a build."""

import collections
import copy
import os
import pathlib
import subprocess
import tarfile
import tempfile
import time
import unittest
import unittest.mock

import census
import cost
import gpu_check
import host_program
import libraries
import machine
import pairs
import programs
import training
from host_program import Failure, Skip

SCRIPT = gpu_check.SOURCE / "scripts/gpu_check.sh"


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program("libinject/libinline_prof.so", "")  # ld.so says that it is no library, and goes on
        self.environment = {**os.environ, "OUT": str(self.folder / "out"), "FOLDER": str(self.folder)}

    def program(self, path, commands):
        file = self.folder / "build" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/bash\n{commands}\n")
        file.chmod(0o755)

    def check(self, *arguments, status, says=(), **variables):
        done = subprocess.run([SCRIPT, "--build-dir", self.folder / "build", *arguments], env={**self.environment, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, status, done.stdout)
        for words in says:
            self.assertRegex(done.stdout, words)

    def assert_ended(self, file):
        pid = int((self.folder / file).read_text())
        for _ in range(50):  # a process that was killed needs a moment
            try:
                if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z":
                    return
            except OSError:
                return
            time.sleep(0.1)
        self.fail(f"process {pid} runs on")

    def test_a_part_over_its_limit_fails_and_leaves_no_process(self):
        # In a process group of its own.
        self.program("tests/gpu/launch_forms", "timeout 300 bash -c 'echo $$ >\"$FOLDER/pid\"; sleep 300'")
        self.check("--only", "demo", "--only", "results", "--at-most", "2", status=1,
                   says=["SKIP +demo: .* was not built", "FAIL +results: over its limit of 2 s"])
        self.assert_ended("pid")

    def test_a_host_that_fails_under_the_library_fails(self):
        self.program("tests/gpu/launch_forms", '[[ -z "$INLINE_PROF_OUT" ]] || { echo "$FOLDER is broken" >&2; exit 5; }; echo 1 2 3')
        self.check("--only", "results", status=1, says=[
            "FAIL +results: 50: results with .*: exit status 5 under the injected library: .* is broken"])
        with tarfile.open(self.folder / "out/gpu_results.tar.gz") as archive:
            text = "".join(archive.extractfile(member).read().decode() for member in archive if member.isfile())
        self.assertIn("is broken", text)
        self.assertNotIn(f"{self.folder}/build", text)
        self.assertRegex(text, "50  The application's .*\n    FAIL +results: 50: ")
        self.check("--only", "results", "--resume", status=1, says=["results: done before"])

    def test_a_build_names_what_is_missing_and_is_open_over_its_limit(self):
        self.program("tools/nvcc", "")
        tools = {"PATH": f"{self.folder / 'build/tools'}:{os.environ['PATH']}", "CUDACXX": "nvcc"}
        self.program("tools/cmake", "echo 'CMake Error at CMakeLists.txt:25:\n  By not providing \"Findfmt.cmake\" in'; exit 1")
        self.check("--only", "build", status=1, says=[
            "FAIL +build: configure: fmt is missing, scripts/offline_deps.sh .*CMake Error at"], **tools)
        self.program("tools/cmake", "sleep 300")
        self.check("--only", "build", "--at-most", "2", status=0, says=["SKIP +build: over its limit of 2 s"], **tools)
        for words, missing in (('provided by "Eigen3" with', "Eigen3"), ("Could NOT find GTest (missing: GTEST_LIBRARY)", "GTest"),
                               ("no nvcc", "")):
            self.assertEqual(machine.missing_library(words), missing)

    def test_who_ends_the_script_ends_its_part(self):
        self.program("tests/gpu/launch_forms", "timeout 300 bash -c 'echo $$ >\"$FOLDER/pid\"; sleep 300'")
        script = subprocess.Popen([SCRIPT, "--build-dir", self.folder / "build", "--only", "results"], env=self.environment,
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

    def test_a_wrong_command_line_and_a_place_that_cannot_be_written(self):
        self.check("--only", "nothing", status=2, says=["invalid choice"])
        self.check("--results", f"{__file__}/x", "--only", "rate", status=3, says=["the results cannot be written to "])
        self.check("--help", status=0, says=["call 1, 9 minutes 50 s together"])


class Calls(unittest.TestCase):
    def test_every_call_is_within_its_time(self):
        for call in (1, 2, 3):
            self.assertLessEqual(sum(gpu_check.PARTS[part][1] for part in gpu_check.parts_of(call)), gpu_check.CALL_S)
        self.assertLess(gpu_check.CALL_S, 600)

    def test_two_calls_hold_every_part_once(self):
        counts = collections.Counter(gpu_check.parts_of(1) + gpu_check.parts_of(2))
        self.assertEqual({part for part, count in counts.items() if count > 1}, {"machine", "build"})
        self.assertEqual(set(counts), set(gpu_check.PARTS))
        for call in (2, 3):
            self.assertEqual(gpu_check.parts_of(call)[-1], "measure", "what is left is known at the end")
        # The default of prof-model measure --budget-s (docs/measurements.md).
        self.assertEqual(gpu_check.LONGEST_MEASURE_S - programs.MEASURE_REST_S, 480)

    def test_each_claim_names_parts_that_there_are(self):
        found = gpu_check.claims()
        self.assertEqual(sorted(found), list(range(1, 61)))
        for number, (_, parts) in found.items():
            self.assertTrue(parts, f"claim {number}")


class HostProgram(unittest.TestCase):
    def test_ends_are_told_apart(self):
        def shell(words):
            return host_program.run(["sh", "-c", words], {}, 5)
        self.assertEqual(shell("echo out; echo words >&2"), ("out\n", "words"))
        for words, error, said in (
                ("echo why >&2; exit 77", Skip, "^why"), ("echo why >&2; exit 3", Failure, "exit status 3: why"),
                ("echo 'error while loading shared libraries' >&2; exit 127", Skip, "shared libraries"),
                ("echo 'CUDA: out of memory' >&2; exit 1", Skip, "out of memory"), ("no_such_command_here", Failure, "exit status 127"),
                ("echo cause >&2; echo end >&2; echo 'inline_prof: ended' >&2; exit 1", Failure, "1: cause [|] end$"),
                ("echo 'FAIL: loss'; exit 1", Failure, "1: FAIL: loss$"), ("exit 1", Failure, "nothing said")):
            with self.assertRaisesRegex(error, said):
                shell(words)
        with self.assertRaisesRegex(Failure, "did not end within 0.2 s under the injected library"):
            host_program.run(["sleep", "5"], host_program.preloaded("", "x"), 0.2)
        with self.assertRaisesRegex(Skip, "no such program"):
            host_program.run(["/nonexistent/program"], {}, 1)

    def test_settings_of_others_do_not_reach_it(self):
        with unittest.mock.patch.dict("os.environ", {"INLINE_PROF_WARMUP": "7", "PROFILING_DIR": "x"}):
            told = host_program.run(["sh", "-c", "env"], host_program.injected("/g", "o", repeat=3), 5).stdout
        self.assertNotRegex(told, "INLINE_PROF_WARMUP|PROFILING_DIR")
        for line in ("CUDA_INJECTION64_PATH=/g", "INLINE_PROF_OUT=o", "INLINE_PROF_REPEAT=3"):
            self.assertIn(line + "\n", told)


def counted(kernels, graphs=4, errors=()):
    return {"driver_calls": {"cuLaunchKernel": kernels - 10, "cuLaunchKernelEx": 10, "cuGraphLaunch": graphs}, "errors": list(errors)}


def seen(kernels, graphs=4):
    return {"overhead": {"launches_seen": kernels, "graph_launches_seen": graphs}}


def backend(times_ms, tight=True, **kernels):
    events = [{"kernel_name": name, "measured_times_ms": times, "tight": [tight] * len(times)}
              for name, times in {"k": times_ms, **kernels}.items()]
    return {"events": events, "dropped": {"cuda_errors": 0}, "warnings": [],
            "calibration": [{"state": "idle", "empty_pair_us": {"median": 4.0, "count": 64}},
                            {"state": "busy", "empty_pair_us": {"median": 1.0, "count": 64}}]}


LENGTHS_US = [100 + 20 * (i * i % 5) for i in range(60)]


def starts(lengths_us):
    times = [0]
    for length in lengths_us:
        times.append(times[-1] + int(length * 1000))
    return {"errors": [], "activities": {"begins": [[start, start + 9] for start in times], "other": [[1, 2]]}}


def iteration_times(lengths_us):
    return {"iter_time_ms": [length * 1e-3 for length in lengths_us]}


KERNELS = ["batch", "forward", "forward", "update"]


def trained(kernels, source="auto", time_ms=0.5, layers=None):
    return {"profiler": {"iteration_source": source, "iteration_confidence": 1}, "dropped": {"irregular_iteration": 0},
            "warnings": ["nothing repeats"], "iter_time_ms": [time_ms] * 90,
            "events": [{"start_index": 2 * i, "kernel_names": [kernel], "event_name": kernel, "grid": [1, 1, 1],
                        "layer_name": (layers or {}).get(i, ""), "iterations": []} for i, kernel in enumerate(kernels)]}


MARKED = trained(KERNELS, "macro")
LAYERS = trained(KERNELS, layers={1: "forward.a", 2: "forward.b"})


def budgeted(interval, iterations=tuple(range(1, 101, 2))):  # a pair of 10 us in each second millisecond
    profile = trained(["a"], time_ms=1)
    profile["events"][0]["iterations"] = list(iterations)
    profile["calibration"] = [{"state": "busy", "empty_pair_us": {"median": 4.0}, "empty_kernel_pair_us": {"median": 7.0},
                               "added_kernel_us": {"median": 2.0}}]
    profile["overhead"] = {"slowdown_percent": 1, "slowdown_percent_ci95": interval, "method": "not measured"}
    return profile


def report(path_us=100.0, predicted=60.0, measured=30.0, **more):
    return {"iteration_us": 100.0, "longest_path_us": path_us, "longest_path_reason": "cyclic", "shares_reason": "none",
            "shares": {"predicted": predicted, "measured": measured, "seen": 0.0, "idle": 100 - predicted - measured},
            "event_bias_us": 1.0, "event_bias_source": "chain", **more}


def ranks(change=lambda rank: None):
    def event(place, length_ms, start_ms):
        return {"event_name": "all_reduce", "met_times_within_this_stream": place, "calls": 1, "measured_times_ms": [length_ms] * 3,
                "iter_start_to_event_start_times_ms": [start_ms] * 3,
                "op": {"kind": "collective", "op": "all_reduce", "count": 4096 * 4096, "bytes": 1 << 25, "type": "f16", "ranks": 2,
                       "sequence": place, "comm": "0x1", "source": "ncclAllReduce"}}
    # The late rank's iterations begin 0.2 ms later.
    profiles = [{"rank": 0, "events": [event(i, 0.6 + 0.1 * i, 1.0 + i) for i in range(4)]},
                {"rank": 1, "events": [event(i, 0.1, 1.3 + 1.1 * i) for i in range(4)]}]
    change(profiles[1])
    return profiles


# Function, arguments, the exception or None, words.  The rehearsals show what passes.
JUDGEMENTS = [
    (census.compare, (counted(100), seen(99), counted(100), seen(100)), Failure, "library .99"),
    (census.compare, (counted(100), seen(100), counted(100), seen(100, 3)), Failure, "library .100, 3"),
    (census.compare, (counted(100), seen(100), counted(99), seen(100)), Failure, ""),
    (census.compare, (counted(100), seen(100), counted(100, 3), seen(100)), Failure, ""),
    (census.compare, (counted(10, 0) | {"driver_calls": {}}, seen(0, 0), counted(10), seen(0)), Failure, "no launch at all"),
    (census.compare, (counted(10, 0, ["somebody else"]), seen(0), counted(10), seen(0)), Skip, "CUPTI: somebody else"),
    (pairs.compare_iterations, (iteration_times([us + 4 for us in LENGTHS_US]), starts(LENGTHS_US)), Failure, "median difference 4.00"),
    (pairs.compare_iterations, (iteration_times([us * (1.2 if i % 8 == 0 else 1) for i, us in enumerate(LENGTHS_US)]), starts(LENGTHS_US)),
     Failure, "median difference 0.00"),
    (pairs.compare_iterations, (iteration_times([1, 2, 3]), starts(LENGTHS_US)), Failure, "only 3 iteration times"),
    (pairs.compare_backends, (backend([0.021]), backend([0.024])), Failure, ""),
    (pairs.compare_backends, (backend([0.021]), backend([0.021], more=[0.1])), Failure, "2 in callbacks"),
    (pairs.check_calibration, (backend([0.02]) | {"calibration": []},), Failure, "state idle"),
    (training.compare_iterations, (trained(KERNELS[3:] + KERNELS[:3]), MARKED), Failure, "begin with update, launch 3 of 4"),
    (training.compare_iterations, (trained(2 * KERNELS), MARKED), Failure, "launch 4 of 8|another iteration"),
    (training.compare_iterations, (trained(KERNELS, time_ms=1), MARKED), Failure, "more than 10 % apart"),
    (training.compare_iterations, (trained(KERNELS, "none"), MARKED), Failure, "nothing repeats"),
    (training.compare_iterations, (MARKED, MARKED), Skip, "was not looked for"),
    (training.compare_iterations, (trained(KERNELS), MARKED, ("update",)), Failure, "begin with batch"),
    (training.count_iterations, (trained(KERNELS * 100), 200), Failure, ""),
    (training.judge_budget, (budgeted((0.5, 1.5)), 0.5), Skip, "too wide"),
    (training.judge_budget, (budgeted((1.2, 1.3)), 0.5), Failure, ""),
    (training.judge_budget, (budgeted((0.9, 1.1)), 0.4), Failure, ""),
    (training.judge_budget, (budgeted(None), 1), Skip, "not measured"),
    (training.judge_budget, (budgeted((0, 0), []), 1), Failure, "nothing was measured"),
    (training.compare_layers, (LAYERS, ["", "forward.a", "forward.c", ""]), Failure, "launch 2 has 'forward.b'"),
    (training.compare_paths, (LAYERS, ["forward", "forward.a", "forward.b", "forward.c"]), Failure, "forward.c"),
    (training.compare_paths, (LAYERS, ["forward", "forward.a"]), Failure, "no ranges: forward.b"),
    (programs.rebuilt, (report(104.9),), None, ""), (programs.rebuilt, (report(94.9),), Failure, ""),
    (programs.rebuilt, (report(None),), Skip, "no iteration to compare: cyclic"),
    (programs.rebuilt_by_chain, (report(106.0, event_bias_us=1.4), report()), Failure, ""),
    (programs.rebuilt_by_chain, (report(event_bias_source="calibration"), report()), Skip, "no chain"),
    (programs.rebuilt_by_chain, (report(), report()), Skip, "no sample"),
    (programs.explained, (report(measured=29.0),), Failure, "11.0 % idle"),
    (programs.explained, (report() | {"shares": None},), Skip, "no shares: none"),
    (libraries.check_ranks, (ranks(lambda rank: rank["events"].pop()),), Failure, "has 3 events"),
    (libraries.check_ranks, (ranks(lambda rank: rank["events"][2]["op"].update(ranks=1)),), Failure, "#2: ranks 1, expected 2"),
    (libraries.check_ranks, (ranks(lambda rank: rank["events"][0]["op"].update(comm="0x2")),), Failure, "ranks differ"),
    (libraries.check_ranks, (ranks(lambda rank: rank.update(rank=0)),), Failure, "says rank 0"),
    (libraries.check_waiting, (ranks(lambda rank: rank["events"][3].update(measured_times_ms=[0.9] * 3)),), Failure, "expected"),
    (libraries.check_weights, ("x\nPASS: the sum of all weights is 1\n",), None, "sum of all weights"),
    (libraries.check_weights, ("FAIL: the sum of all weights is 1 to 2",), Failure, ""),
    (libraries.check_weights, ("simulated GPU: not checked",), Skip, ""),
]


class Judgements(unittest.TestCase):
    def test_each_claim_is_judged_as_its_text_says(self):
        for function, arguments, error, words in JUDGEMENTS:
            with self.subTest(function=function.__name__, words=words):
                if error is None:
                    self.assertRegex(function(*arguments), words or ".")
                else:
                    with self.assertRaisesRegex(error, words):
                        function(*arguments)

    def test_pairs_are_joined_with_durations_in_launch_order(self):
        rows = [{"state": "idle", "kernel": "", "target_us": 0, "tight": 0, "pair_us": [2, 3, 4], "inner_us": [0, 0, 0]},
                {"state": "idle", "kernel": "spin", "target_us": 5, "tight": 0, "pair_us": [9, 10, 11], "inner_us": [5, 5, 5]},
                {"state": "busy", "kernel": "spin", "target_us": 5, "tight": 2, "pair_us": [8, 8], "inner_us": [5, 5]}]
        joined = copy.deepcopy(rows)
        self.assertEqual(pairs.attach_durations(joined, {"spin": [7000, 7100, 7200, 6000, 6200], "hold": [1]}), [])
        lines = pairs.summarise(rows, joined)
        self.assertIsNone(lines[0]["minus_cupti_us"])
        self.assertAlmostEqual(lines[1]["minus_cupti_us"], 10 - 7.1)
        self.assertAlmostEqual(lines[1]["minus_inner_us"], 5)
        self.assertEqual(pairs.attach_durations(copy.deepcopy(rows), {"spin": [7000]}), ["spin"])
        self.assertIn("2 of 2 busy pairs tight, 0 of 3", pairs.judge_tight(lines))
        self.assertIn("no pair is shorter", pairs.judge_length(lines, 32))
        rows[2].update(pair_us=[4.4, 4.4], tight=0)
        for judge in (pairs.judge_tight, lambda lines: pairs.judge_length(lines, 32)):
            with self.assertRaises(Failure):
                judge(pairs.summarise(rows, None))

    def test_overhead(self):
        blocks = [("off", 100.0), ("on", 111.0), ("on", 112.0), ("off", 103.0)] * 2
        self.assertEqual([round(ratio, 9) for ratio in cost.quads(blocks)], 2 * [round(223 / 203, 9)])
        self.assertEqual(cost.quads(blocks[:3]), [])
        with self.assertRaises(ValueError):
            cost.quads([("off", 1.0), ("on", 1.0), ("off", 1.0), ("on", 1.0)])
        wide, narrow = cost.interval([1.0, 1.02, 0.99, 1.01]), cost.interval([1.0, 1.02, 0.99, 1.01] * 25)
        for mean, low, high in (wide, narrow):
            self.assertAlmostEqual(mean, 0.005)
            self.assertTrue(low < mean < high)
        self.assertLess(narrow[2] - narrow[1], wide[2] - wide[1])
        self.assertEqual([cost.judge_measuring(found) for found in ((5e-4, 0, 1e-3), (2e-3, 15e-4, 25e-4), (5e-4, -4e-3, 5e-3))],
                         [True, False, None])
        self.assertEqual([cost.judge_afterwards(found) for found in ((1e-3, -1e-3, 2e-3), (2e-3, 1e-3, 3e-3))], [True, False])


class KernelNames(unittest.TestCase):
    def test_they_must_tell_enough(self):
        def profile(version, *names):
            return [{"devices": [{"cuda_version": version}], "events": [{"kernel_names": list(names)}]}]
        self.assertEqual([libraries.line_of_names(profiles)[0] for profiles in (
            profile("12.3", "k"), profile("12.2", "k"), profile("12.2", "k", "kernel_without_a_name~2"), [])],
            ["SKIP", "PASS", "FAIL", "SKIP"])

        def row(call, analyzer, **op):
            return {"call": call, "analyzer": analyzer.split(), "op": op, "grid": [2, 3, 1], "kernel": "k"}
        gemm = {"kind": "gemm", "m": 8, "n": 9, "k": 10, "batch": 2}
        self.assertEqual(libraries.question(row("a", "", **gemm)), "gemm 0 0 1 8 9 10 2 6 k\n")
        self.assertEqual(libraries.question(row("b", "", kind="conv", r=3, s=5, stride=[2, 1])), "conv 3 5 2 1 1 1 1 6 k\n")
        for one, words in ((row("a", "64x64 64x64 1", **gemm), None), (row("a", "- - -", **gemm), "no tile in the name"),
                           (row("v", "- - -", **gemm | {"m": 1}), None), (row("c", "- -", kind="conv"), "known for no convolution"),
                           (row("forward by algorithm 7", "winograd -", kind="conv"), "taken for winograd, expected winograd_nonfused"),
                           (row("forward by algorithm 7", "winograd_nonfused -", kind="conv"), None)):
            self.assertEqual(libraries.complaint(one), words)


if __name__ == "__main__":
    unittest.main()
