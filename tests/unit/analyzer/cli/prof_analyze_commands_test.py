#!/usr/bin/python3
"""prof-analyze compare and check, the formats for other programs as their user calls them, and the published schemas.

usage: prof_analyze_commands_test.py PROF_ANALYZE SOURCE_DIR
"""

import copy
import csv
import fcntl
import gzip
import io
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import unittest

from program_in_a_folder import InAFolder, event, run

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

PROGRAM = sys.argv[1]
SOURCE = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "tests/bench"))
import watched_run  # noqa: E402

SMALL = SOURCE / "tests/data/gen3/small_h200.prof.json"
A100 = SOURCE / "tests/data/hugectr/dlrm_a100_8gpu.prof.json"
A100_LAYERS = SOURCE / "tests/data/hugectr/dlrm_a100.layers.json"


def profile(gemm_us, driver="580.1", **more):
    """Two layers; each sample a little apart, so that there are intervals."""
    def layer(name, kernel, index, time_us):
        return event(kernel, index, [time_us * 1e-3 * (1 + 0.001 * i) for i in range(20)], layer_name=name,
                     op={"kind": "memory", "read_bytes": 1 << 22, "write_bytes": 1 << 22})
    return {"schema": "inline_prof/1", "iter_time_ms": [1 + 0.0001 * i for i in range(20)],
            "devices": [{"device_id": 0, "name": "NVIDIA H200", "driver_version": driver}],
            "events": [layer("fc1", "gemm", 0, gemm_us), layer("fc2", "relu", 1, 50)], **more}


def schema(name):
    """The validator of a schema in docs/schemas."""
    document = json.loads((SOURCE / ("docs/schemas/%s.schema.json" % name)).read_text())
    jsonschema.Draft7Validator.check_schema(document)
    return jsonschema.Draft7Validator(document)


def valid(name, text):
    """The document, which follows its schema."""
    document = json.loads(text)
    schema(name).validate(document)
    return document


class Schemas(InAFolder):
    def test_that_of_profiles_describes_the_third_generation(self):
        files = sorted((SOURCE / "tests/data/gen3").glob("*.prof.json"))
        self.assertTrue(files)
        for file in files:
            valid("prof", file.read_text())

    def test_that_of_profiles_refuses_what_the_reader_refuses(self):
        good = json.loads(SMALL.read_text())
        for path, value in [(("schema",), "inline_prof/2"), (("iter_time_ms", 0), -1),
                            (("events", 0, "measured_times_ms", 0), "9us"),
                            (("events", 0, "tight", 0), 1), (("events", 0, "grid"), [1, 1]),
                            (("calibration", 0, "state"), "hot")]:
            bad = copy.deepcopy(good)
            place = bad
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            self.assertFalse(schema("prof").is_valid(bad), path)
            self.assertEqual(run("/dev/stdin", text=json.dumps(bad)).returncode, 1, path)

    def test_that_of_reports_describes_every_report(self):
        for arguments in [[], ["--machine", "a100-sxm4-40gb"], ["--event-bias", "off"], ["--event-bias", "4.5"],
                          ["--models", "published"], ["--models", "all"], [SMALL]]:
            report = valid("report", self.good(SMALL, *arguments, "--format", "json").stdout)
            self.assertEqual(set(report), set(schema("report").schema["properties"]))

    def test_that_of_reports_describes_one_that_knows_next_to_nothing(self):
        nothing = self.write("nothing.json", {"schema": "inline_prof/1", "iter_time_ms": [], "events": []})
        valid("report", self.good(nothing, "--format", "json").stdout)


class Bursts(InAFolder):
    def test_slow_products_are_said_to_be_predicted_as_in_bursts(self):
        # 2 * 8192^3 FLOP take 1.11 ms at the peak of an H200, and 1.44 as it is predicted.
        for time_us, is_slow in ((2200, True), (1450, False)):
            document = profile(time_us)
            document["events"][0]["op"] = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "a_type": "bf16",
                                           "b_type": "bf16", "c_type": "bf16", "compute_type": "f32"}
            done = run(self.write("slow.json", document), "--event-bias", "off", "--verbose", "--width", 200)
            words = "matrix products are predicted as they run in short bursts"
            self.assertEqual(words in done.stdout, is_slow, done.stdout)


def phased(first="train", factor=1.0, **more):
    """Training and evaluation in turn, either of them first, and something that ended at once."""
    def phase(iterations, time_ms, reason, stretches, **more):
        return {"stretches": stretches, "iterations": iterations, "started_after_s": 0, "reason": reason,
                "iteration_source": "macro", "iteration_confidence": 1, "measured": True, "graph_launches": 0,
                "graph_kernels": 0, "kernel_launches": 1, "iter_time_ms": [time_ms] * 20, **more}

    kinds = {"train": ("gemm", 0.8 * factor, 100, 1.0 * factor), "evaluate": ("forward", 0.3, 40, 0.4)}
    order = [first] + [kind for kind in kinds if kind != first]
    phases, events = [], []
    for i, (name, time_ms, iterations, iteration_ms) in enumerate(kinds[kind] for kind in order):
        reason = "other launches" if i else "the first iterations"
        phases.append(phase(iterations, iteration_ms, reason, [[1, 20], [61, 60 + iterations - 20]]))
        events.append(event(name, i, [time_ms * (1 + 0.001 * k) for k in range(20)], layer_name="net", phase=i,
                            iterations=list(range(11, 31))))
    phases.append(phase(3, 9, "other grids", [[500, 502]], measured=False, iter_time_ms=[]))
    return {"schema": "inline_prof/1", "iter_time_ms": [1.0] * 40, "phases": phases, "events": events,
            "devices": [{"device_id": 0, "name": "NVIDIA H200"}], **more}


