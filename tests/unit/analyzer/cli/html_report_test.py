#!/usr/bin/python3
"""The html report in a browser: what it shows, what it runs, how long it takes.

usage: html_report_test.py PROF_ANALYZE TEST_DATA_DIR EVENTS; exit status 77 (skipped) without
Chromium.  EVENTS is how many the largest report has.
AXE_CORE in the environment is axe-core's axe.min.js.
"""

import json
import os
import pathlib
import random
import sys
import unittest

import chromium
from program_in_a_folder import InAFolder, run

DATA = pathlib.Path(sys.argv[2])
MANY_EVENTS = int(sys.argv[3])
SMALL = DATA / "gen3/small_h200.prof.json"
A100 = DATA / "hugectr/dlrm_a100_8gpu.prof.json"
A100_OPTIONS = ("--machine", "a100-sxm4-40gb", "--layers", DATA / "hugectr/dlrm_a100.layers.json")
EVIL = "</script><img src=x onerror=\"document.title='pwned'\"><!--<script>"

if chromium.program() is None:
    print("skipped: no chromium (Debian: chromium)")
    sys.exit(77)


def event(name, start, layer="", stream=0, samples=7, **more):
    noise = random.Random(start)
    return {"event_name": name, "layer_name": layer, "device_id": 0, "stream": str(stream),
            "stream_index": stream, "start_index": 2 * start, "end_index": 2 * start + 1,
            "met_times_within_this_stream": 0,
            "measured_times_ms": [0.01 + 0.001 * noise.random() for _ in range(samples)],
            "iter_start_to_event_start_times_ms": [0.012 * start] * samples, **more}


def gemm(m):
    return {"kind": "gemm", "m": m, "n": 512, "k": 512, "a_type": "f16", "b_type": "f16",
            "c_type": "f16"}


