"""The package's own files: syntax of old Pythons, reading, reports, HugeCTR's functions.

Needs neither PyTorch nor the library."""

import ast
import contextlib
import ctypes
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
A100 = ROOT / "tests/data/hugectr/dlrm_a100_8gpu.prof.json"

import inline_prof
import inline_prof.abi
from inline_prof import hugectr, reports
from needs import FolderTest


class Folder(FolderTest):
    def write(self, profile, name="x.prof.json"):
        path = self.folder / name
        path.write_text(profile if isinstance(profile, str) else json.dumps(profile))
        return path


class Files(unittest.TestCase):
    def files(self):
        found = sorted(PACKAGE.rglob("*.py")) + sorted((ROOT / "examples/pytorch").glob("*.py"))
        self.assertGreater(len(found), 12)
        return found

    def test_are_written_in_python_3_8(self):
        for file in self.files():
            ast.parse(file.read_text(), str(file), feature_version=(3, 8))

    def test_import_nothing_that_a_newer_python_has_not(self):
        """Modules that are gone in 3.12 (PEP 632, imp, async) and 3.13 (PEP 594, lib2to3)."""
        gone = set("asynchat asyncore distutils imp smtpd aifc audioop cgi cgitb chunk crypt imghdr "
                   "lib2to3 mailcap msilib nis nntplib ossaudiodev pipes sndhdr spwd sunau telnetlib "
                   "uu xdrlib".split())
        for file in self.files():
            for node in ast.walk(ast.parse(file.read_text())):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else \
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                for name in names:
                    self.assertNotIn(name.partition(".")[0], gone, file)

    def test_are_imported_without_a_warning(self):
        code = ("import inline_prof, inline_prof.abi, inline_prof.hugectr, inline_prof.importing, "
                "inline_prof.profiles, inline_prof.reports, inline_prof.torch\n"
                "inline_prof.abi.find()")
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_need_nothing_but_the_standard_library(self):
        code = ("import sys; sys.modules.update(dict.fromkeys(['torch', 'numpy', 'pandas',"
                "'matplotlib']))\n"
                "import inline_prof, inline_prof.hugectr, inline_prof.importing\n"
                "inline_prof.read, inline_prof.report\n")
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

    def test_are_of_one_version(self):
        project = (ROOT / "CMakeLists.txt").read_text()
        self.assertIn("VERSION %s " % inline_prof.__version__, project)

    def test_an_unknown_name_is_no_attribute(self):
        with self.assertRaises(AttributeError):
            inline_prof.nothing


class WithoutPyTorch(unittest.TestCase):
    def run_python(self, code):
        done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['torch'] = None\n" + code],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_the_import_says_so_where_the_library_is_preloaded(self):
        code, output, errors = self.run_python(
            "import types, inline_prof.abi\n"
            "inline_prof.abi.find = lambda: types.SimpleNamespace(wants=lambda: 7)\n"
            "import inline_prof.torch\n"
            "print(inline_prof.torch.is_active(), inline_prof.torch.install())\n")
        self.assertEqual((code, output), (0, "False False\n"), errors)
        lines = errors.splitlines()
        self.assertEqual(len(lines), 2)  # the import, and install()
        self.assertIn("inline_prof: no module names: ", lines[0])

    def test_the_import_is_silent_where_it_is_not(self):
        self.assertEqual(self.run_python("import inline_prof.torch"), (0, "", ""))

    def test_the_check_names_what_is_missing(self):
        code, output, errors = self.run_python(
            "import runpy; sys.argv = ['x']; runpy.run_module('inline_prof', run_name='__main__')")
        self.assertEqual((code, errors), (1, ""))
        self.assertRegex(output, "FAIL  library .*prof-run")
        self.assertRegex(output, "FAIL  torch .*cannot be imported")


class AnOlderLibrary(unittest.TestCase):
    def test_is_refused_with_its_size(self):
        table = inline_prof.abi.Table(size=72)
        get_table = unittest.mock.MagicMock(return_value=ctypes.pointer(table))
        library = types.SimpleNamespace(inline_prof_abi_v1=get_table)
        with unittest.mock.patch.object(inline_prof.abi.ctypes, "PyDLL", lambda name: library):
            with self.assertRaisesRegex(inline_prof.abi.AbiError, "has 72 bytes, expected at least"):
                inline_prof.abi.find()


