"""A tensor on the GPU that two processes share, and what NVML says: python3 sharing.py [--steps N]."""

import argparse

import torch


def answer(tensors, answers, count):
    """The other process: doubles on the host what came by a handle, so that bytes show who has seen which."""
    for _ in range(count):
        shared = tensors.get()
        shared.copy_(2 * shared.cpu())
        torch.cuda.synchronize()
        answers.put(float(shared[-1]))
        del shared


def state():
    device = torch.cuda.get_device_properties(0)
    before = torch.cuda.device_memory_used()
    kept = torch.empty(1 << 24, dtype=torch.uint8, device="cuda")
    more = torch.cuda.device_memory_used() - before
    assert more >= kept.numel(), f"{more} bytes more in use: expected {kept.numel()}"
    assert torch.cuda.utilization() in range(101) and torch.cuda.temperature() > 0 and torch.cuda.power_draw() > 0
    assert "process" in torch.cuda.list_gpu_processes()
    return f"{torch.cuda.device_count()} x {device.name}, {torch.cuda.clock_rate()} MHz"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    steps = parser.parse_args().steps
    processes = torch.multiprocessing.get_context("spawn")
    tensors, answers = processes.Queue(), processes.Queue()
    other = processes.Process(target=answer, args=(tensors, answers, steps))
    other.start()
    for step in range(steps):
        numbers = torch.arange(1000.0).add_(step).cuda()
        tensors.put(numbers)
        seen = answers.get(timeout=60)
        assert seen == 2 * (999.0 + step), f"the other process has {seen}: expected {2 * (999.0 + step)}"
        assert numbers[-1].item() == seen, f"{numbers[-1].item()} came back: expected {seen}"
    other.join()
    torch.cuda.ipc_collect()
    print(f"{steps} tensors shared;", state())
