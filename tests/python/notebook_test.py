"""A notebook: cells without a file, run again and again in one process."""

import pathlib
import subprocess
import sys
import textwrap
import unittest

from needs import torch_or_skip

torch_or_skip()

HERE = pathlib.Path(__file__).resolve().parent

# As a kernel runs cells: compiled under a made-up name, in a module __main__ that has no file.
KERNEL = """
import sys, types
cells = sys.stdin.read().split("# cell\\n")
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
for number, cell in enumerate(cells):
    exec(compile(cell, "<cell %d>" % number, "exec"), main.__dict__)
"""

START = """
    import sys
    sys.path.insert(0, %r)
    import inline_prof.abi
    from fake_abi import FakeAbi
    abi = FakeAbi()
    inline_prof.abi.find = lambda: abi
    # cell
    import inline_prof.torch
    # cell
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 2)
        def forward(self, x):
            paths.append(abi.path())
            return self.first(x).relu()
    paths = []
    def train():
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    train()
    # cell
""" % str(HERE)


class Notebook(unittest.TestCase):
    def run_cells(self, *cells):
        """Returns the output of the cells."""
        text = "# cell\n".join(textwrap.dedent(cell) for cell in (START + "\n",) + cells)
        done = subprocess.run([sys.executable, "-c", KERNEL], input=text, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_cells_are_named_and_counted(self):
        said = self.run_cells("""
            train()
            train()
            print(paths, abi.iterations)
            """)
        self.assertEqual(said, ["['Net', 'Net', 'Net'] 3"])

    def test_a_class_that_a_cell_defines_again(self):
        said = self.run_cells("""
            class Net(Net):
                def forward(self, x):
                    paths.append("again " + abi.path())
                    return self.first(x)
            train()
            print(paths)
            """)
        self.assertEqual(said, ["['Net', 'again Net']"])

    def test_imports_again_and_reloads_set_no_second_hooks(self):
        said = self.run_cells(
            """
            import inline_prof.torch
            import importlib
            call = nn.Module._call_impl
            importlib.reload(inline_prof.torch)
            # cell
            importlib.reload(inline_prof.torch)
            print(nn.Module._call_impl is call, inline_prof.torch.is_active())
            train()
            print(paths, abi.iterations)
            """,
            """
            inline_prof.torch.remove()
            print(nn.Module._call_impl is call.__wrapped__, inline_prof.torch.is_active())
            """)
        self.assertEqual(said, ["True True", "['Net', 'Net'] 2", "True False"])

    def test_a_cell_that_raises_or_is_interrupted(self):
        said = self.run_cells("""
            for error in (ValueError, KeyboardInterrupt):
                class Raises(nn.Module):
                    def forward(self, x):
                        raise error("mine")
                try:
                    nn.Sequential(Raises())(torch.ones(1))
                except BaseException as caught:
                    print(repr(caught))
            train()
            print(paths, repr(abi.path()))
            """)
        self.assertEqual(said, ["ValueError('mine')", "KeyboardInterrupt('mine')",
                                "['Net', 'Net'] ''"])


if __name__ == "__main__":
    unittest.main()
