#!/usr/bin/env python3
"""Sets the kernels of real library calls beside those of the simulated libraries (claim 39), and asks the
analyzer's own functions what they make of the real names.

    library_kernels.py REAL.json [SIMULATED.json] --kernel-words PROGRAM --table FILE.csv

REAL.json and SIMULATED.json are what library_calls.py --rows wrote.  The table has a line for each call: how
many kernels it launches, their names, the algorithm; the real ones, the simulated ones, and what the analyzer
reads.  Prints lines `PASS|FAIL|SKIP|FIGURE 39: TEXT`; exit status 1 if one failed.

PASS and FAIL are about what our code depends on (analyzer/model/calibrated): a convolution's kernel must be known
for one, and for the algorithm that was asked for; the name of a product's kernel must have a tile.
"""

import argparse
import csv
import json
import math
import pathlib
import re
import subprocess
import sys

# cudnn_cnn.h, cudnnConvolutionFwdAlgo_t: what the analyzer must read from the kernels' names.
ALGORITHMS = {0: "plain_implicit_gemm", 1: "implicit_gemm", 2: "explicit_gemm", 4: "fft", 5: "fft",
              6: "winograd", 7: "winograd_nonfused"}
# The UUID of the simulated GPU spells its name (simgpu).
SIMULATED_GPU = "GPU-" + "simgpu".encode().hex()[:8]
BY_ALGORITHM = re.compile(r"forward by algorithm (\d+)$")
UNNAMED = ["-", "-", "-"]
COLUMNS = ["library", "call", "kernels", "names", "about", "analyzer", "simulated_kernels", "simulated_names",
           "simulated_about"]


def operation_words(op):
    """The shape, short."""
    if op["kind"] == "gemm":
        return f"{op['m']}x{op['n']}x{op['k']} batch {op['batch']} {op['a_type']} {op['compute_type']}"
    return (f"{op['n']}x{op['c']}x{op['h']}x{op['w']} to {op['k']}, {op['r']}x{op['s']} {op['type']} {op['layout']} "
            f"{op['direction']}")


def first(value):
    return value[0] if isinstance(value, list) else value


def question(row):
    """The line that kernel_words is asked, of the kernel that the analyzer looks at."""
    op = row["op"]
    if op["kind"] == "gemm":
        shape = [0, 0, 1, op["m"], op["n"], op["k"], op["batch"]]
    else:
        shape = [op["r"], op["s"], first(op["stride"]), 1, 1, 1, 1]
    return " ".join(map(str, [op["kind"], *shape, math.prod(row["grid"] or [1]), row["kernel"]]))


def ask(program, rows):
    """What the analyzer makes of each row's kernel; nothing where that has no name."""
    named = [row for row in rows if row["kernel"]]
    done = subprocess.run([program], input="".join(question(row) + "\n" for row in named), capture_output=True,
                          text=True, timeout=20, check=True)
    answers = iter(done.stdout.splitlines())
    return [next(answers).split() if row["kernel"] else UNNAMED for row in rows]


def is_simulated(rows):
    """Whether each GPU that the rows are of is the simulated one."""
    gpus = rows.get("gpus", [])
    return bool(gpus) and all(gpu.startswith(SIMULATED_GPU) for gpu in gpus)


def judge_product(row, answer):
    """What is wrong, or None."""
    if min(row["op"]["m"], row["op"]["n"]) == 1:
        return None  # a matrix by a vector has kernels of other kinds
    return None if answer[0] != "-" else "no tile in the name"


def judge_convolution(row, answer):
    if answer[0] == "-":
        return "known for no convolution"
    by = BY_ALGORITHM.match(row["call"])
    expected = ALGORITHMS.get(int(by.group(1))) if by else None
    return None if expected in (None, answer[0]) else f"taken for {answer[0]}, expected {expected}"


