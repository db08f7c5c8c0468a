"""The parts of the GPU checks that need no GPU: comparing counts and joining durations."""

import copy
import unittest

import launch_census
import overhead
import pair_bias_report


def census(kernels, graphs):
    return {"driver_calls": {"cuLaunchKernel": kernels - 10, "cuLaunchKernelEx": 10,
                             "cuGraphLaunch": graphs}, "errors": []}


def profile(kernels, graphs=4):
    return {"overhead": {"launches_seen": kernels, "graph_launches_seen": graphs}}


class LaunchCensus(unittest.TestCase):
    def test_equal_counts_pass(self):
        words = launch_census.compare(census(100, 4), profile(100), census(164, 4), profile(100))
        self.assertIn("CUPTI (100, 4), guest (100, 4); side by side: CUPTI (164, 4)", words)

    def test_a_launch_that_the_guest_missed_fails(self):
        with self.assertRaises(launch_census.Failure):
            launch_census.compare(census(100, 4), profile(99), census(100, 4), profile(100))

    def test_a_graph_launch_that_the_guest_missed_fails(self):
        with self.assertRaises(launch_census.Failure):
            launch_census.compare(census(100, 4), profile(100), census(100, 4), profile(100, 3))

    def test_a_launch_that_disappears_beside_cupti_fails(self):
        with self.assertRaises(launch_census.Failure):
            launch_census.compare(census(100, 4), profile(100), census(99, 4), profile(100))

    def test_no_launch_at_all_fails(self):
        with self.assertRaises(launch_census.Failure):
            launch_census.compare({"driver_calls": {}, "errors": []}, profile(0),
                                  {"driver_calls": {}, "errors": []}, profile(0))

    def test_a_cupti_that_refuses_skips(self):
        refused = {"driver_calls": {}, "errors": ["cuptiSubscribe: somebody else"]}
        with self.assertRaises(launch_census.Skip):
            launch_census.compare(refused, profile(100), census(100, 4), profile(100))


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


if __name__ == "__main__":
    unittest.main()
