#!/usr/bin/env python3
"""Makes docs/pictures: what the programs draw of real files, and the html report in a browser.

usage: scripts/make_pictures.py BUILD_DIR

The scaling picture is of examples/allreduce on the simulated GPU, whose times are those of a model;
everything else is of measurements in tests/data.  Needs Chromium for the page (Debian: chromium).
"""

import base64
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/unit/analyzer/cli"))
import chromium  # noqa: E402: found only now

PICTURES = SOURCE / "docs/pictures"
DATA = SOURCE / "tests/data"
# As a reader of the project would call it: the page shows the path.
A100 = ["tests/data/hugectr/dlrm_a100_8gpu.prof.json", "--machine", "a100-sxm4-40gb",
        "--layers", "tests/data/hugectr/dlrm_a100.layers.json"]


def run(program, *arguments, **environment):
    subprocess.run([str(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd=SOURCE,
                   env=dict(os.environ, **environment))


def picture_of_page(page, name, file, dark=False, selector=None):
    page.open(file, dark)
    if selector:
        page.evaluate("document.querySelector('%s').scrollIntoView()" % selector)
    shot = page.send("Page.captureScreenshot", format="png")["data"]
    (PICTURES / name).write_bytes(base64.b64decode(shot))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    prof_analyze = build / "analyzer/cli/prof-analyze"
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(prof_analyze, "timeline", *A100, "--top", 2, "-o", PICTURES / "timeline.svg", "--force")
        for ranks in [1, 2, 4, 8]:
            run(build / "libinject/run/prof-run", "--sim", "--repeat", 10, "--dir", folder / str(ranks),
                "--", build / "examples/allreduce/allreduce", "--ranks", ranks, "--iterations", 600,
                SIMGPU_MODEL=str(SOURCE / "examples/allreduce/simgpu_model.json"),
                SIMGPU_DEVICES="8")
        run(prof_analyze, "scaling", *(folder / str(ranks) for ranks in [1, 2, 4, 8]), "--mode", "compat",
            "--top", 4, "-o", PICTURES / "scaling.svg", "--force")
        params = folder / "curves.json"
        curves = DATA / "golden/collective/collectives_curves.csv"
        run(build / "analyzer/cli/prof-model", "fit", "--model", "collective", curves, "-o", params)
        run(build / "analyzer/cli/prof-model", "plot", "--model", "collective", "--params", params, curves,
            "--kind", "curve", "--curve", "xla_h100_allreduce_8", "-o", PICTURES / "curve.svg", "--force")
        page_file = folder / "report.html"
        run(prof_analyze, *A100, "--format", "html", "-o", page_file)
        page = chromium.Page(1100, 800)
        try:
            picture_of_page(page, "report.png", page_file)
            picture_of_page(page, "report_layers.png", page_file, selector="#layer-table")
            picture_of_page(page, "report_dark.png", page_file, dark=True, selector="#timeline")
        finally:
            page.close()
    for picture in sorted(PICTURES.iterdir()):
        print("%s %.0f kB" % (picture.name, picture.stat().st_size / 1e3))


if __name__ == "__main__":
    main()
