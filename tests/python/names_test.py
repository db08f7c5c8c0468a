"""Operators carry the path of the module that they belong to, forward and backward."""

import unittest

from needs import torch_or_skip

torch = torch_or_skip()

import models
from fake_abi import hooked
from operator_trace import operator_calls, right_share, train_step

WANTED_SHARE = 0.99


def shares_of(model, inputs, target, loss, with_hooks=True):
    """{pass: (share, number of calls, wrong ones)} of a training step that is not the first."""
    def step():
        train_step(model, inputs, target, loss)

    with hooked() as abi:
        step()
        if not with_hooks:
            abi.wanted = 0
            for _ in range(200):  # the hooks ask now and then
                step()
        calls = operator_calls(model, step, abi)
    return {kind: right_share(calls, kind) for kind in ("forward", "backward")}


class Names(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, shares, at_least):
        for kind, number in at_least.items():
            share, count, wrong = shares[kind]
            print("%s %s: %.1f %% of %d operator calls" % (self.id(), kind, 100 * share, count))
            self.assertGreaterEqual(count, number)
            self.assertGreaterEqual(share, WANTED_SHARE, wrong)

    def test_gpt(self):
        inputs, target = models.gpt_batch()
        shares = shares_of(models.gpt(), inputs, target, models.gpt_loss)
        self.check(shares, {"forward": 250, "backward": 350})

    def test_dlrm(self):
        inputs, target = models.dlrm_batch()
        shares = shares_of(models.dlrm(), inputs, target, models.dlrm_loss)
        self.check(shares, {"forward": 100, "backward": 150})

    def test_gpt_with_projections_side_by_side(self):
        inputs, target = models.gpt_batch()
        shares = shares_of(models.gpt_of_three_projections(), inputs, target, models.gpt_loss)
        self.check(shares, {"forward": 250, "backward": 350})

    def test_without_hooks_no_call_has_its_path(self):
        inputs, target = models.gpt_batch()
        shares = shares_of(models.gpt(), inputs, target, models.gpt_loss, with_hooks=False)
        for share, count, _ in shares.values():
            self.assertEqual(share, 0.0)
            self.assertGreater(count, 250)


if __name__ == "__main__":
    unittest.main()