class Report(InAFolder):
    @classmethod
    def setUpClass(cls):
        cls.page = chromium.Page()
        cls.addClassCleanup(cls.page.close)

    def show(self, *arguments, dark=False):
        file = self.path / "report.html"
        done = run(*arguments, "--format", "html", "-o", file, "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.page.open(file, dark)
        self.assertEqual(self.page.complaints(), [])
        self.assertTrue(self.value("document.getElementById('failure').hidden"),
                        self.text("#failure"))

    def write(self, events, **more):
        file = self.path / "p.json"
        file.write_text(json.dumps({"schema": "inline_prof/1", "iter_time_ms": [4.0],
                                    "events": events, **more}))
        return file

    def value(self, expression):
        return self.page.evaluate(expression)

    def text(self, selector):
        return self.value("document.querySelector(%s).textContent" % json.dumps(selector))

    def has_charts(self):
        return self.value("typeof d3 !== 'undefined'")

    def test_says_what_the_table_says(self):
        self.show(SMALL)
        report = json.loads(run(SMALL, "--format", "json").stdout)
        self.assertIn("An iteration takes 1.000 ms. 54.0 % of it", self.text("#what"))
        self.assertEqual(
            self.value("[...document.querySelectorAll('#share-table tbody tr')]"
                       ".map(row => row.lastChild.textContent)"),
            ["%.1f" % share for share in report["shares"].values()])
        self.assertIn("+0.050 %, 95 % interval", self.text("#overhead"))
        self.assertIn("2 interleaved_launch", self.text("#head"))
        self.assertIn("MLP.fc1", self.text("#layer-table"))

    def test_links_lead_to_what_lines_mean(self):
        self.show(A100, *A100_OPTIONS)
        self.assertGreater(self.value("document.querySelectorAll('#head a').length"), 4)
        self.assertEqual(self.value("[...document.querySelectorAll('.lines a, .verdict a')].filter(link => "
                                    "!document.querySelector(link.hash) || document.querySelector(link.hash).hidden)"
                                    ".length"), 0)
        own = ["run", "machine", "shares", "period", "not seen", "warning", ""]
        self.assertEqual(self.value("[...document.querySelectorAll('#head dt')].filter(title => !title.firstElementChild)"
                                    ".map(title => title.textContent).filter(title => !%s.includes(title))"
                                    % json.dumps(own)), [])

    def test_layers_open_down_to_devices_and_samples(self):
        self.show(A100, *A100_OPTIONS)
        layers = self.value("document.querySelectorAll('tr.layer').length")
        self.assertGreater(layers, 5)
        self.value("[...document.querySelectorAll('tr.layer button')]"
                   ".find(button => button.textContent === 'TopMLP.fc5').click()")
        self.assertGreater(self.value("document.querySelectorAll('tr[data-event]').length"), 5)
        self.value("document.querySelector('tr[data-event] button').click()")
        self.assertEqual(self.value("document.querySelectorAll('td.inner tbody tr').length"), 8)
        if self.has_charts():  # 8 devices x 50 samples, less a few wild ones
            self.assertGreater(self.value("document.querySelectorAll('td.inner circle').length"), 350)

    def test_switches_between_phases(self):
        self.show(SMALL)
        self.assertTrue(self.value("document.getElementById('phases').hidden"))
        phases = [{"stretches": [[1, 20]], "iterations": 20, "iter_time_ms": [time_ms] * 20, "kernel_launches": 1,
                   "graph_launches": 0, "graph_kernels": 0, "measured": True, "reason": reason}
                  for time_ms, reason in ((4.0, "the first iterations"), (1.0, "other launches"))]
        file = self.write([event("a", 1, "train", phase=0), event("b", 2, "evaluate", phase=1)], phases=phases)
        self.show(file)
        self.assertIn("train", self.text("#layer-table"))
        self.assertNotIn("evaluate", self.text("#layer-table"))
        choices = "[...document.getElementById('phase').options].map(option => option.textContent)"
        self.assertEqual(self.value(choices)[1], "2: first 20 iterations, each one kernel; 20.0 % of the time; began "
                                                 "when other kernels were launched")
        self.page.open("%s?phase=2" % (self.path / "report.html"), False)
        self.assertEqual(self.page.complaints(), [])
        self.assertEqual(self.value("document.getElementById('phase').value"), "2")
        self.assertIn("evaluate", self.text("#layer-table"))
        self.assertNotIn("train", self.text("#layer-table"))

    def test_filters_and_sorts(self):
        self.show(A100, *A100_OPTIONS)
        self.value("new Promise(done => { const box = document.getElementById('filter');"
                   "box.value = 'topmlp fc5'; box.dispatchEvent(new Event('input'));"
                   "setTimeout(done, 400); })")
        names = "[...document.querySelectorAll('tr.layer td.name')].map(cell => cell.textContent)"
        self.assertEqual(self.value(names), ["TopMLP.fc5"])
        self.assertTrue(self.text("#layer-count").startswith("1 of "))
        self.value("new Promise(done => { const box = document.getElementById('filter');"
                   "box.value = ''; box.dispatchEvent(new Event('input'));"
                   "setTimeout(done, 400); })")
        self.value("document.querySelector('[data-sort=name]').click()")
        found = self.value(names)
        self.assertGreater(len(found), 5)
        self.assertEqual(found, sorted(found, key=str.lower))
        self.assertEqual(self.value("document.querySelector('[data-sort=name]').parentElement"
                                    ".getAttribute('aria-sort')"), "ascending")

    def test_the_keyboard_goes_through_the_timeline_to_the_table(self):
        self.show(A100, *A100_OPTIONS)
        if not self.has_charts():
            self.skipTest("built without D3")
        self.value("document.getElementById('timeline-canvas').focus()")
        self.page.press("ArrowRight")
        first = self.text("#timeline-details b")
        self.page.press("ArrowRight")
        second = self.text("#timeline-details b")
        self.assertNotEqual(first, second)
        self.page.press("Enter")
        self.assertEqual(self.value("document.querySelectorAll('tr.chosen').length"), 1)
        self.assertEqual(self.value("document.activeElement.closest('tr').className"), "chosen")

    def test_a_click_on_a_bar_shows_its_numbers(self):
        self.show(SMALL)
        if not self.has_charts():
            self.skipTest("built without D3")
        self.value("""(() => {
            const canvas = document.getElementById('timeline-canvas');
            canvas.scrollIntoView();
            const box = canvas.getBoundingClientRect();
            canvas.dispatchEvent(new MouseEvent('click', {bubbles: true,
                clientX: box.left + box.width * 0.2, clientY: box.top + 22 + 16 + 6}));
        })()""")
        self.assertIn("MLP.fc1 fc.fprop", self.text("#timeline-details"))
        self.assertIn("predicted", self.text("#timeline-details"))

    def test_names_are_text_whatever_they_look_like(self):
        self.show(self.write(
            [event(EVIL, 0, EVIL, kernel_name=EVIL, op=gemm(512)),
             event("{{data}}", 1, "{{program}}"), event("\u2028<!--", 2, "__proto__"),
             event("plain", 3, "constructor", op={"kind": EVIL})],
            host_name=EVIL, command=EVIL, not_seen=[EVIL], warnings=[EVIL]),
            "--machine", "h200-sxm-141gb")
        self.assertEqual(self.value("document.images.length"), 0)
        self.assertEqual(self.value("document.querySelectorAll('main script').length"), 0)
        self.assertNotIn("pwned", self.value("document.title"))
        names = self.value("[...document.querySelectorAll('tr.layer td.name')]"
                           ".map(cell => cell.textContent)")
        self.assertCountEqual(names, [EVIL, "{{program}}", "__proto__", "constructor"])
        self.value("document.querySelectorAll('tr.layer button').forEach(b => b.click())")
        self.value("[...document.querySelectorAll('tr.layer')].map(r => r.dataset.layer).forEach("
                   "l => { const b = document.querySelector(`[data-layer=\"${l}\"] button`);"
                   "if (b.getAttribute('aria-expanded') === 'false') b.click(); })")
        self.assertIn(EVIL, self.text("#layer-table"))
        self.assertEqual(self.value("document.images.length"), 0)
        self.assertEqual(self.page.complaints(), [])

    def test_holds_nothing_that_a_browser_would_fetch(self):
        self.show(SMALL)
        text = (self.path / "report.html").read_text()
        self.assertIn("default-src 'none'", text)
        for word in ["<link", "@import", "url(", " src=", "srcset"]:
            self.assertNotIn(word, text.split("<script>")[0], word)

    def test_what_could_be_saved_leads_to_the_row(self):
        self.show(SMALL)
        self.assertRegex(self.text("#cause-list"), r"slower than predicted: [0-9.]+ %, [0-9.]+ us of 1 kernel that takes 10\.0 %")
        self.value("document.querySelector('#cause-list button').click()")
        self.assertNotEqual(self.value("document.querySelector('tr.chosen').dataset.event"), None)
        self.assertIn("Operators", self.text("#total-tables"))
        self.assertEqual(self.page.complaints(), [])

    def test_sums_and_layers_have_the_same_shares(self):
        # Both streams are busy at the same time, which counts once.
        self.show(self.write([event("a", 1, "one"), event("b", 1, "two", stream=1)], iter_time_ms=[0.02]))
        sums = self.value("[...document.querySelectorAll('#total-tables tbody')[0].rows].map(row => row.cells[3].textContent)")
        report = json.loads(run(self.path / "p.json", "--format", "json").stdout)
        self.assertEqual(sums, ["%.1f" % row["share_percent"] for row in report["layer_patterns"]])

    def test_without_charts_there_are_tables(self):
        self.show(SMALL)
        file = self.path / "report.html"
        # As a program built without D3 writes it: the script is empty.
        before, rest = file.read_text().split("<script>", 1)
        file.write_text(before + "<script>" + rest[rest.index("</script>"):])
        self.page.open(file)
        self.assertFalse(self.has_charts())
        self.assertFalse(self.value("document.getElementById('no-charts').hidden"))
        self.assertTrue(self.value("document.getElementById('timeline').hidden"))
        self.value("document.querySelector('tr.layer button').click()")
        self.value("document.querySelector('tr[data-event] button').click()")
        self.assertGreater(self.value("document.querySelectorAll('td.inner tbody tr').length"), 0)
        self.assertEqual(self.page.complaints(), [])

    def test_fits_a_narrow_window(self):
        self.show(A100, "--machine", "a100-sxm4-40gb")
        self.page.send("Emulation.setDeviceMetricsOverride", width=400, height=800,
                       deviceScaleFactor=1, mobile=False)
        try:
            self.assertLessEqual(self.value("document.documentElement.scrollWidth"), 400)
        finally:
            self.page.send("Emulation.setDeviceMetricsOverride", width=1200, height=900,
                           deviceScaleFactor=1, mobile=False)

    def test_prints_in_light_colours(self):
        self.show(SMALL, dark=True)
        self.value("dispatchEvent(new Event('beforeprint'))")
        ground = ("getComputedStyle(document.documentElement).getPropertyValue('--ground').trim()")
        self.assertEqual(self.value(ground), "#ffffff")
        self.value("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.value(ground), "#14181d")
        self.page.send("Emulation.setEmulatedMedia", media="print")
        self.addCleanup(self.page.send, "Emulation.setEmulatedMedia", media="")
        self.page.send("Emulation.setDeviceMetricsOverride", width=718, height=1000,  # A4 less margins
                       deviceScaleFactor=1, mobile=False)
        self.addCleanup(self.page.send, "Emulation.setDeviceMetricsOverride", width=1200, height=900,
                        deviceScaleFactor=1, mobile=False)
        self.assertLessEqual(self.value("document.querySelector('#layer-table').getBoundingClientRect()"
                                        ".right"), 718)
        pdf = self.page.send("Page.printToPDF")["data"]
        self.assertGreater(len(pdf), 10000)

    def test_no_events_make_a_page_that_says_so(self):
        self.show(self.write([]))
        self.assertIn("no events", self.text("#what"))
        self.assertIn("0 of 0 layers", self.text("#layer-count"))

    def test_several_files_stand_side_by_side(self):
        files = []
        for rank in range(3):
            document = json.loads(SMALL.read_text())
            document["rank"] = rank
            document["iter_time_ms"] = [1.0 + rank] * 5
            files.append(self.path / ("rank%d.prof.json" % rank))
            files[-1].write_text(json.dumps(document))
        self.show(*files)
        self.assertFalse(self.value("document.getElementById('runs').hidden"))
        self.assertEqual(self.value("[...document.querySelectorAll('#runs-table tbody tr')]"
                                    ".map(row => row.children[3].textContent)"),
                         ["1000", "2000", "3000"])

    def test_large_reports_stay_quick(self):
        events = [event("kernel_%d" % i, i, "block%d.layer" % (i // 10), i % 3, 50,
                        op=gemm(64 * (i % 100 + 1))) for i in range(MANY_EVENTS)]
        self.show(self.write(events, iter_time_ms=[0.012 * MANY_EVENTS] * 100),
                  "--machine", "h200-sxm-141gb")
        self.assertIn("%d of %d events" % (MANY_EVENTS, MANY_EVENTS), self.text("#layer-count"))
        # Two things make them quick: the timeline is a canvas, and a layer's events become elements when
        # it is opened.  Charts and tables of fixed size have some thousand elements themselves.
        self.assertLess(self.value("document.querySelectorAll('*').length"), max(MANY_EVENTS, 10000))
        self.assertEqual(self.value("document.querySelectorAll('tr[data-event]').length"), 0)
        self.value("document.querySelector('tr.layer button').click()")
        self.assertEqual(self.value("document.querySelectorAll('tr[data-event]').length"), 10)

    def test_a_history_shows_ranks_layers_and_changes(self):
        sys.path.insert(0, str(DATA.parent / "bench"))
        import watched_run
        folder = self.path / "watched"
        watched_run.make(folder, 8, 3, 21.0, ["throttled"])
        names = json.loads((folder / "node00.rank1.prof.json").read_text())
        names["host_name"] = names["events"][0]["layer_name"] = EVIL
        (folder / "node00.rank1.prof.json").write_text(json.dumps(names))
        for dark in [False, True]:
            file = self.path / "history.html"
            self.assertEqual(run("history", folder, "--format", "html", "-o", file, "--force").returncode, 0)
            self.page.open(file, dark)
            self.assertEqual(self.page.complaints(), [])
            self.assertNotEqual(self.value("document.title"), "pwned")
            self.assertIn("hardware: rank 3 on node00", self.text("#recurrences"))
            self.assertEqual(self.value("document.querySelectorAll('#changes button').length"), 1)
            self.assertGreater(self.value("document.getElementById('ranks').height"), 100)
            self.value("document.querySelector('#changes button').click()")
            self.assertEqual(self.value("document.getElementById('machine-rank').value"), "3")
            self.value("document.getElementById('ranks').focus()")
            for key in ["ArrowDown"] * 3:
                self.page.press(key)
            self.assertRegex(self.text("#ranks-details"), r"rank 3, node00: 2026-11-24 05:59 to .* us, 1\.3[78]\d times its peers")
            self.value("[...document.querySelectorAll('#windows button')].at(-1).click()")
            self.assertEqual(self.page.complaints(), [])

    def test_axe_finds_nothing_serious(self):
        axe = next((path for path in [os.environ.get("AXE_CORE", ""),
                                      "/usr/share/nodejs/axe-core/axe.min.js"]
                    if pathlib.Path(path).is_file()), None)
        if axe is None:
            self.skipTest("no axe-core: scripts/test.sh installs it")
        for dark in [False, True]:
            self.show(A100, *A100_OPTIONS, dark=dark)
            self.value("document.querySelector('tr.layer button').click()")
            self.value("document.querySelector('tr[data-event] button').click()")
            self.value(pathlib.Path(axe).read_text() + ";0")
            found = json.loads(self.value(
                "axe.run(document).then(result => JSON.stringify({passes: result.passes.length,"
                "violations: result.violations.map(v => [v.impact, v.id, v.nodes[0].html])}))"))
            self.assertGreater(found["passes"], 20)
            self.assertEqual([v for v in found["violations"] if v[0] in ("serious", "critical")], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