def summaries(rows, answers):
    """[(word, text)]: do the names tell the analyzer what it needs?"""
    lines = [("SKIP", f"39: {row['call']}: its kernel has no name") for row in rows if not row["kernel"]]
    rows, answers = zip(*named) if (named := [pair for pair in zip(rows, answers) if pair[0]["kernel"]]) else ((), ())
    for kind, what, judge in (("gemm", "products' kernels have a tile in their names", judge_product),
                              ("conv", "convolutions' kernels are known by their names", judge_convolution)):
        mine = [(row, answer) for row, answer in zip(rows, answers) if row["op"]["kind"] == kind]
        faults = [f"{row['call']}: {row['kernel']}: {complaint}" for row, answer in mine
                  if (complaint := judge(row, answer))]
        if not mine:
            lines.append(("SKIP", f"39: no call of kind {kind}"))
        elif faults:
            lines.append(("FAIL", f"39: {len(mine) - len(faults)} of {len(mine)} {what}: {' | '.join(faults)}"))
        else:
            lines.append(("PASS", f"39: all {len(mine)} {what}"))
    products = [answer for row, answer in zip(rows, answers) if row["op"]["kind"] == "gemm"]
    if products:
        borne_out = sum(answer[1] != "-" for answer in products)
        lines.append(("FIGURE", f"39: the blocks bear out the tile of {borne_out} of {len(products)} products; splits "
                                f"of k {' '.join(answer[2] for answer in products if answer[2] != '-')}"))
    return lines


def table_of(real, simulated, answers_of):
    rows = []
    for library, calls in real["rows"].items():
        twins = {}
        for row in simulated["rows"].get(library, []) if simulated else []:
            twins.setdefault(row["call"], []).append(row)
        for row in calls:
            if not row["op"] or row["op"]["kind"] not in ("gemm", "conv"):
                continue
            twin = twins[row["call"]].pop(0) if twins.get(row["call"]) else None
            rows.append((row, {
                "library": library, "call": f"{row['call']}: {operation_words(row['op'])}",
                "kernels": len(row["kernels"]), "names": " ; ".join(row["kernels"]), "about": row["about"],
                "simulated_kernels": len(twin["kernels"]) if twin else "",
                "simulated_names": " ; ".join(twin["kernels"]) if twin else "",
                "simulated_about": twin["about"] if twin else ""}))
    for (_, line), answer in zip(rows, answers_of([row for row, _ in rows])):
        line["analyzer"] = " ".join(answer)
    return rows


def figures(rows):
    """A line for each call, short enough to be read in a summary."""
    for _, line in rows:
        about = f" ({line['about']})" if line["about"] else ""
        beside = "; not simulated here"
        if line["simulated_names"] == line["names"]:
            beside = "; simulated the same"
        elif line["simulated_names"]:
            beside = f"; simulated {line['simulated_kernels']}: {line['simulated_names']}"
            beside += f" ({line['simulated_about']})" if line["simulated_about"] else ""
        yield "FIGURE", f"39: {line['library']} {line['call']}: {line['kernels']}: {line['names']}{about}{beside}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("real", type=pathlib.Path)
    parser.add_argument("simulated", type=pathlib.Path, nargs="?")
    parser.add_argument("--kernel-words", required=True)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    options = parser.parse_args()
    real = json.loads(options.real.read_text())
    simulated = (json.loads(options.simulated.read_text())
                 if options.simulated and options.simulated.exists() else None)
    if simulated and not is_simulated(simulated):
        print(f"SKIP 39: {options.simulated.name} is of no simulated GPU, and is left out: "
              f"{', '.join(simulated.get('gpus', [])) or 'it names none'}")
        simulated = None
    answers = []

    def answers_of(rows):
        answers.extend(ask(options.kernel_words, rows) if rows else [])
        return answers

    rows = table_of(real, simulated, answers_of)
    if not rows:
        print("SKIP 39: no call of cuBLAS or cuDNN gave its operation")
        return 0
    with options.table.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(line for _, line in rows)
    twins = [line for _, line in rows if line["simulated_names"]]
    lines = summaries([row for row, _ in rows], answers)
    if twins:
        same = sum(line["kernels"] == line["simulated_kernels"] for line in twins)
        lines.append(("FIGURE", f"39: {same} of {len(twins)} calls launch as many kernels as the simulated ones"))
    for word, text in [*lines, *figures(rows)]:
        print(word, text)
    return 1 if any(word == "FAIL" for word, _ in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
