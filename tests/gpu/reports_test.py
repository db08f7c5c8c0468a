"""The parts of the GPU checks that need no GPU: comparing counts and joining durations."""

import contextlib
import copy
import pathlib
import sqlite3
import tempfile
import types
import unittest
import unittest.mock

import allreduce_ranks
import end_to_end
import host_program
import launch_census
import library_calls
import library_kernels
import overhead
import paced_loop
import pair_bias_report
import training


def census(kernels, graphs):
    return {"driver_calls": {"cuLaunchKernel": kernels - 10, "cuLaunchKernelEx": 10,
                             "cuGraphLaunch": graphs}, "errors": []}


def profile(kernels, graphs=4):
    return {"overhead": {"launches_seen": kernels, "graph_launches_seen": graphs}}


class LaunchCensus(unittest.TestCase):
    def test_equal_counts_pass(self):
        words = launch_census.compare(census(100, 4), profile(100), census(164, 4), profile(100))
        self.assertIn("CUPTI (100, 4), library (100, 4); side by side: CUPTI (164, 4)", words)

    def test_a_launch_that_the_library_missed_fails(self):
        with self.assertRaises(host_program.Failure):
            launch_census.compare(census(100, 4), profile(99), census(100, 4), profile(100))

    def test_a_graph_launch_that_the_library_missed_fails(self):
        with self.assertRaises(host_program.Failure):
            launch_census.compare(census(100, 4), profile(100), census(100, 4), profile(100, 3))

    def test_a_launch_that_disappears_beside_cupti_fails(self):
        with self.assertRaises(host_program.Failure):
            launch_census.compare(census(100, 4), profile(100), census(99, 4), profile(100))

    def test_a_replay_that_disappears_beside_cupti_fails(self):
        with self.assertRaises(host_program.Failure):
            launch_census.compare(census(100, 4), profile(100), census(100, 3), profile(100))

    def test_launches_of_the_librarys_calibration_may_come_on_top(self):
        launch_census.compare(census(100, 4), profile(100), census(229, 134), profile(100))

    def test_no_launch_at_all_fails(self):
        with self.assertRaises(host_program.Failure):
            launch_census.compare({"driver_calls": {}, "errors": []}, profile(0),
                                  {"driver_calls": {}, "errors": []}, profile(0))

    def test_a_cupti_that_refuses_skips(self):
        refused = {"driver_calls": {}, "errors": ["cuptiSubscribe: somebody else"]}
        with self.assertRaises(host_program.Skip):
            launch_census.compare(refused, profile(100), census(100, 4), profile(100))


class HostProgram(unittest.TestCase):
    def test_ends_are_told_apart(self):
        def shell(words):
            return host_program.run(["sh", "-c", words], {}, 5)
        self.assertEqual(shell("echo out; echo words >&2"), ("out\n", "words"))
        for words, error, said in (("echo why >&2; exit 77", host_program.Skip, "why"),
                                   ("echo why >&2; exit 3", host_program.Failure, "exit status 3: why"),
                                   ("echo 'error while loading shared libraries' >&2; exit 127",
                                    host_program.Skip, "shared libraries"),
                                   ("no_such_command_here", host_program.Failure, "exit status 127")):
            with self.assertRaisesRegex(error, said):
                shell(words)
        with self.assertRaisesRegex(host_program.Failure, "still running after 0.2 s"):
            host_program.run(["sleep", "5"], {}, 0.2)
        with self.assertRaisesRegex(host_program.Skip, "no such program"):
            host_program.run(["/nonexistent/program"], {}, 1)

    def test_a_failure_is_told_in_the_programs_words(self):
        for script, words in (("echo cause >&2; echo end >&2; echo 'inline_prof: ended' >&2; exit 1", "1: cause [|] end$"),
                              ("echo 'inline_prof: ended' >&2; exit 1", "1: inline_prof: ended$"),
                              ("echo 'FAIL: loss'; exit 1", "1: FAIL: loss$"), ("exit 1", "nothing said")):
            with self.assertRaisesRegex(host_program.Failure, words):
                host_program.run(["sh", "-c", script], {}, 5)

    def test_settings_of_others_do_not_reach_it(self):
        with unittest.mock.patch.dict("os.environ", {"INLINE_PROF_WARMUP": "7", "PROFILING_DIR": "x"}):
            told = host_program.run(["sh", "-c", "env"], host_program.injected("/g", "o", repeat=3), 5)
        self.assertNotIn("INLINE_PROF_WARMUP", told.stdout)
        self.assertNotIn("PROFILING_DIR", told.stdout)
        for line in ("CUDA_INJECTION64_PATH=/g", "INLINE_PROF_OUT=o", "INLINE_PROF_REPEAT=3"):
            self.assertIn(line + "\n", told.stdout)