class Reading(Folder):
    def test_generation_1(self):
        profile = inline_prof.read(A100)
        self.assertEqual((profile["generation"], len(profile["events"])), (1, 512))
        event = profile["events"][0]
        raw = json.loads(A100.read_text())["events"][0]
        self.assertEqual(event["event_name"], raw["name"])
        self.assertEqual(event["met_times_within_this_stream"],
                         raw["same_name_events_occured_order_in_code"])
        self.assertEqual(event["layer_name"], raw["layer_name"])

    def test_generation_2(self):
        path = self.write({"host_name": "n1", "iter_time_ms": [4.1], "events": [
            {"event_name": "fc.fprop", "device_id": 0, "stream": "0x1", "start_index": 0,
             "end_index": 1, "met_times_within_this_stream": 2, "measured_times_ms": [0.04]}]})
        profile = inline_prof.read(path)
        self.assertEqual(profile["generation"], 2)
        self.assertEqual(profile["events"][0]["layer_name"], "")
        self.assertEqual(profile["events"][0]["met_times_within_this_stream"], 2)

    def test_one_shot_files_have_their_iterations_as_events(self):
        path = self.write({"host_name": "n1", "events": [
            {"event_name": "iteration", "measured_times_ms": [4.0, 5.0]}]})
        self.assertEqual(inline_prof.read(path)["iter_time_ms"], [4.0, 5.0])

    def test_generation_3(self):
        profile = inline_prof.read(ROOT / "tests/data/gen3/small_h200.prof.json")
        self.assertEqual(profile["generation"], 3)
        self.assertEqual(profile["schema"], "inline_prof/1")

    def test_what_is_no_profile_is_refused_with_its_place(self):
        for text, words in (
                ("[]", "/: expected an object, found an array"),
                ("null", "/: expected an object, found null"),
                ("{}", '/: missing "events": not a prof.json'),
                ('{"events": null}', "/events: expected an array, found null"),
                ('{"events": {}}', "/events: expected an array, found an object"),
                ('{"events": [3]}', "/events/0: expected an object, found 3"),
                ('{"events": [{}]}', '/events/0: missing "event_name"'),
                ('{"events": [{"event_name": true}]}',
                 "/events/0/event_name: expected the event's name, found true"),
                ('{"events": [{"event_name": "x", "measured_times_ms": 0.1}]}',
                 "/events/0/measured_times_ms: expected an array of numbers, found 0.1"),
                ('{"events": [{"event_name": "x", "measured_times_ms": [0.1, "a"]}]}',
                 '/events/0/measured_times_ms/1: expected a number, found "a"'),
                ('{"events": [], "iter_time_ms": 3}',
                 "/iter_time_ms: expected an array of numbers, found 3"),
                ('{"schema": "inline_prof/1", "events": []}', '/: missing "iter_time_ms"'),
                ('{"schema": "inline_prof/9", "events": []}',
                 '/schema: expected "inline_prof/1", found "inline_prof/9"')):
            path = self.write(text)
            with self.assertRaises(inline_prof.ProfileError, msg=text) as caught:
                inline_prof.read(path)
            self.assertEqual(str(caught.exception), "%s: %s" % (path, words))
        with self.assertRaisesRegex(inline_prof.ProfileError, "x.prof.json: not JSON: "):
            inline_prof.read(self.write("{"))
        with self.assertRaisesRegex(inline_prof.ProfileError, "No such file"):
            inline_prof.read(self.folder / "none.json")

    def rows_of(self, table, path=ROOT / "tests/data/gen3/small_h200.prof.json"):
        """Returns the rows that pandas is given."""
        with unittest.mock.patch.dict(sys.modules, pandas=types.SimpleNamespace(DataFrame=list)):
            return table(path)

    def test_a_frame_has_a_row_an_event(self):
        rows = self.rows_of(inline_prof.frame)
        self.assertTrue(rows)
        gemm = next(row for row in rows if row.get("op_kind") == "gemm")
        self.assertIn("op_m", gemm)
        self.assertNotIn("op", gemm)
        self.assertGreater(gemm["median_us"], 0)
        self.assertEqual(gemm["samples"], len(gemm["measured_times_ms"]))
        if inline_prof.reports.find_analyzer() is None:
            self.assertIn("prof-analyze is neither", gemm["reason"])
        else:
            self.assertGreater(gemm["predicted_us"], 0)
            self.assertIsNone(gemm["reason"])
            self.assertIn("operation not known", " ".join(str(row["reason"]) for row in rows))

    def test_a_history_has_a_row_a_bin(self):
        bins = {"start_s": [0, 60], "end_s": [59, 99], "first_iteration": [0, 7], "last_iteration": [6, 9],
                "first_bucket": [690, 700], "counts": [[1, 3, 1], []]}
        event = {"event_name": "a", "met_times_within_this_stream": 0, "history": bins}
        path = self.write(json.dumps({"schema": "inline_prof/1", "iter_time_ms": [], "events": [event],
                                      "history": {"relative_error": 0.01, "iteration": bins}}))
        rows = self.rows_of(inline_prof.history, path)
        with self.assertRaisesRegex(inline_prof.ProfileError, "/history: missing"):
            self.rows_of(inline_prof.history)
        self.assertEqual([row["event"] for row in rows], [None, None, 0, 0])
        self.assertEqual(rows[2]["event_name"], "a")
        self.assertEqual(rows[2]["samples"], 5)
        ratio = 1.01 / 0.99
        self.assertTrue(ratio ** 690 < 1e3 * rows[2]["median_us"] < ratio ** 691)
        self.assertIsNone(rows[3]["median_us"])

    def test_a_frame_says_why_there_are_no_predictions(self):
        with unittest.mock.patch("inline_prof.reports.find_analyzer", return_value=None):
            rows = self.rows_of(inline_prof.frame)
        self.assertEqual({row["predicted_us"] for row in rows}, {None})
        self.assertIn("prof-analyze is neither", rows[0]["reason"])


