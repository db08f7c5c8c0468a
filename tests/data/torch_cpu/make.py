"""Makes modules_and_backward.json.gz: the host's events of a training step, recorded by torch.profiler on the CPU.

usage: make.py OUTPUT.json.gz

Modules, operators, sequence numbers, threads and arrows from forward to backward are as PyTorch recorded them.  A CPU
launches no kernels: for each operator of `LAUNCHING` this program adds a launch in its middle and a kernel behind it,
linked by their correlation as Kineto links them.  Their names are those of PyTorch's kernels, their times invented.
"""

import gzip
import json
import sys
import tempfile

import torch
from torch import nn

LAUNCHING = {"aten::addmm": "cutlass_80_tensorop_s1688gemm_128x128_tn_align4", "aten::mm": "ampere_sgemm_128x64_nn",
             "aten::gelu": "vectorized_elementwise_kernel<4, GeluCUDAKernelImpl>",
             "aten::gelu_backward": "vectorized_elementwise_kernel<4, GeluBackwardCUDAKernelImpl>",
             "aten::native_layer_norm": "vectorized_layer_norm_kernel<float, float>",
             "aten::native_layer_norm_backward": "layer_norm_grad_input_kernel<float, float>",
             "aten::sum": "reduce_kernel<512, 1, ReduceOp<float>>",
             "aten::_foreach_add_": "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<float>>"}
KEPT = ("cpu_op", "user_annotation", "fwdbwd")
DEVICE = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42505273344, "computeMajor": 8, "computeMinor": 0,
          "numSms": 108}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def record(path):
    torch.manual_seed(1)
    model = nn.Sequential(Block(), Block(), nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, record_shapes=True,
                                with_stack=True, with_modules=True) as profiler:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(32, 64)).sum().backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(path)


def with_kernels(trace):
    events, correlation, free_at = [], 1000, 0.0
    for event in trace["traceEvents"]:
        is_module = event.get("cat") == "python_function" and event["name"].startswith("nn.Module: ")
        if event.get("cat") in KEPT or is_module:
            events.append(event)
    launched = [event for event in events if event["name"] in LAUNCHING and event.get("cat") == "cpu_op"]
    for operator in sorted(launched, key=lambda event: event["ts"]):
        correlation += 1
        middle = operator["ts"] + operator["dur"] / 2
        free_at = max(free_at, middle + 3)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": operator["pid"],
                       "tid": operator["tid"], "ts": middle, "dur": operator["dur"] / 4,
                       "args": {"cbid": 211, "correlation": correlation}})
        events.append({"ph": "X", "cat": "kernel", "name": LAUNCHING[operator["name"]], "pid": 0, "tid": 7, "ts": free_at,
                       "dur": 4.0, "args": {"External id": operator["args"]["External id"], "device": 0, "context": 1,
                                            "stream": 7, "correlation": correlation, "grid": [16, 1, 1],
                                            "block": [128, 1, 1]}})
        free_at += 5
    return {"schemaVersion": trace["schemaVersion"], "deviceProperties": [DEVICE], "traceEvents": events}


def main():
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        record(file.name)
        trace = with_kernels(json.load(open(file.name, encoding="utf-8")))
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as out:
        out.write(json.dumps(trace).encode())


if __name__ == "__main__":
    main()