class Phases(InAFolder):
    def test_the_report_shows_the_longest_phase_or_the_one_that_is_asked_for(self):
        file = self.write("p.json", phased(first="evaluate"))
        report = run(file, "--verbose", "--width", 200).stdout
        self.assertIn("phases      phase 2 of 3, shown here: 100 iterations in 2 stretches, the first from 1 on, each one "
                      "kernel; 86.2 % of the time; began when other kernels were launched", report)
        self.assertIn("phase 1: 40 iterations in 2 stretches", report)
        self.assertIn("--phase 1 shows it", report)
        self.assertIn("ended before anything was measured", report)
        self.assertNotIn("--phase 3", report)
        self.assertIn("net  gemm", report)
        other = run(file, "--verbose", "--width", 200, "--phase", 1).stdout
        self.assertIn("phase 1 of 3, shown here: 40 iterations", other)
        self.assertIn("net  forward", other)
        self.assertNotIn("gemm", other)
        document = valid("report", run(file, "--format", "json").stdout)
        self.assertEqual([phase["is_shown"] for phase in document["runs"][0]["phases"]], [False, True, False])

    def test_a_phase_that_is_not_there_is_refused(self):
        file = self.write("p.json", phased())
        done = run(file, "--phase", 4)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "prof-analyze: %s: /phases: 3 phases, expected phase 4 to be one of them\n" % file)
        self.assertEqual(run(SMALL, "--phase", 2).returncode, 1)
        self.assertEqual(run(SMALL, "--phase", 1).returncode, 0)
        self.assertEqual(run(SMALL, "--phase", 0).returncode, 2)

    def test_compare_takes_the_phase_that_launches_the_same(self):
        before = self.write("before.json", phased())
        after = self.write("after.json", phased(first="evaluate", factor=1.5))
        document = valid("compare", run("compare", before, after, "--format", "json").stdout)
        self.assertEqual([event["event"] for event in document["events"]], ["gemm"])
        self.assertEqual(document["events"][0]["change"], "SLOWER")
        self.assertTrue(document["phase_before"].startswith("phase 1 of 3: 100 iterations"))
        self.assertTrue(document["phase_after"].startswith("phase 2 of 3: 100 iterations"))
        evaluation = json.loads(run("compare", before, after, "--phase", 2, "--format", "json").stdout)
        self.assertEqual([event["event"] for event in evaluation["events"]], ["forward"])
        self.assertEqual(evaluation["events"][0]["change"], "SAME")
        self.assertIn("after       phase 2 of 3: ", run("compare", before, after).stdout)

    def test_ranks_are_compared_in_the_phase_that_launches_the_same(self):
        for rank in range(4):
            first = "evaluate" if rank == 2 else "train"
            self.write("r%d.prof.json" % rank, phased(first, 2.0 if rank == 3 else 1.0, rank=rank, world_size=4,
                                                      host_name="n%d" % rank,
                                                      profiler={"event_list_hash": "%d" % (rank == 2)}))
        document = valid("ranks", run("ranks", self.path, "--format", "json").stdout)
        self.assertTrue(document["phase"].startswith("phase 1 of 3: "))
        self.assertEqual([slow["device"]["rank"] for slow in document["slow_devices"]], [3])
        self.assertIn("phase       phase 2 of 3: ", run("ranks", self.path, "--phase", 2).stdout)
        self.assertEqual(json.loads(run("ranks", self.path, "--phase", 2, "--format", "json").stdout)["slow_devices"], [])
        report = run(self.path, "--verbose", "--width", 200).stdout
        self.assertIn("net  gemm", report)
        self.assertNotIn("forward", report)
        self.assertIn("; of the files 1.000 to 2.000 ms", report)
        (self.path / "r3.prof.json").unlink()
        self.assertNotIn("fewer than three devices", run("ranks", self.path).stdout)
        (self.path / "r1.prof.json").unlink()
        self.assertIn("fewer than three devices: which is slow cannot be told", run("ranks", self.path).stdout)

    def test_traces_name_the_phase(self):
        file = self.write("p.json", phased(host_name="n1"))
        trace = json.loads(run(file, "--format", "perfetto", "--phase", 2).stdout)
        names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"]
        self.assertEqual(names, ["n1, device 0, phase 2 of 3"])
        bars = [event for event in trace["traceEvents"] if event["ph"] == "X" and "samples" in event["args"]]
        self.assertEqual([(bar["name"], bar["args"]["phase"]) for bar in bars], [("forward", "phase 2 of 3")])
        self.assertTrue(trace["otherData"]["phase"].startswith("phase 2 of 3: 40 iterations"))