class Reports(Folder):
    def analyzer(self, script):
        path = self.folder / "prof-analyze"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return unittest.mock.patch.dict(os.environ, PATH="%s:/bin:/usr/bin" % self.folder)

    def test_options_are_those_of_prof_analyze(self):
        with self.analyzer('printf "%s " "$@"; printf "%s" "$LD_PRELOAD"'), \
                unittest.mock.patch.object(reports, "_candidates",
                                           lambda: [str(self.folder / "prof-analyze")]):
            self.assertEqual(
                inline_prof.report("a.json", "b.json", machine="h200-sxm-141gb", event_bias=1.5,
                                   force=True, layers=pathlib.Path("l.json"), top=None),
                "a.json b.json --machine h200-sxm-141gb --event-bias 1.5 --force --layers l.json ")

    def test_paths_come_one_by_one_or_as_a_list(self):
        a, b = pathlib.Path("a.json"), "b.json"
        with self.analyzer('echo "$@"'):
            for paths in ([a, b], [[a, b]], [(a, b)], [iter([a, b])], [a, [b]]):
                self.assertEqual(inline_prof.report(*paths, top=1), "a.json b.json --top 1\n")
            for wrong in (3, [a, None]):
                with self.assertRaisesRegex(TypeError, "expected a path or a list of paths"):
                    inline_prof.report(wrong)

    def test_json_comes_as_a_dict(self):
        with self.analyzer("""echo '{"a": 1}'"""):
            self.assertEqual(inline_prof.report("x", format="json"), {"a": 1})

    def test_what_the_analyzer_refuses_is_an_error_in_its_words(self):
        with self.analyzer("echo 'x: not a file' >&2; exit 1"):
            with self.assertRaisesRegex(inline_prof.ReportError, "^x: not a file$"):
                inline_prof.report("x")

    def test_without_the_analyzer_there_is_a_sentence(self):
        with unittest.mock.patch.object(reports, "_candidates", lambda: []):
            with self.assertRaisesRegex(inline_prof.ReportError, "on PATH"):
                inline_prof.report("x")


