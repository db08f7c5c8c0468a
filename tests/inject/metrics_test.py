#!/usr/bin/env python3
"""INLINE_PROF_METRICS as Prometheus reads it, and the dashboard that shows it.

usage: metrics_test.py LIBRARY HOST_PROGRAM SIMULATED_GPU SOURCE_DIR
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

LIBRARY, HOST, SIMULATED_GPU, SOURCE = (pathlib.Path(name).resolve() for name in sys.argv[1:5])
PATIENCE_S = 60  # far more than a loaded machine needs
DEBIAN = "not installed (Debian: prometheus, prometheus-node-exporter)"


def environment(**variables):
    kept = {name: value for name, value in os.environ.items()
            if not re.match(r"INLINE_PROF_|PROFILING_|LD_|CUDA_|NVTX_|RANK$|SLURM_|OMPI_|PMI_|PBS_|TORCHELASTIC_",
                            name)}
    return {**kept, "LD_PRELOAD": str(LIBRARY), "LD_LIBRARY_PATH": str(SIMULATED_GPU),
            "INLINE_PROF_WARMUP": "3", "INLINE_PROF_REPEAT": "5", **variables}


def metric_names(text):
    return set(re.findall(r"^# TYPE (\S+) gauge$", text, re.MULTILINE))


def wait_for(question, what):
    """Returns the first true answer of `question`; asks at most ten times a second."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError("%s: not within %d s" % (what, PATIENCE_S))


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, OSError):
        return ""  # not listening yet


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Metrics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "metrics").mkdir()

    def run_host(self, *arguments, **variables):
        variables.setdefault("INLINE_PROF_METRICS", "metrics/run.prom")
        return subprocess.run([str(HOST), *arguments], cwd=self.folder, env=environment(**variables),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=PATIENCE_S, check=False)

    def measured(self, **variables):
        done = self.run_host("--iterations=1500", INLINE_PROF_OVERHEAD="1024", **variables)
        self.assertEqual(done.returncode, 0, done.stdout)
        (file,) = (self.folder / "metrics").iterdir()
        return file

    def start(self, *command):
        child = subprocess.Popen([str(part) for part in command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)

    def test_a_rank_has_a_file_of_its_own_and_promtool_finds_nothing(self):
        file = self.measured(RANK="2", WORLD_SIZE="4", TORCHELASTIC_RUN_ID='a "b"\\c')
        self.assertEqual(file.name, "run.rank2.prom")
        text = file.read_text()
        self.assertIn('rank="2",run="a \\"b\\"\\\\c"', text)
        self.assertIn("inline_prof_live_complete{", text)
        if shutil.which("promtool") is None:
            self.skipTest("promtool: " + DEBIAN)
        done = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_checkpoint_is_there_while_the_program_runs(self):
        child = subprocess.Popen([str(HOST), "--iterations=100000000"], cwd=self.folder,
                                 env=environment(INLINE_PROF_METRICS="metrics/run.prom", INLINE_PROF_CHECKPOINT="1",
                                                 INLINE_PROF_REPEAT="1000000"),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        file = self.folder / "metrics/run.prom"
        wait_for(file.exists, "the first checkpoint")
        first = file.stat().st_ino
        for _ in range(2000):  # each time whole, whenever it is read
            self.assertRegex(file.read_text(), r"inline_prof_live_complete\{[^\n]*\} 0\n\Z")
        wait_for(lambda: file.stat().st_ino != first, "the next checkpoint")
        self.assertIsNone(child.poll())

    def test_a_bad_path_is_said(self):
        (self.folder / "a_file").write_text("")
        for path, words in [("a_file/x.prom", "cannot hold files"), ("m/%x.prom", "INLINE_PROF_METRICS=m/%x.prom: unknown %x"),
                            ("prof.json", "is the name of the profile"), ("/dev/null", "is no regular file")]:
            done = self.run_host("--iterations=60", INLINE_PROF_METRICS=path)
            self.assertEqual(done.returncode, 0)  # the program is not affected
            self.assertIn(words, done.stdout)
            self.assertFalse((self.folder / "prof.json").exists())
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_node_exporter_and_prometheus_have_it(self):
        exporter, prometheus = map(shutil.which, ("prometheus-node-exporter", "prometheus"))
        if exporter is None or prometheus is None:
            self.skipTest("Prometheus: " + DEBIAN)
        self.measured(RANK="1")
        ports = free_port(), free_port()
        config = self.folder / "prometheus.yml"
        config.write_text("global: {scrape_interval: 1s}\n"
                          "scrape_configs: [{job_name: node, static_configs: [{targets: ['127.0.0.1:%d']}]}]\n" % ports[0])
        self.start(exporter, "--web.listen-address=127.0.0.1:%d" % ports[0], "--collector.disable-defaults",
                   "--collector.textfile", "--collector.textfile.directory=%s" % (self.folder / "metrics"))
        self.start(prometheus, "--config.file=%s" % config, "--storage.tsdb.path=%s" % (self.folder / "data"),
                   "--web.listen-address=127.0.0.1:%d" % ports[1])
        page = wait_for(lambda: get("http://127.0.0.1:%d/metrics" % ports[0]), "node_exporter's page")
        self.assertIn("node_textfile_scrape_error 0", page)

        def ask(expression):
            text = get("http://127.0.0.1:%d/api/v1/query?%s" %
                       (ports[1], urllib.parse.urlencode({"query": expression})))
            return json.loads(text)["data"]["result"] if text else []

        (found,) = wait_for(lambda: ask("inline_prof_live_iteration_seconds"), "Prometheus' answer")
        self.assertEqual((found["metric"]["rank"], found["metric"]["run"], found["metric"]["gpu"]),
                         ("1", "host_training", "0"))
        self.assertGreater(float(found["value"][1]), 0)
        # The dashboard's own expressions.
        for expression in dashboard_expressions():
            asked = expression.replace("$run", ".*").replace("$host", ".*")
            self.assertTrue(ask(asked), asked)

    def test_the_dashboard_asks_for_what_there_is(self):
        names = metric_names(self.measured().read_text())
        asked = set(re.findall(r"inline_prof_\w+", " ".join(dashboard_expressions())))
        self.assertEqual(asked - names, set())
        self.assertEqual(names - asked, {"inline_prof_live_iterations"})  # the list of runs is made of it
        page = (SOURCE / "docs/distributed.md").read_text()
        for name in names - {"inline_prof_live_iteration_upper_seconds"}:  # "_upper_seconds" there
            self.assertIn("`%s`" % name, page)


def dashboard_expressions():
    dashboard = json.loads((SOURCE / "docs/grafana_dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