class Summary(InAFolder):
    """The first lines of a report."""

    def summary(self, *arguments):
        """The report in words, by label, and how many lines its what, why and next have."""
        lines = run(*arguments, "--width", 80).stdout.split("\n\n")[0].split("\n")
        self.assertEqual([line[:4] for line in lines if line[0] != " "], ["what", "why ", "next"])
        return " ".join(" ".join(lines).split()), len(lines)

    def test_a_report_begins_with_what_why_and_next_in_six_lines(self):
        for file in (self.write("p.json", profile(400)), A100, SMALL):
            words, lines = self.summary(file)
            self.assertLessEqual(lines, 6, words)
        report = run(A100).stdout
        self.assertLess(len(report.split("\n")), 60)
        self.assertNotIn("event bias", report)
        self.assertIn("event bias", run(A100, "--verbose").stdout)

    def test_a_run_that_ended_early_says_how_long_it_has_to_be(self):
        document = profile(100, complete=False, warnings=["the program ended at iteration 40 of 2010: "
                                                          "20 of 100 samples were taken"],
                           profiler={"mode": "fine_grained", "policy": "interleaved", "repeat": 50,
                                     "warmup_iterations": 10})
        document["events"][0].update(measured_times_ms=[], reason="50 of 50 samples are missing: the program ended first")
        file = self.write("short.json", document)
        words, _ = self.summary(file)
        self.assertIn("what NOT COMPLETE. An iteration takes", words)
        self.assertIn("next 1 of 2 rows have no sample: run 12 steps for one of each; for intervals run 22 steps.", words)
        in_order = dict(document, profiler=dict(document["profiler"], policy="in_order"))
        self.assertIn("next 1 of 2 rows have no sample: run 110 steps, or use --repeat 2 (14).",
                      self.summary(self.write("in_order.json", in_order))[0])
        # A graph's kernels have all their samples one after the other, each in a clone that is warmed up.
        inside = dict(document, events=[dict(event, in_cuda_graph=True) for event in document["events"]])
        self.assertIn("next 1 of 2 rows have no sample: run 134 steps, or use --repeat 2 (38).",
                      self.summary(self.write("inside.json", inside))[0])
        self.assertIn("ended normally before all samples: 20 of 100",
                      " ".join(run(file, "--verbose").stdout.split()))
        # An event that was not asked for lacks nothing.
        document["events"][0]["reason"] = ""
        words, _ = self.summary(self.write("only.json", document))
        self.assertNotIn("rows have no sample", words)
        # Without any sample the times would be predictions.
        document["events"][1]["measured_times_ms"] = []
        document["warnings"] = ["the program ended in the warm-up, after iteration 9 of 10: nothing was measured"]
        file = self.write("nothing.json", document)
        self.assertIn("Nothing was measured. why The program ended in the warm-up, after iteration 9 of 10: nothing "
                      "was measured. next Run more iterations: the first 10 are the warm-up", self.summary(file)[0])
        self.assertNotIn("operators", run(file).stdout)
        # A sample of each is enough for what to do next.
        document["events"][0]["measured_times_ms"] = [0.1]
        document["events"][1]["measured_times_ms"] = [0.1]
        file = self.write("one_each.json", document)
        self.assertIn("what NOT COMPLETE: for intervals run 22 steps. An iteration", self.summary(file)[0])
        self.assertTrue(run("check", file, "--gate", "iteration_ms<1").stdout.startswith("NOT COMPLETE: for intervals"))
        document["profiler"]["repeat"] = 2
        compared = run("compare", file, self.write("two_each.json", document)).stdout
        self.assertIn("next measure longer: 2 of 2 layers cannot be decided, first fc1: run 22 steps with --repeat 6",
                      " ".join(compared.split()))
        self.assertTrue(compared.startswith("what        Before: NOT COMPLETE: for intervals run 22 steps. After: NOT"))
        # One of several files is named, and two programs with the same kernels are no run.
        whole = self.write("whole.json", profile(100, rank=0, world_size=4))
        part = self.write("part.json", profile(100, rank=1, world_size=4, complete=False))
        self.assertIn("what NOT COMPLETE (%s). No file of rank 2 to 3: 2 of 4 ranks are missing. An" % part,
                      self.summary(whole, part)[0])
        other = profile(100)
        for one in other["events"]:
            one["layer_name"] = "encoder." + one["layer_name"]
        self.assertIn("what DOUBTFUL: these files may be of several runs",
                      self.summary(self.write("a.json", profile(100)), self.write("b.json", other))[0])
        self.assertIn("what DOUBTFUL: the events take more than an iteration, so shares and idle time are rough. An "
                      "iteration takes 1.000 ms (0.800 to 2.000).",
                      self.summary(self.write("long.json", profile(1200, iter_time_ms=[0.8, 2.0] * 3 + [1.0])))[0])

    def test_a_file_that_is_missing_is_no_part_of_a_run(self):
        file = self.write("run.json", profile(100))
        self.assert_refused(1, "gone: No such file or directory", "gone", file)
        self.assert_refused(2, "comapre: neither a subcommand nor a file; did you mean compare?", "comapre", file)

    def test_a_simulated_run_says_so_first(self):
        file = self.write("sim.json", profile(100, simulated=True))
        self.assertTrue(self.summary(file)[0].startswith("what SIMULATED GPU: times are a model's. An iteration"))
        self.assertTrue(run("compare", file, file).stdout.startswith("what        SIMULATED GPU"))
        self.assertIn("SIMULATED GPU", run(file, "--format", "html").stdout)
        self.assertTrue(json.loads(run(file, "--format", "json").stdout)["runs"][0]["simulated"])
        words = "SIMULATED GPU: times are a model's."
        gate = ["--gate", "iteration_ms<2"]
        for arguments in (["ranks", file], ["scaling", file], ["check", file, *gate]):
            self.assertTrue(run(*arguments).stdout.startswith(words), arguments)
            document = valid(arguments[0], run(*arguments, "--format", "json").stdout)
            self.assertTrue(document.get("simulated", True) and document.get("times", [document])[0]["simulated"])
        self.assertIn("what        " + words, run(file, "--format", "md").stdout)
        self.assertRegex(run(file, "--format", "prometheus").stdout, r"inline_prof_simulated\{.*\} 1\n")

    def test_a_row_faster_than_memory_allows_is_in_no_sum(self):
        document = profile(1)  # 8 MB in 1 us
        for event in document["events"]:
            event["op"] = {"kind": "memory", "read_bytes": 1 << 28, "write_bytes": 1 << 28}
        document["events"][1]["measured_times_ms"] = [0.2] * 20
        file = self.write("fast.json", document)
        self.assertIn("what 1 row is faster than possible, and in no sum: bytes or time are wrong.", self.summary(file)[0])
        self.assertIn("times faster than memory allows: bytes or time are wrong", " ".join(run(file, "--top", 5).stdout.split()))
        self.assertIn("impossible (", run(file, "--top", 5).stdout)
        document = json.loads(SMALL.read_text())  # its product has a calibrated prediction
        gemm = next(each for each in document["events"] if each["event_name"] == "fc.fprop.gemm")
        for change in ({"measured_times_ms": [0.02] * 7}, {"op": {**gemm["op"], "m": 2**40}}):
            changed = {**document, "events": [{**each, **change} if each is gemm else each for each in document["events"]]}
            text = run(self.write("fast.json", changed), "--top", 9).stdout
            self.assertIn("what        1 row is faster than possible", text)
            self.assertIn("times faster than the arithmetic allows", " ".join(text.split()))

    def test_the_file_whose_gpu_is_not_known_is_named(self):
        document = json.loads(SMALL.read_text())
        files = []
        for rank, name in enumerate(["NVIDIA H200", "no such GPU"]):
            document.update(rank=rank, world_size=2, devices=[{**document["devices"][0], "name": name}])
            files.append(self.write(f"rank{rank}.json", document))
        text = " ".join(run(*files).stdout.split())
        self.assertIn("next Name the GPU of rank1.json with --machine", text.replace(str(files[1]), "rank1.json"))

    def test_torch_without_its_names_says_what_to_do(self):
        document = profile(100)
        for event in document["events"]:
            event["event_name"] = "void at::native::vectorized_elementwise_kernel<4, f>(int)"
            event["layer_name"] = ""
            del event["op"]
        document["events"].pop()
        words, _ = self.summary(self.write("torch.json", document))
        self.assertIn("next PyTorch seen: run again with prof-run --torch", words)
        self.assertNotIn("PROFILE_OP", words)

    def test_one_layer_is_shown_alone(self):
        file = self.write("p.json", profile(100))
        report = run(file, "--layer", "fc1").stdout
        self.assertIn("\nfc1  gemm\n", report)
        self.assertNotIn("relu\n", report.split("raw us")[1])
        self.assertIn("1 rows of other layers left out", report)
        self.assertNotIn("fc2", run(file, "--layer", "fc1", "--format", "md").stdout.split("```")[2])
        self.assert_refused(2, "--layer fc9: no row of such a layer; the largest are fc", file, "--layer", "fc9")

    def test_what_the_program_says_of_an_iteration_is_shown_by_the_second(self):
        file = self.write("p.json", profile(100, runtime_data=[
            {"data_name": "inline_prof.samples", "device_id": 0, "stream": "0x0", "data": ["512"]}]))
        self.assertIn("what An iteration takes 1.001 ms, 511,", self.summary(file)[0])


