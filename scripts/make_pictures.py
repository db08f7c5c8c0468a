#!/usr/bin/env python3
"""Makes docs/pictures: the html report in a browser.

usage: scripts/make_pictures.py BUILD_DIR

Everything is of measurements in tests/data.  Needs Chromium (Debian: chromium).
"""

import base64
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/unit/analyzer/cli"))
import chromium  # noqa: E402: found only now

PICTURES = SOURCE / "docs/pictures"
# As a reader of the project would call it: the page shows the path.
A100 = ["tests/data/hugectr/dlrm_a100_8gpu.prof.json", "--machine", "a100-sxm4-40gb",
        "--layers", "tests/data/hugectr/dlrm_a100.layers.json"]


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
        page_file = folder / "report.html"
        subprocess.run([str(prof_analyze), *A100, "--format", "html", "-o", str(page_file)], check=True, cwd=SOURCE)
        page = chromium.Page(1100, 800)
        try:
            picture_of_page(page, "report.png", page_file)
            picture_of_page(page, "report_dark.png", page_file, dark=True, selector="#timeline")
        finally:
            page.close()
    for picture in sorted(PICTURES.iterdir()):
        print("%s %.0f kB" % (picture.name, picture.stat().st_size / 1e3))


if __name__ == "__main__":
    main()
