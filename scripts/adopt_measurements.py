#!/usr/bin/env python3
"""Takes what `prof-model measure` found on a GPU into the repository.

    scripts/adopt_measurements.py PROF_MODEL MEASURED MACHINE [--into DIR]

PROF_MODEL  the program, e.g. build/dev/analyzer/cli/prof-model
MEASURED    the folder of tables that `prof-model measure -o MEASURED/` wrote on that GPU
MACHINE     its id, a file of analyzer/model/machines
--into DIR  where machines/ and params/ are; default: analyzer/model of this repository

Writes params/*.json, fitted to all rows of a table, and into machines/MACHINE.json the fastest stream as
the measured bandwidth, with its source.  Prints rows for docs/accuracy.md: each third of a table is held out in
turn and predicted with what was fitted to the rest.  What a table is too small for is left out, and said.

Exit status: 0 done, 1 nothing could be taken over, 2 the command line is wrong.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDS = 3
LEAST_ROWS = 30
# (model, table, what its rows say, end of the parameter file's name, further settings of the fit)
FITS = [("gemm", "gemm", {"a_type": "bf16"}, "bf16", ["--set", "a_type=bf16"]),
        ("gemm", "gemm", {"a_type": "f16"}, "f16", ["--set", "a_type=f16"]),
        ("gemm", "gemm_quantise", {"a_type": "f8e4m3"}, "f8e4m3",
         ["--set", "a_type=f8e4m3", "--boundary", "gemm+quantise"]),
        ("memory", "memory", {}, "", []),
        ("conv", "conv", {"type": "f32", "direction": "forward"}, "f32_forward", []),
        ("conv", "conv", {"type": "f16", "direction": "forward"}, "f16_forward", [])]


class TooLittle(Exception):
    pass


def read_rows(path, condition):
    if not path.exists():
        raise TooLittle(f"no {path.name}")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in rows if all(row.get(column) == value for column, value in condition.items())]
    if len(rows) < LEAST_ROWS:
        raise TooLittle(f"{path.name}: {len(rows)} rows, {LEAST_ROWS} are needed")
    return rows


def write_rows(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


class Fitter:
    def __init__(self, program, machine, work):
        self.program, self.machine, self.work = program, machine, work

    def call(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if not line.startswith("Try ")]
            raise TooLittle(f"{arguments[0]}: {(words or ['(nothing said)'])[-1]}")
        return done.stdout

    def fit(self, model, settings, rows, output):
        table = write_rows(self.work / "fitted.csv", rows)
        self.call("fit", "--model", model, "--machine", self.machine, *settings, "--seed", 1, table,
                  "-o", output, "--force")

    def evaluate(self, model, params, rows):
        """The line `all` of an evaluation, by column."""
        table = write_rows(self.work / "held_out.csv", rows)
        out = self.call("evaluate", "--model", model, "--machine", self.machine, "--params", params, table,
                        "--format", "csv")
        return next(line for line in csv.DictReader(out.splitlines()) if line["group"] == "all")

    def held_out(self, model, settings, rows):
        """Means over the folds, weighted by their rows: (rows, MAPE, coverage, half-width)."""
        count, sums = 0, [0.0, 0.0, 0.0]
        for fold in range(FOLDS):
            # The order of measuring is shuffled, so every third row is a random third.
            test = rows[fold::FOLDS]
            train = [row for i, row in enumerate(rows) if i % FOLDS != fold]
            params = self.work / "fold.json"
            self.fit(model, settings, train, params)
            found = self.evaluate(model, params, test)
            n = int(found["n"])
            count += n
            for i, column in enumerate(("mape_percent", "coverage_percent", "half_width_percent")):
                sums[i] += n * float(found[column] or "nan")
        if count == 0:
            raise TooLittle("no row could be predicted")
        return (count, *(value / count for value in sums))


def accuracy_row(name, found):
    count, mape, coverage, half_width = found
    return f"| {name} | a third in turn | {count} | {mape:.1f} % | {coverage:.1f} % | {half_width:.1f} % |"


def fastest_stream(path):
    """GB/s of the fastest stream that is too long for the L2, and the row it comes from."""
    rows = read_rows(path, {})
    sizes = [int(row["read_bytes"]) + int(row["write_bytes"]) for row in rows]
    longest = max(sizes)
    streams = [(size / float(row["time_us"]) * 1e-3, row) for size, row in zip(sizes, rows)
               if size >= longest / 4]
    return max(streams, key=lambda stream: stream[0])


def adopt_bandwidth(measured, machine_file):
    gb_per_s, row = fastest_stream(measured / "bandwidth.csv")
    machine = json.loads(machine_file.read_text())
    if row["device_name"] not in machine["names"]:
        raise TooLittle(f"{machine_file.name} is no {row['device_name']}")
    datasheet = machine["memory_gb_per_s"]["datasheet"]
    if gb_per_s > datasheet:
        raise TooLittle(f"{gb_per_s:.0f} GB/s is more than the data sheet's {datasheet}: not taken over")
    # Only two places change, so that the rest stays as it was written.
    text = machine_file.read_text()
    before = json.dumps(machine["memory_gb_per_s"]["measured"])
    start = text.index('"memory_gb_per_s"')
    text = text[:start] + text[start:].replace(f'"measured": {before}', f'"measured": {gb_per_s:.0f}', 1)
    source = text.index('"memory_gb_per_s": "', text.index('"sources"'))
    end = text.index('"', source + len('"memory_gb_per_s": "'))
    old = text[source:end].split("; measured:")[0]
    text = (text[:source] + f"{old}; measured: {row['kernel']} stream of prof-model measure, "
            f"{row['driver_version']}" + text[end:])
    json.loads(text)
    machine_file.write_text(text)
    return gb_per_s


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prof_model")
    parser.add_argument("measured", type=pathlib.Path)
    parser.add_argument("machine")
    parser.add_argument("--into", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent / "analyzer" / "model")
    options = parser.parse_args()
    machine_file = options.into / "machines" / f"{options.machine}.json"
    if not machine_file.exists():
        parser.error(f"{machine_file}: no such machine")
    if not options.measured.is_dir():
        parser.error(f"{options.measured}: no such folder")
    taken = 0

    def attempt(what, action):
        nonlocal taken
        try:
            print(action())
            taken += 1
        except TooLittle as reason:
            print(f"left out: {what}: {reason}", file=sys.stderr)

    attempt("bandwidth", lambda: f"{machine_file.name}: "
            f"{adopt_bandwidth(options.measured, machine_file):.0f} GB/s measured")
    with tempfile.TemporaryDirectory() as folder:
        fitter = Fitter(options.prof_model, options.machine, pathlib.Path(folder))
        for model, table, condition, suffix, settings in FITS:
            def adopt(model=model, table=table, condition=condition, suffix=suffix, settings=settings):
                rows = read_rows(options.measured / f"{table}.csv", condition)
                row = accuracy_row(f"{table} {suffix}".strip(), fitter.held_out(model, settings, rows))
                name = "_".join(filter(None, (model, options.machine, suffix)))
                fitter.fit(model, settings, rows, options.into / "params" / f"{name}.json")
                return row
            attempt(f"{table} {suffix}".strip(), adopt)
    return 0 if taken else 1


if __name__ == "__main__":
    sys.exit(main())
