"""sitecustomize.py: the program starts as it would without us."""

import os
import pathlib
import subprocess
import sys
import unittest

from needs import FolderTest

STARTUP = pathlib.Path(__file__).resolve().parents[2] / "python/startup"


class StartupTest(FolderTest):
    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_python(self, code, with_us, asked="1", more=()):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("INLINE_PROF", "PYTHON"))}
        environment["PYTHONPATH"] = str(self.folder)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if with_us:
            environment["PYTHONPATH"] = "%s:%s" % (STARTUP, self.folder)
            environment["INLINE_PROF_TORCH"] = asked
        environment.update(more)
        done = subprocess.run([sys.executable, "-c", code], env=environment, text=True,
                              capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def check_same(self, code, **options):
        alone = self.run_python(code, False, **options)
        for asked in ("0", "1"):
            self.assertEqual(self.run_python(code, True, asked=asked, **options), alone)
        return alone

    CODE = "import sys; print(sys.path, sys.meta_path == [], sorted(m for m in sys.modules " \
           "if 'custom' in m), getattr(sys, 'mine', None), len(sys.meta_path))"

    def test_without_a_sitecustomize_of_the_users(self):
        self.check_same(self.CODE)
        self.check_same("import sitecustomize" if not self.has_one() else "")

    def has_one(self):
        return self.run_python("import sitecustomize", False)[0] == 0

    def test_the_users_sitecustomize_runs(self):
        self.write("sitecustomize.py", "import sys; sys.mine = __file__")
        code, output, _ = self.check_same(self.CODE)
        self.assertEqual(code, 0)
        self.assertIn(str(self.folder / "sitecustomize.py"), output)

    def test_the_users_usercustomize_runs(self):
        self.write("usercustomize.py", "import sys; sys.mine = 'user'")
        self.assertIn("user", self.check_same(self.CODE)[1])

    def test_the_users_sitecustomize_fails_as_it_does_without_us(self):
        for text in ("raise ValueError('mine')", "import not_there", "1 +"):
            self.write("sitecustomize.py", text)
            alone = self.run_python(self.CODE, False)
            ours = self.run_python(self.CODE, True)
            self.assertEqual(ours[:2], alone[:2])
            self.assertEqual(ours[2].splitlines()[-1:], alone[2].splitlines()[-1:])

    def test_pythonstartup_is_left_alone(self):
        self.check_same("import os; print(os.environ['PYTHONSTARTUP'])",
                        more={"PYTHONSTARTUP": "/mine.py"})

    def test_nothing_is_imported_without_the_library(self):
        code, output, errors = self.run_python(
            "import sys; print(sorted(m for m in sys.modules if 'inline_prof' in m),"
            "'torch' in sys.modules)", True)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(output, "['inline_prof', 'inline_prof.abi', 'inline_prof.importing'] "
                                 "False\n")

    # --- the moment of `import torch`, with a PyTorch and a library that are made up

    MADE_UP = ("import inline_prof.abi, inline_prof.importing\n"
               "inline_prof.abi.find = lambda: 1\n"
               "inline_prof.importing.hook_torch_when_imported()\n"
               "inline_prof.importing.hook_torch_when_imported()\n"
               "import sys, types\n"
               "ours = types.ModuleType('inline_prof.torch')\n")

    def test_a_module_keeps_its_own_loader(self):
        self.write("torch/__init__.py", "import sys; print(type(__spec__.loader).__name__)")
        code, output, errors = self.run_python(
            self.MADE_UP + "import importlib.util\n"
            "print(importlib.util.find_spec('torch').name)\n"
            "import torch\n"
            "print(type(torch.__loader__).__name__, type(torch.__spec__.loader).__name__)\n"
            "print([f for f in sys.meta_path if 'inline' in type(f).__module__])\n", True)
        self.assertEqual(code, 0, errors)
        self.assertEqual(output.splitlines(),
                         ["torch", "SourceFileLoader", "SourceFileLoader SourceFileLoader", "[]"])
        self.assertIn("inline_prof: no module names:", errors)  # that is no PyTorch
        self.assertEqual(len(errors.splitlines()), 1)

    def test_a_pytorch_that_fails_fails_as_without_us(self):
        self.write("torch/__init__.py", "raise OSError('libtorch')")
        code, output, errors = self.run_python(
            self.MADE_UP + "for _ in range(2):\n"
            "    try: import torch\n"
            "    except OSError as error: print(error)\n", True)
        self.assertEqual((code, output, errors), (0, "libtorch\nlibtorch\n", ""))

    def test_a_pytorch_that_is_not_there(self):
        code, output, errors = self.run_python(
            self.MADE_UP + "sys.path[:] = []\n"
            "for _ in range(2):\n"
            "    try: import torch\n"
            "    except ImportError as error: print(error)\n", True)
        self.assertEqual((code, output, errors), (0, "No module named 'torch'\n" * 2, ""))


if __name__ == "__main__":
    unittest.main()