class PacedLoop(unittest.TestCase):
    LENGTHS_US = [100 + 20 * (i * i % 5) for i in range(60)]

    def census(self, lengths_us):
        starts, now = [0], 0
        for length in lengths_us:
            now += int(length * 1000)
            starts.append(now)
        return {"errors": [], "starts": {"_ZN1a6beginsEv": starts, "other": [1]}}

    def profile(self, lengths_us):
        return {"iter_time_ms": [length * 1e-3 for length in lengths_us]}

    def test_the_warm_up_is_left_out_wherever_it_ends(self):
        words = paced_loop.compare_iterations(self.profile(self.LENGTHS_US[8:]),
                                              self.census(self.LENGTHS_US))
        self.assertIn("52 iterations of 100 to 180 us: median difference 0.00 us", words)

    def test_times_that_are_off_fail(self):
        longer = [length + 4 for length in self.LENGTHS_US]
        with self.assertRaisesRegex(host_program.Failure, "median difference 4.00 us"):
            paced_loop.compare_iterations(self.profile(longer), self.census(self.LENGTHS_US))
        wild = [length * (1.2 if i % 8 == 0 else 1) for i, length in enumerate(self.LENGTHS_US)]
        with self.assertRaisesRegex(host_program.Failure, "median difference 0.00 us"):
            paced_loop.compare_iterations(self.profile(wild), self.census(self.LENGTHS_US))
        with self.assertRaisesRegex(host_program.Failure, "only 3 iteration times"):
            paced_loop.compare_iterations(self.profile([1, 2, 3]), self.census(self.LENGTHS_US))

    def backend(self, times_ms, tight=True, **kernels):
        events = [{"kernel_name": name, "measured_times_ms": times, "tight": [tight] * len(times)}
                  for name, times in {"k": times_ms, **kernels}.items()]
        return {"events": events, "dropped": {"cuda_errors": 0}, "warnings": [],
                "calibration": [{"state": "idle", "empty_pair_us": {"median": 4.0, "count": 64}},
                                {"state": "busy", "empty_pair_us": {"median": 1.0, "count": 64}}]}

    def test_backends_are_compared_less_their_empty_pairs(self):
        paced_loop.compare_backends(self.backend([0.021]), self.backend([0.024], tight=False))
        for other in (self.backend([0.024]), self.backend([0.021], more=[0.1]), self.backend([])):
            with self.assertRaises(host_program.Failure):
                paced_loop.compare_backends(self.backend([0.021]), other)

    def test_a_context_that_was_not_calibrated_fails(self):
        profile = self.backend([0.02])
        self.assertEqual(paced_loop.check_calibration(profile), "busy 1.00 us, idle 4.00 us")
        profile["calibration"].pop()
        with self.assertRaisesRegex(host_program.Failure, "state busy"):
            paced_loop.check_calibration(profile)


