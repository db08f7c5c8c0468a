"""The parts demo (claims 15, 21, 31, 32), examples (13, 59, 60) and measure (53 to 55) of gpu_check.py: whole programs under the
injected library, their reports, and shapes measured alone."""

import json
import os
import re
import subprocess
import sys
import time

from host_program import IS_REHEARSAL, Failure, Skip, preloaded, run, run_and_read
from machine import wheel_folders

MEASURE_REST_S = 80  # beside the budget: fits, the shapes of a run
MOST_OFF = 0.05
LEAST_SHARE = 90.0


# --- demo

def part_demo(check):
    claims = "15, 21, 31, 32"
    dlrm, plain = check.build / "examples/dlrm/dlrm", check.build / "examples/dlrm/dlrm_plain"
    with check.claim(claims, "the example alone"):
        check.need(dlrm, check.library, check.analyze)
        check.need_gpu()
        check.say("PASS", f"32: the example alone: {run([plain, '--iterations', 2000], {}, 12).last_words}")
        with check.claim("32", "the example"):
            prof = check.folder / "prof.json"
            said, profile = run_and_read([dlrm, "--iterations", 4000], preloaded(check.library, prof, repeat=20), prof, 14)
            check.say("PASS", f"32: {said.stdout.strip().splitlines()[-1]}")
            overhead = profile["overhead"]
            check.say("FIGURE", f"15, 21: complete {profile['complete']}, {len(profile['events'])} events, "
                                f"{sum(len(event['measured_times_ms']) for event in profile['events'])} samples, slowdown "
                                f"{overhead.get('slowdown_percent')} % (95 %: {overhead.get('slowdown_percent_ci95')}), dropped "
                                f"{profile['dropped']}, calibration {profile['calibration']}")
            with check.claim("31"):
                report = check.folder / "report.txt"
                run([check.analyze, prof, "-o", report], {}, 20)
                run([check.analyze, prof, "--format", "json", "-o", "report.json"], {}, 20)
                check.say("PASS", f"31: report: {report.read_text().splitlines()[0]}")
        # A program that knows nothing of us: kernels are found by themselves.
        with check.claim("32", "without macros"):
            said = run([plain, "--iterations", 2000], preloaded(check.library, check.folder / "plain.prof.json"), 10)
            run([check.analyze, "plain.prof.json", "-o", "plain_report.txt"], {}, 20)
            check.say("PASS", f"32: without macros: {said.stdout.strip().splitlines()[-1]}")


# --- examples

def rebuilt(report):
    """Raises Failure unless the iteration rebuilt from its layers is within 5 % of the measured one (claim 59)."""
    iteration_us, path_us = report["iteration_us"], report["longest_path_us"]
    if not iteration_us or path_us is None:
        raise Skip(f"no iteration to compare: {report['longest_path_reason'] or report['shares_reason']}")
    off = path_us / iteration_us - 1
    text = f"iteration {iteration_us:.1f} us, rebuilt from its layers {path_us:.1f} us ({100 * off:+.1f} %)"
    if abs(off) > MOST_OFF:
        raise Failure(text)
    return text


def rebuilt_by_chain(report, without):
    """Judges the same by `--event-bias chain`, which another correction of event pairs is (claim 13)."""
    if "chain" not in report["event_bias_source"]:
        raise Skip(f"no chain of kernels was timed: event bias by {report['event_bias_source']}")
    if report["event_bias_us"] == without["event_bias_us"]:
        raise Skip("no sample was taken where a chain was timed (pairs on an idle stream)")
    return f"with --event-bias chain, {report['event_bias_us']:.2f} us: {rebuilt(report)}"


def explained(report):
    """Raises Failure unless 90 % of the iteration is measured, with or without a prediction (claim 60)."""
    shares = report["shares"]
    if shares is None:
        raise Skip(f"no shares: {report['shares_reason']}")
    text = (f"{shares['predicted']:.1f} % measured and predicted, {shares['measured']:.1f} % measured alone, "
            f"{shares['seen']:.1f} % seen, {shares['idle']:.1f} % idle or not seen")
    if shares["predicted"] + shares["measured"] < LEAST_SHARE:
        raise Failure(text)
    return text


def example(check, name, command, variables=None):
    with check.claim("59, 60", name):
        check.need(check.build / "libinject/run/prof-run", check.analyze)
        prof = check.folder / f"{name}.prof.json"
        run_and_read([check.build / "libinject/run/prof-run", *command], {"INLINE_PROF_OUT": str(prof), **(variables or {})}, prof, 45)
        run([check.analyze, prof, "--format", "html", "-o", f"{name}.html"], {}, 20)
        reports = []
        for options in ([], ["--event-bias", "chain"]):
            output = check.folder / f"{name}.{len(reports)}.json"
            run([check.analyze, prof, "--format", "json", *options, "-o", output], {}, 20)
            reports.append(json.loads(output.read_text()))
        for claim, judge, given in (("59", rebuilt, reports[:1]), ("13", rebuilt_by_chain, reports[::-1]), ("60", explained, reports[:1])):
            check.judge(claim, name, judge, *given)


def part_examples(check):
    with check.claim("13, 59, 60"):
        check.need_gpu()
        for name, arguments, variables in (
                ("dlrm", ["--repeat", "20", "--", "dlrm/dlrm", "--iterations", "20000"], {}),
                # Copies of graphs are made beside the program, however long that takes.
                ("graph", ["--repeat", "20", "--", "graph/graph", "--iterations", "150000"], {"INLINE_PROF_EXIT_WHEN_DONE": "1"})):
            program = check.build / "examples" / arguments[3]
            if program.exists():
                example(check, name, [*arguments[:3], program, *arguments[4:]], variables)
            else:
                check.say("SKIP", f"59, 60: {name} was not built")
        with check.claim("59, 60", "pytorch"):
            run([sys.executable, check.scripts / "torch_programs.py", "gpu"], {}, 30)
            # As long as its GPU needs for a step, the application has made the next one's data.
            example(check, "pytorch", ["--torch", "--policy", "adaptive", "--", sys.executable, check.source / "examples/pytorch/gpt.py",
                                       "--steps", "1000", "--batch", "128", "--width", "1024", "--heads", "16"])


