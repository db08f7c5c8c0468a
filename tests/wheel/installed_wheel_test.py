#!/usr/bin/env python3
"""The wheels, installed into an empty environment: nothing of the build tree is in reach.

    installed_wheel_test.py TOOLS_WHEEL SIMULATED_GPU_WHEEL

scripts/make_wheel.sh runs it.  Python 3.8 is enough."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ("prof-run", "prof-analyze", "prof-model", "prof-schedule")
HOST = """
from driver import Driver
driver = Driver(["embedding", "matmul"])
for _ in range(300):
    driver.launch("embedding")
    driver.launch("matmul")
driver.wait()
"""


class InstalledWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="wheel_test."))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.venv = cls.install(cls.folder / "venv", *WHEELS)
        cls.site, = cls.venv.glob("lib/python3*/site-packages")
        # The host is no part of the wheel.
        shutil.copy(SOURCE / "tests/python/hosts/driver.py", cls.folder)
        (cls.folder / "host.py").write_text(HOST)

    @classmethod
    def install(cls, venv, *wheels):
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        done = cls.pip(venv, *wheels)
        assert done.returncode == 0, done.stderr
        return venv

    @staticmethod
    def pip(venv, *wheels):
        return subprocess.run([str(venv / "bin/python3"), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                               "--disable-pip-version-check", *map(str, wheels)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def run_it(self, *command, status=0, cwd=None, **variables):
        """Returns the command's standard output; its environment has only `variables` and a plain PATH."""
        done = self.outcome(*command, cwd=cwd, **variables)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return done.stdout

    def outcome(self, *command, cwd=None, **variables):
        program = shutil.which(command[0], path=str(self.venv / "bin")) or command[0]
        return subprocess.run([str(program), *map(str, command[1:])], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, cwd=str(cwd or self.folder),
                              env=dict({"PATH": "/usr/bin:/bin"}, **variables))

    def files(self):
        return {str(path): path.stat().st_mtime_ns for path in self.venv.rglob("*") if path.is_file()}

    def profile(self, name, *options):
        folder = self.folder / name
        folder.mkdir()
        done = self.outcome("prof-run", "--sim", "--dir", folder, "--iteration", "kernel:embedding", *options, "--",
                            self.venv / "bin/python3", "host.py")
        profile, = folder.glob("*prof.json")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "inline_prof: wrote {0}; next: prof-analyze {0}\n".format(profile)), done.stdout)
        return profile

    def test_every_command_has_help_a_version_and_a_page(self):
        for command in COMMANDS:
            with self.subTest(command):
                self.assertIn(command, self.run_it(command, "--help"))
                self.assertRegex(self.run_it(command, "--version"), command + r" \d+\.\d+\.\d+")
                self.assertTrue((self.venv / "share/man/man1" / (command + ".1")).is_file())
        self.assertIn("INLINE_PROF_WARMUP", self.run_it("prof-run", "--help-env"))
        for line in self.run_it("prof-analyze", "--help").partition("Subcommands:\n")[2].splitlines():
            if line.startswith("  ") and line[2] != " ":
                self.run_it("prof-analyze", line.split()[0], "--help")
        self.assertTrue((self.venv / "share/man/man7/inline_prof.7").is_file())

    def test_the_simulated_gpu_has_what_pytorch_is_linked_with(self):
        libraries = {path.name for path in self.venv.rglob("inline_prof/simgpu/*.so*")}
        self.assertLessEqual({"libcufile.so.0", "libcusparseLt.so.0", "libnvshmem_host.so.3"}, libraries)

    def test_a_profile_on_the_simulated_gpu(self):
        before = self.files()  # a site-packages that nobody may write to does
        profile = self.profile("plain")
        report = self.run_it("prof-analyze", profile)
        self.assertIn("embedding", report)
        page = self.folder / "report.html"
        self.run_it("prof-analyze", profile, "--format", "html", "-o", page)
        self.assertEqual("https://d3js.org" in page.read_text(), CHARTS)
        schedule = self.folder / "schedule.json"
        self.run_it("prof-schedule", "--from", profile, "-o", schedule)
        self.profile("scheduled", "--schedule", schedule)
        self.assertIn("gemm", self.run_it("prof-model", "list"))
        # The environment's Python, though PATH does not name it.
        code = "import inline_prof, sys; print(inline_prof.report(sys.argv[1], format='json')['schema'])"
        self.run_it(self.venv / "bin/python3", "-B", "-c", code, profile)
        self.run_it("prof-analyze", "dataset", profile, "--run", "first", "-o", self.folder / "tables", "--format", "csv")
        self.assertTrue(list((self.folder / "tables/event").rglob("*.csv")))
        self.assertEqual(self.files(), before)

    def test_the_python_package_is_whole(self):
        source = SOURCE / "python/inline_prof"
        expected = {str(path.relative_to(source)) for path in source.rglob("*")
                    if path.is_file() and "__pycache__" not in path.parts}
        for package in (self.site / "inline_prof", self.venv / "lib/inline_prof/python/inline_prof"):
            self.assertEqual({str(path.relative_to(package)) for path in package.rglob("*")
                              if path.is_file() and "__pycache__" not in path.parts}, expected)
        # A program that imports it by itself meets the preloaded library.
        code = "import inline_prof.abi as abi; print(abi.__file__, abi.find().wants(), abi.library_path())"
        self.assertEqual(self.run_it("prof-run", "--", self.venv / "bin/python3", "-B", "-c", code).split(),
                         [str(self.site / "inline_prof/abi.py"), "7", str(self.venv / "lib/libinline_prof.so")])
        code = "import os, inline_prof.importing; print(os.environ['INLINE_PROF_TORCH'])"
        self.assertEqual(self.run_it("prof-run", "--torch", "--", self.venv / "bin/python3", "-B", "-c", code), "1\n")

    def test_licences_are_in_both(self):
        for name in ("inline_prof", "inline_prof_simgpu"):
            licenses, = self.site.glob(name + "-*.dist-info/licenses")
            held = {path.name for path in licenses.iterdir()}
            self.assertLessEqual({"LICENSE", "Eigen", "fmt", "nlohmann_json", "CLI11", "simdjson",
                                  "libcxx_libcxxabi_libunwind", "zig_compiler_rt"}, held)

    def test_a_folder_with_a_blank_in_its_name(self):
        venv = self.install(self.folder / "a b", WHEELS[0])
        done = self.outcome(venv / "bin/prof-run", "--", "/bin/sh", "-c", "exit 7")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stderr, "prof-run: %s: LD_PRELOAD cannot hold a path with a blank or a colon: the program "
                                      "runs without being profiled\n" % (venv / "lib/libinline_prof.so"))
        done = self.outcome(venv / "bin/prof-run", "--sim", "--", "/bin/true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("inline_prof_simgpu", done.stderr)

    def test_another_version_in_ld_preload(self):
        other = self.folder / "other/libinline_prof.so"
        other.parent.mkdir()
        shutil.copy(self.venv / "lib/libinline_prof.so", other)
        done = self.outcome("prof-run", "--", "/bin/cat", "/proc/self/maps", LD_PRELOAD=str(other))
        self.assertIn("LD_PRELOAD names another library, %s, which is left out" % other, done.stderr)
        self.assertEqual({line.split()[-1] for line in done.stdout.splitlines() if "libinline_prof" in line},
                         {str(self.venv / "lib/libinline_prof.so")})

    def test_a_wheel_for_another_machine_is_refused(self):
        other = self.folder / WHEELS[0].name.replace("x86_64", "ppc64").replace("aarch64", "ppc64")
        shutil.copy(WHEELS[0], other)
        done = self.pip(self.venv, other)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is not a supported wheel on this platform", done.stderr)


if len(sys.argv) < 3:
    sys.exit(__doc__)
WHEELS = [pathlib.Path(word).resolve() for word in sys.argv[1:3]]
CHARTS = any("licenses/D3" in name for name in zipfile.ZipFile(WHEELS[0]).namelist())

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