class PairBiasReport(unittest.TestCase):
    ROWS = [{"state": "idle", "kernel": "", "target_us": 0, "tight": 0, "pair_us": [2, 3, 4],
             "inner_us": [0, 0, 0]},
            {"state": "idle", "kernel": "spin", "target_us": 5, "tight": 1, "pair_us": [9, 10, 11],
             "inner_us": [5, 5, 5]},
            {"state": "busy", "kernel": "spin", "target_us": 5, "tight": 2, "pair_us": [8, 8],
             "inner_us": [5, 5]}]

    def setUp(self):
        self.rows = copy.deepcopy(self.ROWS)

    def test_durations_are_joined_in_launch_order(self):
        activities = {"_ZN1a4spinElPv": [7000, 7100, 7200, 6000, 6200], "hold": [1]}
        self.assertEqual(pair_bias_report.attach_durations(self.rows, activities), [])
        self.assertEqual(self.rows[1]["cupti_us"], [7.0, 7.1, 7.2])
        self.assertEqual(self.rows[2]["cupti_us"], [6.0, 6.2])
        lines = pair_bias_report.summarise({"rows": self.ROWS}, self.rows)
        self.assertIsNone(lines[0]["pair_minus_cupti_us"])
        self.assertAlmostEqual(lines[1]["pair_minus_cupti_us"], 10 - 7.1)
        self.assertAlmostEqual(lines[1]["pair_minus_inner_us"], 5)
        self.assertAlmostEqual(lines[2]["cupti_minus_inner_us"], 1.1)

    def test_a_missing_record_leaves_the_kernel_out(self):
        self.assertEqual(pair_bias_report.attach_durations(self.rows, {"4spin": [7000]}), ["spin"])
        self.assertNotIn("cupti_us", self.rows[1])

    def test_a_pair_shorter_than_its_kernel_is_found(self):
        lines = pair_bias_report.summarise({"rows": self.rows}, None)
        self.assertEqual(pair_bias_report.too_short(lines, 32), [])
        self.rows[2]["pair_us"] = [4.4, 4.4]
        lines = pair_bias_report.summarise({"rows": self.rows}, None)
        self.assertEqual(pair_bias_report.too_short(lines, 32), [lines[2]])


class EndToEnd(unittest.TestCase):
    def report(self, path_us=100.0, predicted=60.0, measured=30.0):
        return {"iteration_us": 100.0, "longest_path_us": path_us, "longest_path_reason": "cyclic",
                "shares": {"predicted": predicted, "measured": measured, "seen": 0.0,
                           "idle": 100 - predicted - measured}, "shares_reason": None}

    def test_five_percent_either_way(self):
        for path_us, word in ((104.9, "PASS"), (95.1, "PASS"), (105.1, "FAIL"), (94.9, "FAIL")):
            self.assertEqual(end_to_end.rebuilt(self.report(path_us))[0], word)
        self.assertEqual(end_to_end.rebuilt(self.report(None)),
                         ("SKIP", "no iteration to compare: cyclic"))

    def test_a_report_without_a_chain_settles_nothing(self):
        chain = self.report() | {"event_bias_source": "chain", "event_bias_us": 1.43}
        auto = {"event_bias_us": 1.0}
        self.assertEqual(end_to_end.rebuilt_by_chain(chain, auto)[0], "PASS")
        self.assertEqual(end_to_end.rebuilt_by_chain(chain | {"longest_path_us": 106.0}, auto)[0], "FAIL")
        self.assertEqual(end_to_end.rebuilt_by_chain(chain | {"event_bias_source": "calibration"}, auto)[0], "SKIP")
        self.assertEqual(end_to_end.rebuilt_by_chain(chain, chain)[0], "SKIP")

    def test_what_is_measured_counts_with_or_without_a_prediction(self):
        self.assertEqual(end_to_end.explained(self.report())[0], "PASS")
        word, text = end_to_end.explained(self.report(measured=29.0))
        self.assertEqual(word, "FAIL")
        self.assertIn("11.0 % idle or not seen", text)
        self.assertEqual(end_to_end.explained({"shares": None, "shares_reason": "no iterations"})[0], "SKIP")