class HugeCtr(Folder):
    LAYERS = {
        "BottomMLP.fc1": {"forward_events": ["fc.fprop"], "backward_events": ["fc.bprop"]},
        "TopMLP.fc7": {"forward_events": ["fc.fprop"], "backward_events": []},
    }

    def generate(self, *arguments, **options):
        path = self.folder / "prof.schedule"
        hugectr.generate_schedule(*arguments, outfile=path, **options)
        return path.read_text()

    def test_a_schedule_is_the_originals_text(self):
        self.assertEqual(self.generate(self.LAYERS, repeat_for_each_event=2, warmup_iterations=3),
                         "3\n"
                         "fc.fprop 4 BottomMLP.fc1 0\nfc.fprop 5 BottomMLP.fc1 0\n"
                         "fc.bprop 6 BottomMLP.fc1 6\nfc.bprop 7 BottomMLP.fc1 6\n"
                         "fc.fprop 8 TopMLP.fc7 6\nfc.fprop 9 TopMLP.fc7 6")

    def test_its_defaults_are_the_originals(self):
        lines = self.generate(self.LAYERS).splitlines()
        self.assertEqual((lines[0], lines[1], len(lines)), ("10", "fc.fprop 11 BottomMLP.fc1 0", 151))

    def test_a_folder_in_the_second_place(self):
        hugectr.generate_schedule(self.LAYERS, str(self.folder))
        self.assertEqual(len((self.folder / "prof.schedule").read_text().splitlines()), 151)

    def test_a_plain_list_of_events(self):
        self.assertEqual(self.generate({"TopMLP.fc4": ["fc.fprop", "fc.bprop"]}, 1, 0),
                         "0\nfc.fprop 1 TopMLP.fc4 3\nfc.bprop 2 TopMLP.fc4 3")

    def test_other_layers_say_their_occurrence(self):
        layer = {"forward_events": ["e"], "forward_occurrence": 5}
        self.assertEqual(self.generate({"mine": layer}, 1, 0), "0\ne 1 mine 5")
        with self.assertRaisesRegex(ValueError, "mine: .*forward_occurrence"):
            self.generate({"mine": {"forward_events": ["e"]}})

    def test_what_cannot_stand_in_a_schedule_is_refused(self):
        with self.assertRaisesRegex(ValueError, "TopMLP.fc4: 'a b'"):
            self.generate({"TopMLP.fc4": ["a b"]})
        with self.assertRaisesRegex(ValueError, "TopMLP.fc4: '': an empty name"):
            self.generate({"TopMLP.fc4": [""]})
        for layer, event, word in (("TopMLP.fc4", "fc\u00e9.fprop", "fc\u00e9.fprop"),
                                   ("Mine\u00fc", "fc.fprop", "Mine\u00fc")):
            given = {layer: {"forward_events": [event], "forward_occurrence": 0}}
            with self.assertRaisesRegex(ValueError, "'%s': .* ASCII" % word):
                self.generate(given)
        with self.assertRaisesRegex(ValueError, "sideward_events"):
            self.generate({"TopMLP.fc4": {"sideward_events": []}})

    def test_a_schedule_that_is_there_is_overwritten_by_a_good_one_only(self):
        path = self.write("before\n", "prof.schedule")
        with self.assertRaises(ValueError):
            self.generate({"TopMLP.fc4": ["fc.fprop", "fc\u00e9.fprop"]})
        self.assertEqual(path.read_text(), "before\n")
        self.assertEqual(self.generate({"TopMLP.fc4": ["fc.fprop"]}, 1, 0),
                         "0\nfc.fprop 1 TopMLP.fc4 3")

    def test_results_are_those_of_the_real_file(self):
        (self.folder / A100.name).symlink_to(A100)
        result, = hugectr.parse_result(self.folder)
        raw = json.loads(A100.read_text())
        self.assertEqual(result["host_name"], raw["host_name"])
        self.assertAlmostEqual(result["avg_iter_time_ms"],
                               sum(raw["iter_time_ms"]) / len(raw["iter_time_ms"]), 12)
        self.assertEqual(sorted(result["timeline"]), ["device_%d" % i for i in range(8)])
        # The notebook's rules: devices and streams in the order of start_index, streams numbered over
        # all devices, plain means.
        expected, streams = {}, []
        for event in sorted(raw["events"], key=lambda event: event["start_index"]):
            if event["stream"] not in streams:
                streams.append(event["stream"])
            place = ("device_%d" % event["device_id"], "stream_%d" % streams.index(event["stream"]))
            times = event["measured_times_ms"]
            offsets = event["iter_start_to_event_start_times_ms"]
            expected.setdefault(place, []).append({
                "name": event["name"], "start_index": event["start_index"],
                "end_index": event["end_index"],
                "label": event["layer_name"] + "." + event["name"],
                "avg_measured_time_ms": sum(times) / len(times),
                "avg_iter_start_to_event_start_time_ms": sum(offsets) / len(offsets)})
        found = {(device, stream): entries for device, streams in result["timeline"].items()
                 for stream, entries in streams.items()}
        self.assertEqual(list(found), list(expected))
        self.assertEqual(found, expected)
        self.assertEqual(sum(map(len, found.values())), 512)

    def test_no_profile_is_an_error_that_names_the_folder(self):
        file = self.write("no profile", "notes.txt")
        for place, found in ((self.folder / "none", "found nothing, expected a folder"),
                             (file, "found a file, expected a folder"),
                             (self.folder, "found no profile in it, expected \\*.prof.json")):
            with self.assertRaisesRegex(inline_prof.ProfileError,
                                        "^%s: %s" % (re.escape(str(place)), found)):
                hugectr.parse_result(place)

    def test_a_member_of_another_kind_is_an_error_that_names_it(self):
        good = {"event_name": "e", "layer_name": "l", "device_id": 0, "stream": "1",
                "start_index": 0, "end_index": 1, "measured_times_ms": [1.0],
                "iter_start_to_event_start_times_ms": [0.5],
                "met_times_within_this_stream": 0}
        whole = {"host_name": "n1", "iter_time_ms": [4.0], "events": [good]}
        for value in (None, True, 1.5, 10**400, "x", [], {}, [[]], ["x"], [None, True], [10**400]):
            for place, document in (*(("/" + key, {**whole, key: value}) for key in whole),
                                    *(("/events/0/" + key, {**whole, "events": [{**good, key: value}, good]}) for key in good)):
                self.write(document, "prof.json")
                try:
                    hugectr.parse_result(self.folder)
                except inline_prof.ProfileError as error:
                    self.assertIn(place, str(error))
        self.write("[" * 100000, "prof.json")
        with self.assertRaises(inline_prof.ProfileError):
            hugectr.parse_result(self.folder)

    def test_a_pipe_in_the_folder_is_an_error_and_no_wait(self):
        os.mkfifo(self.folder / "n1.prof.json")
        with self.assertRaisesRegex(inline_prof.ProfileError, "expected a regular file"):
            hugectr.parse_result(self.folder)

    def test_a_single_prof_json_is_a_result(self):
        self.write({"host_name": "n1", "iter_time_ms": [4.0, 5.0], "events": []}, "prof.json")
        self.assertEqual(hugectr.parse_result(self.folder),
                         [{"host_name": "n1", "avg_iter_time_ms": 4.5, "timeline": {}}])

    def test_results_are_printed_as_json(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            hugectr.print_result([{"host_name": "n1"}])
        self.assertEqual(json.loads(said.getvalue()), [{"host_name": "n1"}])

    RESULT = [{"host_name": "n1", "avg_iter_time_ms": 2.0, "timeline": {"device_0": {"stream_0": [
        {"label": "a.x", "avg_measured_time_ms": 1.0, "avg_iter_start_to_event_start_time_ms": 0.0},
        {"label": "a.y", "avg_measured_time_ms": 0.5, "avg_iter_start_to_event_start_time_ms": 0.2},
        {"label": "a.z", "avg_measured_time_ms": 0.5, "avg_iter_start_to_event_start_time_ms": 1.1},
    ]}}}]

    def test_without_matplotlib_a_chart_is_a_sentence(self):
        said = io.StringIO()
        gone = unittest.mock.patch.dict(sys.modules, {"matplotlib": None, "matplotlib.pyplot": None})
        with contextlib.redirect_stdout(said), gone:
            self.assertIsNone(hugectr.timeline_chart(self.RESULT))
            self.assertIsNone(hugectr.scaling_chart([self.RESULT], ["1 GPU"]))
        self.assertEqual(said.getvalue().count("matplotlib is not installed"), 2)

    def draw(self, chart, *arguments):
        """The calls of axes.bar and axes.barh."""
        axes, figure = unittest.mock.MagicMock(), unittest.mock.MagicMock()
        pyplot = unittest.mock.MagicMock()
        pyplot.subplots.return_value = (figure, axes)
        matplotlib = types.SimpleNamespace(pyplot=pyplot)
        with unittest.mock.patch.dict(sys.modules, {"matplotlib": matplotlib, "matplotlib.pyplot": pyplot}):
            self.assertIs(chart(*arguments), figure)
        pyplot.show.assert_called_once()
        return axes

    def test_a_timeline_has_a_bar_an_event_and_one_for_the_iteration(self):
        bars = self.draw(hugectr.timeline_chart, self.RESULT).barh.call_args_list
        self.assertEqual([(bar[0][0], bar[0][1]) for bar in bars],
                         [(0.5, 1.0), (1.5, 0.5), (0.5, 0.5), (3.5, 2.0)])

    def test_a_scaling_chart_has_three_bars_a_run(self):
        bars = self.draw(hugectr.scaling_chart, [self.RESULT, self.RESULT],
                         ["1", "2"]).bar.call_args_list
        self.assertEqual(len(bars), 2 * (1 + 2 * 3))
        self.assertEqual(bars[0][0], (-0.25, 2.0))
        bars = self.draw(lambda *given: hugectr.scaling_chart(*given, show_iter_time=False),
                         [self.RESULT], ["1"]).bar.call_args_list
        self.assertEqual(len(bars), 2 * 3)
        with self.assertRaisesRegex(ValueError, "found 1 names for 2 results"):
            hugectr.scaling_chart([self.RESULT, self.RESULT], ["1"])


if __name__ == "__main__":
    unittest.main()