class Compare(InAFolder):
    def setUp(self):
        super().setUp()
        self.before = self.write("before.json", profile(100))
        self.slower = self.write("slower.json", profile(120))

    def test_fail_on_ends_with_3_for_a_slower_layer(self):
        self.assertEqual(run("compare", self.before, self.before, "--fail-on", 5).returncode, 0)
        done = run("compare", self.before, self.slower, "--fail-on", 5)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, r"fc1\n? +100.9\d +121.1\d +\[1.1\d+, 1.2\d+\] +> 20.0 % slower")
        self.assertIn("1 slower, 0 undecided", done.stderr)
        self.assertEqual(run("compare", self.before, self.slower, "--fail-on", 30).returncode, 0)
        self.assertEqual(run("compare", self.before, self.slower).returncode, 0)
        self.assertEqual(run("compare", self.slower, self.before, "--fail-on", 5).returncode, 0)

    def test_fail_on_ends_with_4_for_what_cannot_be_decided(self):
        other = self.write("other.json", profile(120, driver="570.2"))
        done = run("compare", self.before, other, "--fail-on", 5)
        self.assertEqual(done.returncode, 4)
        self.assertIn("driver: 580.1 before, 570.2 after", done.stdout)
        self.assertIn("? undecided (1)\n", done.stdout)
        self.assertIn("(1)         the runs differ in driver\n", done.stdout)
        self.assertIn("next        --despite driver judges", done.stdout)
        done = run("compare", self.before, other, "--fail-on", 5, "--despite", "driver")
        self.assertEqual(done.returncode, 3)
        self.assertIn("next        look at fc1 first, 20.0 % slower\n", done.stdout)

    def test_small_layers_do_not_fail_a_run(self):
        # fc1 has a tenth of the iteration.
        self.assertEqual(run("compare", self.before, self.slower, "--fail-on", 5, "--min-share",
                             50).returncode, 0)

    def test_next_names_the_new_layer_and_asks_nothing_of_small_ones(self):
        less = profile(100)
        new = less["events"].pop()
        less["iter_time_ms"] = [0.9 * ms for ms in less["iter_time_ms"]]
        more = profile(100)
        for document in (less, more):  # 0.5 % of the iteration, too few samples
            document["events"].append(dict(new, layer_name="loss", measured_times_ms=[0.005], start_index=4, end_index=5))
        text = run("compare", self.write("less.json", less), self.write("more.json", more)).stdout
        self.assertIn("why         fc2 50.", text)
        self.assertIn(" us, new\nnext        look at fc2 first, new\n", text)
        self.assertRegex(text, r"fc2\n? +- +5\d.\d+ +-  \+ new\n")
        self.assertNotIn("\nnext", run("compare", self.path / "more.json", self.path / "more.json").stdout)

    def test_kernels_are_named_as_in_the_report(self):
        document = profile(100)
        document["events"][1].update(event_name="void ns::relu_kernel<4>(float*)", op={"kind": "operator", "source": "aten::relu"})
        file = self.write("torch.json", document)
        self.assertIn("fc2 aten::relu relu_kernel\n", run("compare", file, file).stdout)

    def test_json_follows_its_schema(self):
        for after in [self.before, self.slower, self.write("new.json", profile(
                1, events=profile(100)["events"][:1]))]:
            report = valid("compare", run("compare", self.before, after, "--format", "json").stdout)
            self.assertEqual(set(report), set(schema("compare").schema["properties"]))

    def test_csv_has_a_line_for_everything(self):
        text = run("compare", self.before, self.slower, "--format", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["kind"] for row in rows],
                         ["iteration", "layer", "layer", "event", "event"])
        self.assertEqual([row["change"] for row in rows if row["layer"] == "fc1"],
                         ["SLOWER", "SLOWER"])

    def test_other_kernels_in_a_layer_are_judged_by_its_sum(self):
        naive = profile(100)
        flash = dict(naive["events"][0])
        naive["events"][0]["measured_times_ms"] = [3 * ms for ms in naive["events"][0]["measured_times_ms"]]
        naive["events"][0]["event_name"] = "bmm"
        naive["events"].append(dict(flash, event_name="softmax", start_index=4, end_index=5))
        naive["iter_time_ms"] = [1.3 * ms for ms in naive["iter_time_ms"]]
        after = self.write("naive.json", naive)
        done = run("compare", self.before, after, "--fail-on", 5)
        self.assertEqual(done.returncode, 3)
        self.assertIn("2 slower, 0 undecided", done.stderr)
        words = " ".join(done.stdout.split())
        self.assertTrue(words.startswith("what The iteration: 1.001 -> 1.301 ms, 30.0 % slower, ratio 1.300"), words)
        self.assertIn("why fc1 100.9 -> 403.8 us, 4.0 times as long; kernels changed", words)
        for file_format, start in (("md", "* **what** The iteration: 1.001 -&gt; 1.301 ms"), ("html", "<!DOCTYPE html>")):
            text = run("compare", self.before, after, "--format", file_format).stdout
            self.assertTrue(text.startswith(start), text[:200])
            self.assertIn("4.0 times as long; kernels changed", text)

    def test_a_real_run_is_the_same_as_itself(self):
        done = run("compare", A100, A100, "--fail-on", 20, "--format", "json")
        report = json.loads(done.stdout)
        self.assertEqual({layer["ratio"] for layer in report["layers"]}, {1.0})
        self.assertNotIn("SLOWER", done.stdout)
        self.assertNotIn("FASTER", done.stdout)

    def test_refuses_what_cannot_be_compared(self):
        empty = self.path / "empty.json"
        empty.write_text("")
        self.assert_refused(1, "empty.json", "compare", self.before, empty)
        self.assert_refused(1, "have no event in common", "compare", self.before, A100)
        self.assertEqual(run("compare", self.before).returncode, 2)
        self.assertEqual(run("compare", self.before, self.slower, "--fail-on", "x").returncode, 2)
        self.assertEqual(run("compare", self.before, self.slower, "--despite", "x").returncode, 2)
        self.assertEqual(run(self.before, "compare", self.before, self.slower).returncode, 2)


class Check(InAFolder):
    def test_gates_end_with_0_3_and_4(self):
        file = self.write("p.json", profile(100))
        self.assertEqual(run("check", file, "--gate", "iteration_ms<1.1").returncode, 0)
        done = run("check", file, "--gate", "iteration_ms<1.1", "--gate", "time_us<99")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, r"time_us<99 +FAILED +fc1 gemm is 10")
        self.assertEqual(run("check", file, "--gate", "overhead_percent<1").returncode, 4)
        self.assertEqual(run("check", file, "--gate", "overhead_percent<1", "--gate",
                             "time_us<99").returncode, 3)

    def test_results_are_json_if_asked_for(self):
        done = run("check", SMALL, "--gate", "ratio<1.3", "--format", "json")
        self.assertEqual(valid("check", done.stdout)["gates"][0]["gate"], "ratio<1.3")
        done = run("check", self.write("p.json", profile(100)), "--gate", "iteration_ms<1", "--format", "json")
        gate, = valid("check", done.stdout)["gates"]
        self.assertEqual((gate["result"], gate["value"]), ("FAILED", 1.00095))
        self.assertLess(gate["ci95"][0], gate["value"])

    def test_a_gate_that_cannot_be_read_is_a_wrong_command_line(self):
        for gate in ["ratio", "ratio<", "speed<1", "ratio<1.3 or so", ""]:
            self.assert_refused(2, '"%s"' % gate, "check", SMALL, "--gate", gate)
        self.assertEqual(run("check", SMALL).returncode, 2)


def nested(devices):
    """A region in a region in a region; `devices` has their names, outermost first, for each device."""
    events = []
    for device, names in enumerate(devices):
        for depth, name in enumerate(names):
            events.append(event(name, 0, [0.5 - 0.1 * depth] * 10, layer_name="L", device_id=device,
                                start_index=10 * device + depth, end_index=10 * device + 9 - depth))
    return {"schema": "inline_prof/1", "iter_time_ms": [1.0] * 10, "events": events}


class Nesting(InAFolder):
    def test_devices_that_nest_in_different_ways_end_and_say_so(self):
        for devices in [["abc", "bac"], ["aab"], ["abc", "bca", "cab"]]:
            file = self.write("nested.prof.json", nested(devices))
            for arguments in [["--verbose"], ["--format", "html"], ["--format", "prometheus"], ["--format", "json"]]:
                done = subprocess.run([PROGRAM, file, *arguments], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, universal_newlines=True, check=False,
                                      timeout=20)
                self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertIn("enclose each other on different devices, or themselves",
                          " ".join(report["warnings"]))
            table = run(file, "--verbose").stdout
            for name in set("".join(devices)):
                self.assertIn("L  %s\n" % name, table)
            self.assertEqual(run("compare", file, file).returncode, 0)

    def test_devices_that_nest_alike_say_nothing(self):
        file = self.write("nested.prof.json", nested(["abc", "abc"]))
        self.assertNotIn("enclose", run(file, "--format", "json").stdout)