class LibraryCalls(unittest.TestCase):
    KNOWN = {"a": [{"event": "gemm", "op": {"kind": "gemm", "m": 1, "n": 2}}],
             "b": [{"event": "gemm", "op": {"kind": "gemm", "m": 3, "n": 4}, "or": {"m": 4, "n": 3}}],
             "by algorithm *": [{"event": "conv", "op": {"kind": "conv", "algo": "*"}}],
             "sum": [{"event": "all", "ranks": "several", "of_all_ranks": True,
                      "op": {"kind": "collective", "bytes": 8}},
                     {"event": "all", "ranks": "one", "times": 2, "op": {"kind": "collective", "bytes": 4}}]}

    def event(self, index, name="gemm", device=0, **op):
        return {"event_name": name, "device_id": device, "start_index": index, "kernel_names": ["k"], "kernel_name": "k",
                "grid": [2, 3, 1], "op": {"kind": "gemm", **op}}

    def faults(self, calls, events, ranks=1, told=True):
        return library_calls.judge(self.KNOWN, calls, ranks, {"events": events}, told)[1]

    def test_calls_find_their_events_in_any_order(self):
        events = [self.event(2, m=1, n=2), self.event(0, m=4, n=3)]
        self.assertEqual(self.faults(["a", "b"], events), [])

    def test_a_field_that_differs_is_told_and_spoils_no_other(self):
        events = [self.event(0, m=1, n=7), self.event(2, m=3, n=4)]
        self.assertEqual(self.faults(["a", "b"], events), ["a: n 7, expected 2"])
        events[0].pop("op")
        self.assertEqual(self.faults(["a", "b"], events), ["a: no operation"])

    def test_missing_and_further_events_are_told(self):
        self.assertEqual(self.faults(["a"], []), ["a: no event gemm is left for it"])
        events = [self.event(0, m=1, n=2), self.event(2, m=9, n=9)]
        self.assertEqual(self.faults(["a"], events), ['gemm: nobody asked for {"kind": "gemm", "m": 9, "n": 9}'])
        self.assertEqual(self.faults(["a"], events, told=False), [])
        self.assertEqual(self.faults(["c"], events, told=False), ["c: library_calls.json does not know it"])

    def test_expectations_follow_names_and_ranks(self):
        ops = [event["ops"][0] for event in library_calls.expected_of(self.KNOWN, "by algorithm 7", 1)]
        self.assertEqual(ops, [{"kind": "conv", "algo": 7}])
        ops = [event["ops"][0] for event in library_calls.expected_of(self.KNOWN, "sum", 2)]
        self.assertEqual(ops, [{"kind": "collective", "bytes": 16, "ranks": 2}])
        self.assertEqual(len(library_calls.expected_of(self.KNOWN, "sum", 1)), 2)
        on_both = [self.event(i, name="all", device=i, bytes=16, ranks=2) for i in (0, 1)]
        for event in on_both:
            event["op"]["kind"] = "collective"
        self.assertEqual(self.faults(["sum"], on_both, ranks=2), [])
        on_both[1]["op"]["bytes"] = 8
        self.assertEqual(self.faults(["sum"], on_both, ranks=2), ["sum on GPU 1: bytes 8, expected 16"])

    def test_what_may_be_a_copy_on_one_rank_is_no_failure(self):
        known = {"sum": [{"event": "all", "op": {"kind": "collective", "op": "all_reduce", "bytes": 4}}],
                 "sends": [{"event": "group", "op": {"kind": "collective", "op": "group", "bytes": 8}}]}

        def words(copies, ranks=1, calls=("sum", "sends"), events=("group",)):
            host = types.SimpleNamespace(
                name="nccl", trouble=None, calls=[], profile={"events": [
                    {**self.event(i, name=name), "op": {"kind": "collective", "op": "group", "bytes": 8, "ranks": ranks}}
                    for i, name in enumerate(events)]},
                said={"ranks": [(str(ranks), "")], "call": [(call, "") for call in calls]}.get)
            host.said = lambda word, said=host.said: said(word, [])
            return [(word, text) for word, text in library_calls.judge_host(host, known, copies)[0]]

        (skip, text), (passed, _) = words(None)
        self.assertEqual((skip, passed), ("SKIP", "PASS"))
        self.assertIn("sum: no event with 1 rank", text)
        self.assertEqual([word for word, _ in words({"sum"})], ["SKIP", "PASS"])
        for lines in (words(set()), words(None, ranks=2), words(None, events=()), words(None, calls=("sends", "other"))):
            self.assertEqual(lines[-1][0], "FAIL", lines)
        self.assertEqual([word for word, _ in words(None, calls=("sum",), events=())], ["SKIP"])

    def test_what_nccl_launches_did_not_say_is_not_known(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "nccl_launches.txt"
            self.assertIsNone(library_calls.copies_of(path))
            path.write_text("SKIP nothing\n")
            self.assertIsNone(library_calls.copies_of(path))
            path.write_text("FIGURE 43: broadcast, ranks 2: kernels launched in: 2 ncclBroadcast\n")
            self.assertEqual(library_calls.copies_of(path), set())
            path.write_text("FIGURE 43: all_reduce, ranks 1: launches no kernel\n")
            self.assertEqual(library_calls.copies_of(path), {"all_reduce"})

    def test_kernels_of_older_drivers_must_have_names(self):
        def profile(version, *names):
            return {"devices": [{"cuda_version": version}], "events": [{"kernel_names": list(names)}]}
        self.assertEqual(library_calls.judge_names([profile("12.3", "k")])[0], "SKIP")
        self.assertEqual(library_calls.judge_names([profile("12.2", "k")])[0], "PASS")
        self.assertEqual(library_calls.judge_names([profile("12.2", "k", "kernel_without_a_name~2")])[0], "FAIL")
        self.assertEqual(library_calls.judge_names([])[0], "SKIP")


class LibraryKernels(unittest.TestCase):
    def row(self, call, **op):
        return {"call": call, "op": op, "kernel": "k", "kernels": ["k"], "grid": [2, 3, 1], "about": ""}

    def test_the_analyzer_is_asked_for_the_kernel_it_looks_at(self):
        product = self.row("a", kind="gemm", m=8, n=9, k=10, batch=2)
        self.assertEqual(library_kernels.question(product), "gemm 0 0 1 8 9 10 2 6 k")
        convolution = self.row("b", kind="conv", r=3, s=5, stride=[2, 1])
        self.assertEqual(library_kernels.question(convolution), "conv 3 5 2 1 1 1 1 6 k")

    def test_a_row_without_a_kernels_name_leaves_the_others(self):
        rows = [self.row("a", kind="gemm", m=8, n=9, k=10, batch=1), self.row("b", kind="gemm", m=8, n=9, k=10, batch=1)]
        rows[0]["kernel"] = ""
        answers = library_kernels.ask("cat", rows)
        self.assertEqual(answers, [library_kernels.UNNAMED, "gemm 0 0 1 8 9 10 1 6 k".split()])
        self.assertEqual([word for word, _ in library_kernels.summaries(rows, answers)], ["SKIP", "PASS", "SKIP", "FIGURE"])
        rows[1]["kernel"] = None
        self.assertEqual(library_kernels.ask("cat", rows), 2 * [library_kernels.UNNAMED])
        self.assertNotIn("PASS", [word for word, _ in library_kernels.summaries(rows, 2 * [library_kernels.UNNAMED])])

    def test_only_the_simulated_gpu_is_set_beside_the_real_one(self):
        simulated = "GPU-73696d67-7075-4000-8000-000000000000"
        self.assertTrue(library_kernels.is_simulated({"gpus": [simulated]}))
        for gpus in ([], [simulated, "GPU-01234567-89ab"], ["GPU-01234567-89ab"]):
            self.assertFalse(library_kernels.is_simulated({"gpus": gpus}))

    def test_names_that_tell_too_little_fail(self):
        rows = [self.row("a", kind="gemm", m=8, n=9, k=10, batch=1), self.row("v", kind="gemm", m=1, n=9, k=10, batch=1),
                self.row("forward by algorithm 7", kind="conv"), self.row("graph forward", kind="conv")]
        good = [["64x64", "64x64", "1"], ["-", "-", "-"], ["winograd_nonfused", "-"], ["implicit_gemm", "64x64"]]
        self.assertEqual([word for word, _ in library_kernels.summaries(rows, good)], ["PASS", "PASS", "FIGURE"])
        bad = [["-", "-", "-"], ["-", "-", "-"], ["winograd", "-"], ["-", "-"]]
        (gemm, gemm_text), (conv, conv_text), _ = library_kernels.summaries(rows, bad)
        self.assertEqual((gemm, conv), ("FAIL", "FAIL"))
        self.assertIn("1 of 2 products", gemm_text)
        self.assertIn("a: k: no tile in the name", gemm_text)
        self.assertIn("forward by algorithm 7: k: taken for winograd, expected winograd_nonfused", conv_text)
        self.assertIn("graph forward: k: known for no convolution", conv_text)


class AllreduceRanks(unittest.TestCase):
    def profiles(self):
        def event(place, length_ms, start_ms):
            return {"event_name": "all_reduce", "met_times_within_this_stream": place, "calls": 1,
                    "measured_times_ms": [length_ms] * 3, "iter_start_to_event_start_times_ms": [start_ms] * 3,
                    "op": {"kind": "collective", "op": "all_reduce", "count": 4096 * 4096, "bytes": 1 << 25,
                           "type": "f16", "ranks": 2, "sequence": place, "comm": "0x1", "source": "ncclAllReduce"}}
        # The late rank's iterations begin 0.2 ms later.
        return [{"rank": 0, "events": [event(i, 0.6 + 0.1 * i, 1.0 + i) for i in range(4)]},
                {"rank": 1, "events": [event(i, 0.1, 1.3 + 1.1 * i) for i in range(4)]}]

    def test_collectives_that_end_together_pass(self):
        profiles = self.profiles()
        self.assertIn("4 ncclAllReduce", allreduce_ranks.check_events(profiles))
        self.assertIn("begin 200 us before", allreduce_ranks.check_waiting(profiles))

    def test_what_is_missing_or_differs_fails(self):
        for change, words in ((lambda rank: rank["events"].pop(), "rank 1 has 3 events"),
                              (lambda rank: rank["events"][2]["op"].update(ranks=1), "#2: ranks 1, expected 2"),
                              (lambda rank: rank["events"][0]["op"].update(comm="0x2"), "ranks differ"),
                              (lambda rank: rank["events"][0].pop("op"), "#0: kind None, expected collective"),
                              (lambda rank: rank.update(rank=0), "says rank 0")):
            profiles = self.profiles()
            change(profiles[1])
            with self.assertRaisesRegex(host_program.Failure, words):
                allreduce_ranks.check_events(profiles)

    def test_a_wait_that_is_not_seen_fails(self):
        for place, length_ms in ((3, 0.1), (1, 0.5), (2, None)):
            profiles = self.profiles()
            profiles[0]["events"][place]["measured_times_ms"] = [] if length_ms is None else [length_ms] * 3
            with self.assertRaises(host_program.Failure):
                allreduce_ranks.check_waiting(profiles)

    def test_weights(self):
        self.assertIn("sum of all weights", allreduce_ranks.check_weights("x\nPASS: the sum of all weights is 1\n"))
        with self.assertRaises(host_program.Failure):
            allreduce_ranks.check_weights("FAIL: the sum of all weights is 1 to 2")
        with self.assertRaises(host_program.Skip):
            allreduce_ranks.check_weights("simulated GPU: not checked")


class Overhead(unittest.TestCase):
    def test_a_drift_cancels_in_the_pattern(self):
        blocks = [("off", 100.0), ("on", 111.0), ("on", 112.0), ("off", 103.0)] * 2
        self.assertEqual(len(overhead.quads(blocks)), 2)
        self.assertAlmostEqual(overhead.quads(blocks)[0], 223 / 203)

    def test_another_pattern_is_refused(self):
        with self.assertRaises(ValueError):
            overhead.quads([("off", 1.0), ("on", 1.0), ("off", 1.0), ("on", 1.0)])

    def test_an_unfinished_pattern_is_left_out(self):
        self.assertEqual(overhead.quads([("off", 1.0), ("on", 1.0), ("on", 1.0)]), [])

    def test_the_interval_holds_the_mean_and_shrinks(self):
        wide = overhead.interval([1.0, 1.02, 0.99, 1.01])
        narrow = overhead.interval([1.0, 1.02, 0.99, 1.01] * 25)
        for mean, low, high in (wide, narrow):
            self.assertAlmostEqual(mean, 0.005)
            self.assertTrue(low < mean < high)
        self.assertLess(narrow[2] - narrow[1], wide[2] - wide[1])

    def test_goals(self):
        self.assertIs(overhead.judge_measuring((0.0005, 0.0, 0.001)), True)
        self.assertIs(overhead.judge_measuring((0.002, 0.0015, 0.0025)), False)
        self.assertIsNone(overhead.judge_measuring((0.0005, -0.004, 0.005)))  # too wide to tell
        self.assertTrue(overhead.judge_afterwards((0.001, -0.001, 0.002)))
        self.assertFalse(overhead.judge_afterwards((0.002, 0.001, 0.003)))


class TrainingTest(unittest.TestCase):
    KERNELS = ["batch", "forward", "forward", "update"]

    @staticmethod
    def profile(kernels, source="auto", time_ms=0.5, layers=None):
        return {"profiler": {"iteration_source": source, "iteration_confidence": 1},
                "dropped": {"irregular_iteration": 0}, "warnings": ["nothing repeats"],
                "iter_time_ms": [time_ms] * 90,
                "events": [{"start_index": 2 * i, "kernel_names": [kernel], "event_name": kernel, "grid": [1, 1, 1],
                            "layer_name": (layers or {}).get(i, ""), "iterations": []}
                           for i, kernel in enumerate(kernels)]}

    def failure(self, check, *arguments):
        with self.assertRaises(training.Failure) as caught:
            check(*arguments)
        return str(caught.exception)

    def test_the_found_iteration_is_the_marked_one(self):
        marked = self.profile(self.KERNELS, "macro")
        self.assertIn("500.0 us found", training.compare_iterations(self.profile(self.KERNELS), marked))
        turned = self.profile(self.KERNELS[3:] + self.KERNELS[:3])
        self.assertIn("begin 3 of 4", self.failure(training.compare_iterations, turned, marked))
        self.assertIn("launch 4 of 8 is batch", self.failure(training.compare_iterations,
                                                             self.profile(2 * self.KERNELS), marked))
        self.assertIn("more than 10 % apart", self.failure(training.compare_iterations,
                                                           self.profile(self.KERNELS, time_ms=1), marked))
        self.assertIn("nothing repeats", self.failure(training.compare_iterations,
                                                      self.profile(self.KERNELS, "none"), marked))
        with self.assertRaises(training.Skip):
            training.compare_iterations(marked, marked)

    def test_other_events_leave_the_first_kernel(self):
        marked = self.profile(["region", *self.KERNELS], "macro")
        found = self.profile(self.KERNELS)
        self.assertTrue(training.compare_iterations(found, marked, ("batch", "update")))
        self.assertIn("begin with batch", self.failure(training.compare_iterations, found, marked, ("update",)))

    def test_iterations_are_counted(self):
        self.assertIn("90 of 100", training.count_iterations(self.profile(self.KERNELS * 100), 100))
        for steps in (89, 200):
            self.failure(training.count_iterations, self.profile(self.KERNELS * 100), steps)

    def budgeted(self, iterations, interval):
        profile = self.profile(["a"], time_ms=1)
        profile["events"][0]["iterations"] = iterations
        profile["calibration"] = [{"state": "busy", "empty_pair_us": {"median": 4.0},
                                   "empty_kernel_pair_us": {"median": 7.0}, "added_kernel_us": {"median": 2.0}}]
        profile["overhead"] = {"slowdown_percent": sum(interval) / 2, "slowdown_percent_ci95": interval}
        return profile

    def test_a_budget_is_kept_by_pairs_and_by_the_measured_overhead(self):
        every_second = list(range(1, 101, 2))  # a pair of 10 us in 2 ms
        for interval, word in (((0.9, 1.05), "PASS"), ((0.5, 1.5), "SKIP"), ((1.2, 1.3), "FAIL")):
            self.assertEqual(training.judge_budget(self.budgeted(every_second, interval), 0.5)[0], word)
        self.assertEqual(training.judge_budget(self.budgeted(every_second, (0.9, 1.1)), 0.4)[0], "FAIL")
        unmeasured = self.budgeted(every_second, (0, 0))
        unmeasured["overhead"] = {"slowdown_percent_ci95": None, "method": "not measured"}
        self.assertEqual(training.judge_budget(unmeasured, 1)[0], "SKIP")
        self.failure(training.judge_budget, self.budgeted([], (0, 0)), 1)

    def test_files_of_nsight_systems_do_not_stay(self):
        reports = []

        def nsys(command, *_):
            reports.append(pathlib.Path(command[command.index("-o") + 1]))
            with contextlib.closing(sqlite3.connect(reports[-1].with_suffix(".sqlite"))) as database, database:
                database.execute("CREATE TABLE NVTX_EVENTS (eventType INT)")
                database.executemany("INSERT INTO NVTX_EVENTS VALUES (?)", 2 * [(training.NVTX_PUSH_POP,)])
            return host_program.Ended('{"ranges": 2}', "")

        with tempfile.TemporaryDirectory() as work, \
                unittest.mock.patch.object(training.shutil, "which", lambda _: "nsys"), \
                unittest.mock.patch.object(training, "run", nsys):
            checks = training.Checks(types.SimpleNamespace(work=pathlib.Path(work), library="library.so", timeout=1))
            with unittest.mock.patch.object(checks, "say") as said:
                checks.nsight_systems("loop", ["loop"])
            said.assert_called_once_with("PASS", unittest.mock.ANY)
            self.assertEqual(list(pathlib.Path(work).iterdir()), [])
        self.assertFalse(reports[0].parent.exists())

    def test_layers_are_the_ranges(self):
        profile = self.profile(self.KERNELS, layers={1: "forward.a", 2: "forward.b"})
        self.assertTrue(training.compare_layers(profile, ["", "forward.a", "forward.b", ""]))
        self.assertIn("launch 2 has 'forward.b'", self.failure(training.compare_layers, profile,
                                                               ["", "forward.a", "forward.c", ""]))
        self.failure(training.compare_layers, profile, ["", "forward.a", "forward.b"])
        paths = ["forward", "forward.a", "forward.b"]
        self.assertTrue(training.compare_paths(profile, paths))
        self.assertIn("forward.c", self.failure(training.compare_paths, profile, [*paths, "forward.c"]))
        self.assertIn("no ranges: forward.b", self.failure(training.compare_paths, profile, paths[:2]))


if __name__ == "__main__":
    unittest.main()
