#!/usr/bin/env python3
"""Judges the report of a whole program: is its iteration explained?

    end_to_end.py NAME REPORT.json CHAIN_REPORT.json

The reports are what `prof-analyze --format json` writes, the second with `--event-bias chain`.  Prints lines
`PASS|FAIL|SKIP CLAIM: TEXT`, with the numbers of docs/gpu_results.md:

  59  the iteration that is rebuilt from the layers' times is within 5 % of the measured one
  13  the same by the second report: which correction of event pairs makes layers add up?
  60  what was measured, with and without a prediction, is 90 % of the iteration at least

Exit status 1 if one failed.
"""

import json
import sys

MOST_OFF = 0.05
LEAST_SHARE = 90.0


def rebuilt(report):
    """(word, text) of claim 59."""
    iteration_us, path_us = report["iteration_us"], report["longest_path_us"]
    if not iteration_us or path_us is None:
        return "SKIP", f"no iteration to compare: {report['longest_path_reason'] or report['shares_reason']}"
    off = path_us / iteration_us - 1
    return ("PASS" if abs(off) <= MOST_OFF else "FAIL",
            f"iteration {iteration_us:.1f} us, rebuilt from its layers {path_us:.1f} us ({100 * off:+.1f} %)")


def explained(report):
    """(word, text) of claim 60."""
    shares = report["shares"]
    if shares is None:
        return "SKIP", f"no shares: {report['shares_reason']}"
    share = shares["predicted"] + shares["measured"]
    return ("PASS" if share >= LEAST_SHARE else "FAIL",
            f"{shares['predicted']:.1f} % measured and predicted, {shares['measured']:.1f} % measured alone, "
            f"{shares['seen']:.1f} % seen, {shares['idle']:.1f} % idle or not seen")


def rebuilt_by_chain(report, without):
    """(word, text) of claim 13; `without` is the report without the option."""
    if "chain" not in report["event_bias_source"]:
        return "SKIP", f"no chain of kernels was timed: event bias by {report['event_bias_source']}"
    if report["event_bias_us"] == without["event_bias_us"]:
        return "SKIP", "no sample was taken where a chain was timed (pairs on an idle stream)"
    word, text = rebuilt(report)
    return word, f"with --event-bias chain, {report['event_bias_us']:.2f} us: {text}"


def main(name, path, chain_path):
    reports = []
    for each in (path, chain_path):
        with open(each, encoding="utf-8") as file:
            reports.append(json.load(file))
    failed = False
    for claim, (word, text) in ((59, rebuilt(reports[0])), (13, rebuilt_by_chain(reports[1], reports[0])),
                                (60, explained(reports[0]))):
        failed = failed or word == "FAIL"
        print(f"{word} {claim}: {name}: {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
