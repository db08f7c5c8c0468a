"""The examples learn, on the CPU, and give the same numbers with hooks as without."""

import contextlib
import io
import os
import pathlib
import socket
import subprocess
import sys
import unittest

from needs import torch_or_skip

torch = torch_or_skip()

import models
from fake_abi import hooked

GPT = ["--device", "cpu", "--steps", "12", "--batch", "4", "--length", "16", "--width", "32",
       "--heads", "4", "--layers", "2", "--vocabulary", "32"]
DLRM = ["--device", "cpu", "--steps", "25", "--batch", "256", "--tables", "3", "--rows", "500",
        "--width", "16"]


def run(name, arguments):
    """(exit status, what it printed)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        return models.example(name).main(arguments), said.getvalue()


class Examples(unittest.TestCase):
    def check(self, name, arguments, wanted_paths, iterations):
        alone = run(name, arguments)
        self.assertEqual(alone[0], 0, alone[1])
        paths = set()
        with hooked() as abi:
            abi.on_path = paths.add
            self.assertEqual(run(name, arguments), alone)
            self.assertEqual(abi.iterations, iterations)
        self.assertLessEqual(set(wanted_paths), paths)

    def test_gpt(self):
        self.check("gpt", GPT, ["Gpt.blocks.1.attention.qkv", "Gpt.blocks.0.mlp.2.backward"], 12)

    def test_gpt_with_blocks_computed_again(self):
        self.check("gpt", GPT + ["--checkpoint"],
                   ["Gpt.blocks.1.attention.qkv", "Gpt.blocks.0.backward"], 12)

    def test_gpt_with_accumulated_gradients(self):
        self.check("gpt", GPT + ["--accumulate", "2"], ["Gpt.head.backward"], 12)

    def test_dlrm(self):
        self.check("dlrm", DLRM, ["Dlrm.embeddings.2", "Dlrm.embeddings.2.backward",
                                  "Dlrm.interaction.backward", "Dlrm.top.0.2"], 25)

    def test_gpt_on_two_ranks_has_the_names_of_one(self):
        if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
            self.skipTest("no gloo")
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        code = ("import sys; sys.path[:0] = %r\n"
                "import examples_test as tests\n"
                "from fake_abi import hooked\n"
                "paths = set()\n"
                "with hooked() as abi:\n"
                "    abi.on_path = paths.add\n"
                "    status, said = tests.run('gpt', tests.GPT)\n"
                "print(status, abi.iterations, 'Gpt.blocks.1.mlp.0.backward' in paths,\n"
                "      any('Distributed' in p or 'module' in p for p in paths))\n"
                % [str(pathlib.Path(__file__).parent)])
        ranks = []
        for rank in range(2):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                               MASTER_ADDR="localhost", MASTER_PORT=str(port))
            ranks.append(subprocess.Popen([sys.executable, "-c", code], env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for rank in ranks:
            output, errors = rank.communicate(timeout=200)
            self.assertEqual(output, "0 12 True False\n", errors)


if __name__ == "__main__":
    unittest.main()
