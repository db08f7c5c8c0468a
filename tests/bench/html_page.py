#!/usr/bin/env python3
"""How large html reports are, and how long a browser takes until they can be used.

usage: tests/bench/html_page.py PROF_ANALYZE [--times N]

Of the real file in tests/data/hugectr and of one with 20,000 events of 50 samples, each opened N
times (5) in a fresh tab of headless Chromium.  The time is the page's own performance.now(), from
the start of the navigation until its program has drawn everything, takes input, and the next frame
has been shown; median and longest.

Wanted: less than 3 MB and 1 s for the real file, 3 s for 20,000 events.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/unit/analyzer/cli"))
import chromium  # noqa: E402: found only now

DATA = SOURCE / "tests/data/hugectr"
NEXT_FRAME = ("new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
              "() => done(performance.now()))))")


def many_events(count):
    events = [{"event_name": "kernel_%d" % i, "layer_name": "block%d.layer" % (i // 10), "device_id": 0,
               "stream": str(i % 3), "stream_index": i % 3, "start_index": 2 * i, "end_index": 2 * i + 1,
               "met_times_within_this_stream": 0,
               "measured_times_ms": [0.01 + 0.00001 * ((i * 7 + n * 13) % 101) for n in range(50)],
               "iter_start_to_event_start_times_ms": [0.012 * i] * 50,
               "op": {"kind": "gemm", "m": 64 * (i % 100 + 1), "n": 512, "k": 512, "a_type": "f16",
                      "b_type": "f16", "c_type": "f16"}} for i in range(count)]
    return {"schema": "inline_prof/1", "iter_time_ms": [0.012 * count] * 100, "events": events}


def measure(page, name, file, times):
    shown_ms = []
    for _ in range(times):
        page.open(file)
        next_frame_ms = page.evaluate(NEXT_FRAME)
        drawn_ms = float(page.evaluate("document.documentElement.dataset.loadedMs"))
        shown_ms.append((drawn_ms, next_frame_ms))
        if page.complaints():
            sys.exit("%s: %s" % (name, page.complaints()))
    drawn, shown = zip(*shown_ms)
    print("%-16s %6.2f MB   drawn %5.0f ms   next frame %5.0f ms, at most %5.0f ms" %
          (name, file.stat().st_size / 1e6, statistics.median(drawn), statistics.median(shown),
           max(shown)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    if chromium.program() is None:
        sys.exit("no chromium (Debian: chromium)")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "many.prof.json").write_text(json.dumps(many_events(20000)))
        page = chromium.Page()
        try:
            for title, options in [
                    ("real A100 file", [DATA / "dlrm_a100_8gpu.prof.json", "--machine", "a100-sxm4-40gb",
                                        "--layers", DATA / "dlrm_a100.layers.json"]),
                    ("20,000 events", [folder / "many.prof.json", "--machine", "h200-sxm-141gb"])]:
                file = folder / (title.replace(" ", "_") + ".html")
                subprocess.run([arguments.program.resolve(), *options, "--format", "html", "-o", file],
                               check=True)
                measure(page, title, file, arguments.times)
        finally:
            page.close()


if __name__ == "__main__":
    main()