# --- measure

class Measurement:
    """Runs prof-model measure and reads what it said."""

    def __init__(self, check):
        self.check, self.model = check, check.build / "analyzer/cli/prof-model"
        self.variables = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, [
            os.environ.get("LD_LIBRARY_PATH"), "/usr/local/cuda/lib64", *wheel_folders()]))}

    def model_run(self, log, *arguments, timeout_s=None):
        """Returns (status, the lines of stderr)."""
        try:
            done = subprocess.run([str(word) for word in (self.model, *arguments)], env=self.variables, capture_output=True, text=True,
                                  timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"did not end within {timeout_s} s") from error
        (self.check.folder / log).write_text(done.stderr)
        with (self.check.folder / "measure.txt").open("a") as file:
            file.write(done.stdout)
        return done.returncode, done.stderr.strip().splitlines() or ["(nothing said)"]

    def all_suites(self, budget_s):
        """Measures every suite (claim 53); an algorithm that costs the process its GPU is left out, and the rest goes on."""
        until = time.monotonic() + budget_s
        points = ["--points", 40] if IS_REHEARSAL else []
        status, said = self.model_run("measure.log", "measure", "-o", "measured/", "--budget-s", budget_s, *points)
        for again in (1, 2, 3):
            stopped = [line for line in said if line.startswith("stopped at")]
            left = int(until - time.monotonic())
            if status != 1 or not stopped or left < 10:
                break
            self.check.say("FAIL", f"53: {stopped[-1]}: {said[-1]}")
            status, said = self.model_run(f"measure{again}.log", "measure", "-o", "measured/", "--resume", "--budget-s", left)
        if status == 3:
            raise Skip(said[-1])
        tables = {table.name: len(table.read_text().splitlines()) - 1 for table in (self.check.folder / "measured").glob("*.csv")}
        figures = "; ".join(line for line in said if re.match("fastest|empty|the time", line))
        if status in (0, 4):
            self.check.say("FIGURE", f"53: in {budget_s} s {sum(tables.values())} rows in {len(tables)} tables; {figures}")
        else:  # what was measured before the GPU failed is kept
            self.check.say("FAIL", f"53: status {status}: {said[-1]}")
            if not tables:
                raise Skip("no table")
        for line in said:
            if re.match("skipped .*(libc|no GPU|built without)", line):
                self.check.say("SKIP", f"53: {line[len('skipped '):]}")
        return said[0].partition(",")[0]

    def fits(self, gpu):
        """Fits the tables (claim 54)."""
        machine = next((file.stem for file in sorted((self.check.source / "analyzer/model/machines").glob("*.json"))
                        if gpu in json.loads(file.read_text())["names"]), None)
        if machine is None:
            raise Skip(f"no machine file names this GPU: {gpu}")
        for model, options in (("gemm", ["--set", "a_type=bf16"]), ("memory", []), ("conv", [])):
            with self.check.claim("54", model):
                table = self.check.folder / f"measured/{model}.csv"
                self.check.need(table)
                status, said = self.model_run(f"fit_{model}.log", "fit", "--model", model, "--machine", machine, *options, table, "-o",
                                              f"{model}.json", "--force", timeout_s=60)
                too_few = [line for line in said if "rows, but a fit of" in line]
                if too_few:  # the time was up before there were more
                    raise Skip(too_few[0])
                if status != 0:
                    raise Failure(said[-1])
                self.check.say("FIGURE", f"54: {model} on {machine}: {next((line for line in said if 'cross' in line.lower()), said[-1])}")

    def run_alone(self):
        """Replays the shapes of the runs that other parts have profiled (claim 55)."""
        profiles = [profile for profile in (self.check.results / "demo/prof.json", self.check.results / "examples/pytorch.prof.json")
                    if profile.exists()]
        if not profiles:  # a fresh machine
            profiles = [self.check.folder / "prof.json"]
            run_and_read([self.check.build / "examples/dlrm/dlrm", "--iterations", "3000"], preloaded(self.check.library, profiles[0], repeat=20),
                         profiles[0], 20)
        for number, profile in enumerate(profiles):
            alone = f"alone{number}.csv"
            status, said = self.model_run(f"alone{number}.log", "measure", "--from", profile, "-o", alone, "--budget-s", 20)
            if status not in (0, 4):
                raise Failure(said[-1])
            report = self.check.folder / f"isolated{number}.txt"
            run([self.check.analyze, profile, "--isolated", alone, "-o", report], {}, 20)
            causes = re.findall("none: as alone|contention|kernel choice|warmer|model", report.read_text())
            table = (self.check.folder / alone).read_text()
            self.check.say("FIGURE", f"55: {profile.name}: {len(table.splitlines()) - 1} shapes alone, attention by cuDNN's kernel "
                                     f"{len(re.findall(r'attention.*,cudnn ', table))} times; {len(causes)} causes named")


def part_measure(check):
    with check.claim("53, 54, 55"):
        check.need(check.build / "analyzer/measure/prof-measure")
        measurement = Measurement(check)
        gpu = measurement.all_suites(max(10, check.limit_s - MEASURE_REST_S))
        with check.claim("54"):
            measurement.fits(gpu)
        with check.claim("55"):
            measurement.run_alone()