class Outputs(InAFolder):
    def test_an_input_is_never_replaced(self):
        file = self.write("a.prof.json", profile(100))
        other = self.write("b.prof.json", profile(120))
        before = file.read_bytes()
        linked = self.path / "linked"
        linked.symlink_to(file)
        for arguments in [[file, "-o", file], [file, "-o", linked], [file, "--output=%s" % file],
                          ["compare", other, file, "-o", file],
                          [self.path, "-o", file], ["ranks", self.path, "-o", file]]:
            self.assert_refused(1, "is one of the inputs and is left alone", *arguments, "--force")
            self.assertEqual(file.read_bytes(), before)
        report = self.path / "report.txt"
        report.write_text("old")
        self.assertEqual(run(file, "-o", report, "--force").returncode, 0)
        self.assertNotEqual(report.read_text(), "old")


class Ranks(InAFolder):
    def write_ranks(self, count, late=None, slow=None, extra=None, extras=1, sent={}):
        """`late` reaches the collective 30 us after the others, `slow` takes 1.5 times as long, `extra` has more events."""
        folder = self.path / "run"
        folder.mkdir(exist_ok=True)
        for rank in range(count):
            factor = 1.5 if rank == slow else 1 + 0.001 * rank
            document = profile(100 * factor, rank=rank, world_size=count, host_name="n%d" % rank)
            document["events"][1]["measured_times_ms"] = [0.05 * factor] * 20
            wait_ms = 0 if late is None or rank == late else 0.030
            document["events"].append(event(
                "allreduce", 2, [0.070 + wait_ms] * 20, layer_name="grads", stream="0x2", iterations=list(range(11, 31)),
                op={"kind": "collective", "op": "all_reduce", "comm": "0xabc", "sequence": 0, **sent}))
            for i in range(extras if rank == extra else 0):
                document["events"].append(dict(document["events"][0], event_name="surprise %d" % i,
                                               start_index=6 + 2 * i, end_index=7 + 2 * i))
            (folder / ("n%d.rank%d.prof.json" % (rank, rank))).write_text(json.dumps(document))
        return folder

    def test_a_late_rank_makes_the_others_wait(self):
        done = self.good("ranks", self.write_ranks(8, late=5), "--format", "json")
        report = valid("ranks", done.stdout)
        self.assertEqual((report["devices"], report["slow_devices"], report["stragglers"]),
                         (8, [], []))
        (split,) = report["collectives"]
        self.assertAlmostEqual(split["transfer_us"], 70, 6)
        self.assertAlmostEqual(split["wait_us"], 30 * 7 / 8, 6)
        self.assertEqual(split["last"]["rank"], 5)
        self.assertIsNone(split["predicted_us"])  # the file does not say how much was sent

    def test_a_transfer_stands_beside_its_prediction(self):
        folder = self.write_ranks(8, sent={"bytes": 1 << 25, "ranks": 8, "type": "bf16"})
        h200 = json.loads(run("ranks", folder, "--machine", "h200-sxm-141gb", "--format",
                              "json").stdout)["collectives"][0]["predicted_us"]
        h100 = json.loads(run("ranks", folder, "--machine", "h100-sxm5-80gb", "--format",
                              "json").stdout)["collectives"][0]["predicted_us"]
        self.assertTrue(50 < h200 < 500, h200)  # 32 MiB over NVLink
        self.assertNotEqual(h200, h100)
        text = run("ranks", folder, "--machine", "h200-sxm-141gb").stdout
        self.assertIn("predicted %.2f us: the transfer takes %.2f times that" % (h200, 70 / h200),
                      text)
        done = run("ranks", folder, "--machine", "h300")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_a_slow_device_is_named_as_a_whole_and_event_by_event(self):
        folder = self.write_ranks(8, slow=2)
        report = json.loads(run("ranks", folder, "--format", "json").stdout)
        self.assertEqual([slow["device"]["rank"] for slow in report["slow_devices"]], [2])
        self.assertAlmostEqual(report["slow_devices"][0]["ratio"], 1.5, 1)
        self.assertEqual([(s["device"]["rank"], s["layer"]) for s in report["stragglers"]],
                         [(2, "fc1"), (2, "fc2")])
        text = run("ranks", folder).stdout
        self.assertRegex(text, r"n2 rank 2 device 0: 1.49\d times")

    def test_devices_of_one_name_are_told_apart_by_their_files(self):
        folder = self.path / "copies"
        folder.mkdir()
        for name, factor in [("a", 1), ("b", 1), ("c", 2)]:
            document = profile(100 * factor, host_name="n1")
            document["events"][1]["measured_times_ms"] = [0.05 * factor] * 20
            (folder / (name + ".prof.json")).write_text(json.dumps(document))
        text = run("ranks", folder).stdout
        self.assertRegex(text, r"c.prof.json device 0: 2.0\d\d times")
        self.assertIn("3 files without a rank are of the same devices of host n1", " ".join(text.split()))

    def test_ranks_of_different_programs_are_refused(self):
        self.assert_refused(1, '"fc1 surprise 0" in', "ranks", self.write_ranks(4, extra=3, extras=6))

    def test_ranks_that_differ_in_an_event_are_compared_in_the_others(self):
        report = json.loads(self.good("ranks", self.write_ranks(4, slow=2, extra=3), "--format", "json").stdout)
        self.assertEqual([slow["device"]["rank"] for slow in report["slow_devices"]], [2])
        warning = report["warnings"][0]
        self.assertIn('(1 in one of them only, the first is "fc1 surprise 0" in', warning)

    def test_of_stages_with_a_rank_each_nobody_says_that_none_is_slow(self):
        text = self.good("ranks", self.write_ranks(4, slow=2, extra=3, sent={"op": "send"})).stdout
        self.assertIn("4 devices in 4 stages of a pipeline", text)
        self.assertIn("fewer than three devices in a stage: which is slow cannot be told", text)

    def test_a_file_that_cannot_be_read_is_left_out_and_named(self):
        folder = self.write_ranks(4)
        for name in ["n0.rank0.prof.json", "n3.rank3.prof.json"]:
            text = (folder / name).read_text()
            (folder / name).write_text(text[:-100])
            for command in [["ranks"], []]:
                report = json.loads(run(*command, folder, "--format", "json").stdout)
                self.assertEqual([name in w for w in report["warnings"] if w.startswith("left out: ")],
                                 [True])
                self.assertTrue(any("no file of rank" in w for w in report["warnings"]))
            # A condition is not judged on half a run.
            self.assertEqual(run("check", folder, "--gate", "iteration_ms<12").returncode, 1)
            (folder / name).write_text(text)
        self.assertEqual(json.loads(run("ranks", folder, "--format", "json").stdout)["warnings"], [])

    def test_files_that_cannot_be_read_at_all_are_no_run(self):
        folder = self.write_ranks(2)
        for file in folder.iterdir():
            file.write_text("{")
        for command in [["ranks"], []]:
            self.assert_refused(1, "n0.rank0.prof.json: ", *command, folder)

    def write_layout(self, factor_of):
        """64 ranks of one device, 8 a host and 16 a rack, each of which takes `factor_of(rank)` times as long."""
        folder = self.path / "layout"
        folder.mkdir()
        for rank in range(64):
            factor = factor_of(rank) * (1 + 0.00001 * rank)
            document = profile(100, rank=rank, world_size=64, local_rank=rank % 8,
                               host_name="r%d-n%d" % (rank // 16, rank // 8 % 2))
            document["events"][0]["measured_times_ms"] = [0.1 * factor] * 20
            (folder / ("%d.prof.json" % rank)).write_text(json.dumps(document))
        return folder

    def patterns(self, folder, *options):
        done = self.good("ranks", folder, "--format", "json", *options)
        report = json.loads(done.stdout)
        self.assertEqual(report["stragglers"], [])
        return [(p["dimension"], p["value"], p["devices"]) for p in report["patterns"]]

    def test_a_pattern_is_by_local_rank_rack_or_an_axis_of_the_layout(self):
        for slow, options, expected in [
                (lambda rank: rank % 8 == 5, (), ("local device", "5", 8)),
                (lambda rank: rank // 16 == 2, (), ("rack", "r2", 16)),
                (lambda rank: rank // 8 == 3, (), ("host", "r1-n1", 8)),
                (lambda rank: rank // 4 % 4 == 2, ("--layout", "tp=4,pp=4,dp=4"), ("pp", "2", 16))]:
            folder = self.write_layout(lambda rank, slow=slow: 1.5 if slow(rank) else 1)
            self.assertEqual(self.patterns(folder, *options), [expected])
            shutil.rmtree(folder)

    def test_a_position_whose_devices_lie_on_both_sides_of_the_bar_is_one_pattern(self):
        """Every local rank 5 takes 4 to 6 % longer, rank 13 of them twice as long; rank 20 by itself 1.3 times."""
        folder = self.write_layout(
            lambda rank: {13: 2.0, 20: 1.3}.get(rank, 1.04 + 0.003 * (rank // 8) if rank % 8 == 5 else 1))
        report = json.loads(run("ranks", folder, "--format", "json").stdout)
        (pattern,) = report["patterns"]
        self.assertEqual((pattern["dimension"], pattern["value"], pattern["devices"]), ("local device", "5", 8))
        (event,) = pattern["events"]
        self.assertEqual((event["devices"], event["slow_devices"]), (8, 5))
        self.assertAlmostEqual(event["ratio"], 1.05, 1)
        self.assertEqual([slow["device"]["rank"] for slow in report["stragglers"]], [13, 20])

    def test_a_layout_that_cannot_be_is_refused(self):
        folder = self.write_layout(lambda rank: 1)
        for layout, status, words in [
                ("tp", 2, '--layout: "tp": expected NAME=SIZE'), ("tp=0", 2, '"tp=0": expected NAME=SIZE'),
                ("tp=4,", 2, "varies fastest first"), ("tp=4,tp=16", 2, '"tp" is there twice'),
                ("tp=4,pp=4", 1, "rank 0 of 64, but the layout tp=4,pp=4 has 16 ranks")]:
            self.assert_refused(status, words, "ranks", folder, "--layout", layout)
        file = next(folder.iterdir())
        document = json.loads(file.read_text())
        del document["rank"], document["world_size"]
        file.write_text(json.dumps(document))
        self.assertIn("no rank, which a layout", run("ranks", folder, "--layout", "tp=64").stderr)

    def test_one_file_says_what_cannot_be_said(self):
        folder = self.write_ranks(1)
        self.assertIn("not split   grads allreduce: measured on one device only", self.good("ranks", folder).stdout)
        (file,) = folder.iterdir()
        document = json.loads(file.read_text())
        reduce = document["events"][2]
        document["events"].append(dict(reduce, event_name="allgather", start_index=6, end_index=7, op={**reduce["op"], "sequence": 1}))
        file.write_text(json.dumps(document))
        self.assertIn("not split   grads allgather and 1 more: measured on one device only", self.good("ranks", folder).stdout)


class History(InAFolder):
    """Runs as tests/bench/watched_run.py writes them."""

    def watched(self, story, ranks=8):
        folder = self.path / "watched"
        watched_run.make(folder, ranks, 3, 21.0, story)
        return folder

    def test_a_throttled_gpu_is_named_with_its_readings(self):
        folder = self.watched(["throttled", "restarted"])
        done = run("history", folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), "started again is no doubt")
        words = " ".join(done.stdout.split())
        self.assertIn("8 GPUs from 2026-11-03 06:00 to 2026-11-24 06:00, started 4 times again", words)
        self.assertIn("hardware rank 3 on node00: its own kernels take 1.37", words)
        self.assertIn("SM clock 1410 MHz, its peers 1980", words)
        self.assertRegex(words, r"all kernels of rank 3 became 1.380 times slower \[1.360, 1.400\] at 2026-11-14 "
                                r"19:12, iteration 3,991,680: SM clock 1980 -> 1410 MHz: power cap")
        ranks = run("ranks", folder)
        self.assertIn("8 devices, 16 events each; raw times, the newest of each event", ranks.stdout)
        self.assertIn("hardware    rank 3", ranks.stdout)
        self.assertIn("node00 rank 3 device 0: 1.37", ranks.stdout)
        self.assertNotIn("warning", ranks.stdout)
        valid("ranks", run("ranks", folder, "--format", "json").stdout)

    def test_json_and_perfetto_have_every_series(self):
        folder = self.watched(["throttled"], 4)
        document = valid("history", run("history", folder, "--format", "json").stdout)
        self.assertEqual([rank["rank"] for rank in document["ranks"]], [0, 1, 2, 3])
        self.assertEqual(len(document["ranks"][3]["own_us"]), len(document["columns"]["start_s"]))
        self.assertEqual(document["ranks"][3]["machine"]["sm_clock_mhz"][-1], 1410)
        self.assertEqual([change["ranks"] for change in document["changes"]], [[3]])
        file = sorted(folder.iterdir())[0]
        self.write("simulated.json", dict(json.loads(file.read_text()), simulated=True))
        self.assertIn("watched     SIMULATED GPU", run("history", self.path / "simulated.json").stdout)
        events = json.loads(run("history", folder, "--format", "perfetto").stdout)["traceEvents"]
        counters = {event["name"] for event in events if event["ph"] == "C"}
        self.assertLessEqual({"own_us", "sm_clock_mhz", "decoder.0.mlp"}, counters)

    def test_the_report_says_what_changed(self):
        file = sorted(self.watched(["throttled"]).iterdir())[3]
        words = " ".join(run(file).stdout.split())
        self.assertIn("changed all kernels became 1.380 times slower", words)
        report = valid("report", run(file, "--format", "json").stdout)
        self.assertEqual(len(report["changes"]), 1)
        self.assertIn("changed ", run(file, "--format", "md").stdout)

    def test_a_dataset_has_the_bins(self):
        folder = self.watched([], 1)
        self.assertEqual(run("dataset", folder, "--format", "csv", "-o", self.path / "tables").returncode, 0)
        file, = (self.path / "tables/history").glob("**/*.csv")
        rows = list(csv.DictReader(file.read_text().splitlines()))
        iteration = [row for row in rows if row["event_index"] == ""]
        self.assertEqual(len(rows), 17 * len(iteration))
        self.assertEqual(iteration[0]["samples"], "5000")
        self.assertLess(float(iteration[0]["p05_us"]), float(iteration[0]["median_us"]))

    def test_a_rank_that_is_there_twice_at_once_is_a_doubt(self):
        folder = self.watched([], 2)
        shutil.copy(folder / "node00.rank1.prof.json", folder / "copy.prof.json")
        self.assertIn("2 files say that they are rank 1", run("history", folder).stderr)

    def test_runs_that_were_not_watched_are_refused(self):
        self.assert_refused(1, "%s: /history: missing: expected a run with INLINE_PROF_WATCH" % SMALL, "history", SMALL)


class Scaling(InAFolder):
    def test_scaling_shows_mean_and_slowest_device(self):
        runs = []
        for gpus in [1, 2, 4]:
            folder = self.path / ("gpus%d" % gpus)
            folder.mkdir()
            for rank in range(gpus):
                (folder / ("%d.prof.json" % rank)).write_text(
                    json.dumps(profile(100 + 10 * rank, rank=rank)))
            runs.append(folder)
        done = run("scaling", *runs, "--format", "json", "--event-bias", "off")
        document = valid("scaling", done.stdout)
        rows = document["times"]
        self.assertEqual([row["gpus"] for row in rows if row["layer"] is None], [1, 2, 4])
        of_fc1 = [(row["gpus"], round(row["mean_us"]), round(row["slowest_us"]))
                  for row in rows if row["layer"] == "fc1"]
        self.assertEqual(of_fc1, [(1, 101, 101), (2, 106, 111), (4, 116, 131)])
        table = self.path / "s.csv"
        self.assertEqual(run("scaling", *runs, "--format", "csv", "-o", table).returncode, 0)
        self.assertEqual(len(table.read_text().splitlines()), 1 + len(rows))
        self.assertEqual(run("scaling").returncode, 2)


class OwnFamilies(InAFolder):
    TRACES = SOURCE / "tests/data/real_traces"

    def fit(self, name, *files):
        file = self.path / name
        program = pathlib.Path(PROGRAM).with_name("prof-model")
        done = subprocess.run([program, "fit", "--model", "families", *files, "-o", file], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)
        return file, done

    def test_a_fit_to_own_traces_is_used(self):
        trace = self.TRACES / "v100_16gb_recommender.json.gz"
        file, done = self.fit("mine.json", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"strided +\d+ different  error +[\d.]+ %, was +[\d.]+ %\n")
        self.assertIn("kept as shipped", done.stderr)
        self.assertEqual(self.fit("again.json", trace)[0].read_text(), file.read_text())
        errors = [json.loads(run(trace, "--format", "json", *more).stdout)["mape"]
                  for more in ([], ["--params", file])]
        # The shipped parameters were fitted to the same trace.
        self.assertLessEqual(errors[1], 1.02 * errors[0])

    def test_parameters_of_another_gpu_are_refused(self):
        file, _ = self.fit("mine.json", self.TRACES / "h100_timesformer.json.gz")
        for arguments, status, words in (
                ([SMALL, "--params", file], 1, "ran on h200-sxm-141gb, expected h100-sxm5-80gb, on which --params"),
                ([SMALL, "--params", file, "--params", file], 2, "a second file for h100-sxm5-80gb")):
            self.assert_refused(status, words, *arguments)

    def test_files_without_operations_are_refused(self):
        document = profile(100)
        for event in document["events"]:
            del event["op"]
        _, done = self.fit("mine.json", self.write("p.json", document))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no family has three different launches", done.stderr)


class OptionValues(InAFolder):
    def test_what_is_none_is_refused_with_what_there_is(self):
        for words, *arguments in (
                ("--format: expected one of table, json, csv, md, html, augmented, perfetto, prometheus, tasks, original, "
                 "found htm\n", SMALL, "--format", "htm"),
                ("found 1\n", SMALL, "--format", 1),  # the number behind a name is no name
                ("--models: expected one of calibrated, roofline, published, all, found 7\n", SMALL, "--models", 7),
                ("--despite: expected one of gpu, clocks, mig, driver, libraries, sizes, found gpus\n",
                 "compare", SMALL, SMALL, "--despite", "gpus"),
                *(("--top: expected an integer from 1 to 1000000, found %s\n" % found, SMALL, "--top=" + found)
                  for found in ("abc", "0", "1000001", "-1", "5x")),
                *(("--least: expected a number from 0 to 1000, found %s\n" % found, "ranks", SMALL, "--least=" + found)
                  for found in ("abc", "nan", "-1", "1001"))):
            self.assert_refused(2, words, *arguments)

    def test_the_help_shows_names_alone(self):
        text = " ".join(run("--help").stdout.split())
        self.assertIn("--format TEXT:{table,json,csv,md,html,augmented,perfetto,prometheus,tasks,original}",
                      text)
        self.assertNotIn("->", text)


class Terminal(InAFolder):
    """The output in narrow and wide windows."""

    def setUp(self):
        super().setUp()
        long_name = "a_layer_with_quite_a_name." * 3
        self.before = self.write("before.json", profile(100))
        self.after = self.write("after.json", profile(120))
        document = profile(100)
        document["events"][0]["layer_name"] = long_name
        self.long = self.write("long.json", document)
        self.commands = [[A100, "--machine", "a100-sxm4-40gb", "--layers", A100_LAYERS, "--verbose"],
                         [self.long, "--verbose"], ["compare", self.before, self.after],
                         ["compare", self.long, self.long, "--despite", "gpu"],
                         ["ranks", self.before, self.after, self.long.parent / "before.json"]]

    def lines(self, columns, *arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, check=True,
                              universal_newlines=True, env=dict(os.environ, COLUMNS=str(columns)))
        return done.stdout.splitlines()

    def on_a_terminal(self, *arguments, **environment):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("COLUMNS", "NO_COLOR")}
        with subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=theirs, stderr=theirs,
                              env=dict(clean, **{"TERM": "xterm", **environment})) as process:
            os.close(theirs)
            text = b""
            while True:
                try:
                    more = os.read(ours, 65536)
                except OSError:  # Linux: the other end is closed
                    break
                if not more:
                    break
                text += more
        os.close(ours)
        return text.decode()

    def test_no_line_is_longer_than_the_window(self):
        for arguments in self.commands:
            lines = self.lines(80, *arguments)
            # A path has no place to break it at.
            self.assertEqual([line for line in lines if len(line) > 80 and "/" not in line], [])

    def test_a_wide_window_has_a_line_for_each_row(self):
        wide = self.lines(200, *self.commands[0])
        self.assertTrue(any(line.startswith("TopMLP.fc5  fused_fully_connected.bprop #2 ") and
                            "195.55" in line for line in wide))
        self.assertTrue(any("fc1 " in line and "% slower" in line
                            for line in self.lines(200, *self.commands[2])))
        self.assertEqual([line for line in wide if len(line) > 200 and "/" not in line], [])

    def test_colours_are_for_terminals(self):
        compare = self.commands[2]
        self.assertRegex(self.on_a_terminal(*compare), r"\x1b\[31m> [0-9.]+ % slower\x1b\[0m")
        self.assertNotIn("\x1b", self.on_a_terminal(*compare, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_a_terminal(*compare, TERM="dumb"))
        self.assertNotIn("\x1b", run(*compare).stdout)
        document = json.loads(pathlib.Path(A100).read_text())
        for event in document["events"]:
            if event["name"].endswith("bprop.cublasGemmEx_2"):
                event["measured_times_ms"] = [3 * ms for ms in event["measured_times_ms"]]
        slow = self.path / "slow.json"
        slow.write_text(json.dumps(document))
        report = self.on_a_terminal(slow, *self.commands[0][1:])
        self.assertIn("\x1b[31m> slower\x1b[0m", report)
        self.assertIn("= as predicted", report)

    def test_the_terminals_own_width_counts(self):
        rules = [line for line in self.on_a_terminal(*self.commands[0]).splitlines()
                 if line.startswith("-----")]
        self.assertEqual({len(line) for line in rules}, {100})


class Formats(InAFolder):
    def test_rows_are_chosen_only_where_there_is_a_table(self):
        for option in (["--layer", "MLP*"], ["--top", 1]):
            self.assertEqual(run(SMALL, *option, "--format", "md").returncode, 0)
            for name in ("json", "csv", "html", "original"):
                self.assert_refused(2, "only --format table and md leave rows out, not " + name, SMALL, *option, "--format", name)

    def test_markdown_has_no_html_in_it(self):
        evil = profile(100)
        evil["events"][0]["layer_name"] = "</table><img src=x onerror=alert(1)>|&lt;"
        _, _, text = run(self.write("p.json", evil), "--format", "md").stdout.split("```\n")
        self.assertNotIn("<", text)
        self.assertIn("&lt;/table>&lt;img src=x onerror=alert(1)>\\|&amp;lt;", text)

    def test_the_trace_has_every_event_that_was_measured(self):
        schema = json.loads((SOURCE / "tests/data/schemas/trace_events.schema.json").read_text())
        for arguments in [[SMALL], [A100, "--machine", "a100-sxm4-40gb", "--layers", A100_LAYERS]]:
            trace = json.loads(run(*arguments, "--format", "perfetto").stdout)
            jsonschema.Draft7Validator(schema).validate(trace)
            rows = json.loads(run(*arguments, "--format", "json").stdout)["rows"]
            bars = [e for e in trace["traceEvents"] if e["ph"] == "X"]
            self.assertEqual(sum("verdict" in bar["args"] for bar in bars),
                             sum(row["in_iteration_us"] is not None for row in rows))
            self.assertEqual(sum("model" in bar["args"] for bar in bars),
                             sum(row["in_iteration_us"] is not None and
                                 row["predicted_us"] is not None for row in rows))
            # Complete events of a thread must nest or follow each other.
            by_thread = {}
            for bar in bars:
                if "verdict" in bar["args"]:
                    by_thread.setdefault((bar["pid"], bar["tid"]), []).append(bar)
            for thread in by_thread.values():
                thread.sort(key=lambda bar: bar["ts"])
                for first, second in zip(thread, thread[1:]):
                    self.assertLess(first["ts"] + first["dur"], second["ts"] + 1e-6)

    def test_kernels_of_a_trace_are_summed_up(self):
        for name in ("h100_bert_small", "h100_falconsai_vit", "h100_qwen1.5_0.5b", "h100_timesformer"):
            file = SOURCE / ("tests/data/real_traces/%s.json.gz" % name)
            report = json.loads(run(file, "--format", "json").stdout)
            rows = [row for row in report["rows"] if row["predicted_ci90_us"]]
            found = report["calibrated"]
            self.assertEqual(found["rows"], len(rows))
            self.assertAlmostEqual(found["measured_us"], sum(row["in_iteration_us"] for row in rows), 3)
            self.assertAlmostEqual(found["predicted_us"], sum(row["predicted_us"] for row in rows), 3)
            lower, upper = found["predicted_ci90_us"]
            self.assertTrue(lower < found["measured_us"] < upper, name)
            self.assertTrue(lower < found["predicted_us"] < upper, name)
            self.assertIn("kernels     %.3f ms measured, " % (found["measured_us"] / 1e3), run(file, "--verbose").stdout)
        self.assertNotIn("\nkernels ", run(SMALL, "--verbose").stdout)

    def test_augmented_is_the_trace_with_predictions(self):
        file = SOURCE / "tests/data/real_traces/h100_bert_small.json.gz"
        before = gzip.open(file).read().decode()
        after = run(file, "--format", "augmented").stdout
        works = [event for event in json.loads(after)["traceEvents"]
                 if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
        self.assertEqual(len(works), 61)
        for work in works:
            args = work["args"]
            self.assertAlmostEqual(args["ratio"], work["dur"] / args["predicted_us"])
            self.assertTrue(args["predicted_lower_us"] < args["predicted_us"] < args["predicted_upper_us"])
            self.assertIn(args["limit"], ("launch", "memory", "compute", "link"))
        self.assertTrue(any("pad it to 30528" in work["args"].get("reason", "") for work in works))
        self.assertEqual(re.sub(r', "predicted_us":[^}]*', "", after), before, "byte for byte")
        output = self.path / "out.json.gz"
        run(file, "--format", "augmented", "-o", output)
        self.assertEqual(gzip.open(output).read().decode(), after)
        other = run(SOURCE / "tests/data/real_traces/b200_gptoss_vllm.json.gz", "--format", "augmented").stdout
        verdicts = {event["args"]["verdict"] for event in json.loads(other)["traceEvents"] if "verdict" in event.get("args", {})}
        self.assertIn("no prediction", verdicts)
        self.assertFalse([verdict for verdict in verdicts if ":" in verdict], "reasons have a key of their own")
        for arguments in [[SMALL], [file, file]]:
            self.assert_refused(2, "--format augmented: expected one trace of torch.profiler, found",
                                *arguments, "--format", "augmented")

    def test_prometheus_reads_the_metrics(self):
        evil = profile(100, host_name='a"b\\c\nd')
        evil["events"][0]["layer_name"] = 'x"y\\z\n{}'
        text = run(self.write("p.json", evil), "--format", "prometheus").stdout
        self.assertIn('layer="x\\"y\\\\z?{}"', text)
        promtool = shutil.which("promtool")
        for arguments in [[SMALL], [self.path / "p.json"], [A100]]:
            text = run(*arguments, "--format", "prometheus").stdout
            for line in text.splitlines():
                self.assertRegex(line, r'^(# (HELP|TYPE) inline_prof_[a-z_]+ .+|'
                                       r'inline_prof_[a-z_]+\{.*\} [-+0-9.e]+)$')
            names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
            self.assertEqual(len(names), len(set(names)))
            if promtool:
                done = subprocess.run([promtool, "check", "metrics"], input=text,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      universal_newlines=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
