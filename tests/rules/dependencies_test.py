"""Runs scripts/dependencies.sh against made-up package tools that write down what they are asked."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1)).resolve()

# dpkg-query --show --showformat=... PACKAGE: knows the packages named in INSTALLED.
DPKG_QUERY = """#!/bin/bash
for package in $INSTALLED; do
  if [[ "$package" == "${@: -1}" ]]; then printf 'ii '; exit 0; fi
done
exit 1
"""
# apt-cache show PACKAGE: knows every package but those in UNKNOWN, until apt-get update has run.
APT_CACHE = """#!/bin/bash
[[ -e "$ASKED/updated" ]] && exit 0
for package in $UNKNOWN; do [[ "$package" == "$2" ]] && exit 1; done
exit 0
"""
APT_GET = """#!/bin/bash
echo "apt-get $*" >>"$ASKED/log"
echo "Reading package lists..."
if [[ "$1" == update ]]; then : >"$ASKED/updated"; fi
if [[ "$1" == install && -n "$STALE" && ! -e "$ASKED/updated" ]]; then exit 100; fi
exit 0
"""
STYLE = "clang-format clang-tidy"


class Dependencies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.tool("dpkg-query", DPKG_QUERY)
        self.tool("apt-cache", APT_CACHE)
        self.tool("apt-get", APT_GET)
        # The script finds these programs of the real system and nothing else: no real apt-get is in reach.
        for name in ("bash", "env"):
            (self.tools / name).symlink_to(f"/usr/bin/{name}")

    def tool(self, name, text):
        file = self.tools / name
        file.write_text(text)
        file.chmod(0o755)

    def run_script(self, *purposes, user=0, **variables):
        self.tool("id", f"#!/bin/bash\necho {user}\n")
        environment = {"PATH": str(self.tools), "ASKED": str(self.folder), "STALE": "", "UNKNOWN": "",
                       "INSTALLED": "", **variables}
        return subprocess.run(["/bin/bash", str(SCRIPT), *purposes], env=environment, text=True,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL)

    def asked(self):
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    def test_nothing_is_asked_where_all_is_installed(self):
        done = self.run_script("style", INSTALLED=STYLE + " shellcheck")
        self.assertEqual((done.returncode, self.asked(), done.stderr), (0, [], ""))

    def test_root_installs_what_is_missing_and_only_that(self):
        done = self.run_script("style", INSTALLED="clang-format shellcheck")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.asked(), ["apt-get install --yes --no-install-recommends clang-tidy"])

    def test_what_apt_prints_goes_to_stderr(self):
        done = self.run_script("style", STALE="1")
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("Reading package lists..."), 4)

    def test_the_lists_are_fetched_where_a_name_is_unknown(self):
        self.run_script("style", INSTALLED="clang-tidy shellcheck", UNKNOWN="clang-format")
        self.assertEqual(self.asked(), ["apt-get update",
                                        "apt-get install --yes --no-install-recommends clang-format"])

    def test_the_lists_are_fetched_where_they_are_too_old(self):
        done = self.run_script("style", INSTALLED="clang-tidy shellcheck", STALE="1")
        install = "apt-get install --yes --no-install-recommends clang-format"
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.asked(), [install, "apt-get update", install])

    def test_others_are_told_the_line_and_nothing_is_touched(self):
        done = self.run_script("style", user=1000, INSTALLED="clang-tidy")
        self.assertEqual((done.returncode, self.asked()), (1, []))
        self.assertIn("sudo apt-get install clang-format\n", done.stderr)

    def test_optional_packages_are_asked_of_nobody(self):
        done = self.run_script("style", user=1000, INSTALLED=STYLE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_another_system_is_told_what_is_needed_and_goes_on(self):
        (self.tools / "apt-get").unlink()
        done = self.run_script("style")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(STYLE, done.stderr)

    def test_an_unknown_purpose_is_refused(self):
        done = self.run_script("fun")
        self.assertEqual((done.returncode, self.asked()), (2, []))


if __name__ == "__main__":
    unittest.main()
