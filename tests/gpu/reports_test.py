"""The parts of the GPU checks that need no GPU: comparing counts and joining durations."""

import copy
import unittest

import launch_census
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


if __name__ == "__main__":
    unittest.main()
