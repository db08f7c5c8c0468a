"""Records at a program's end which CUDA libraries it had loaded and what the profiler's hooks have left in PyTorch, in the
folder REAL_PROGRAMS_LIBRARIES, where the simulated GPU writes each process's truth, too. With REAL_PROGRAMS_STEPS=1 also
when its steps ended."""

import atexit
import os
import re
import sys
import time


def write_libraries(folder=os.environ.get("REAL_PROGRAMS_LIBRARIES")):
    if not folder:
        return
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
    wanted = re.compile(r"/lib(cuda|cudart|cublas|cublasLt|cudnn\w*|nccl|cupti)\.so")
    with open(os.path.join(folder, str(os.getpid())), "w", encoding="utf-8") as file:
        file.writelines(f"{path}\n" for path in sorted(paths) if wanted.search(path))


def write_what_is_left(folder=os.environ.get("REAL_PROGRAMS_LIBRARIES")):
    torch = sys.modules.get("torch")
    if not folder or torch is None:
        return
    steps = sys.modules["torch.optim.optimizer"]
    places = {name: list(vars(owner)[name].values()) for owner, name in (
        (steps, "_global_optimizer_pre_hooks"), (steps, "_global_optimizer_post_hooks"))}
    places["call of a module"] = [torch.nn.Module._call_impl]
    places["scaled_dot_product_attention"] = [torch.nn.functional.scaled_dot_product_attention]
    places["autograd"] = [torch.autograd._engine_run_backward]
    places["CUDAGraph"] = [each for each in vars(torch.cuda.CUDAGraph).values() if callable(each)]

    def is_ours(each):
        return "inline_prof" in getattr(getattr(each, "__code__", None), "co_filename", "")

    left = [name for name, values in places.items() if any(map(is_ours, values))]
    with open(os.path.join(folder, f"left.{os.getpid()}"), "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in left)


class StepsFinder:
    """Finds no module. By the time that the last of PyTorch's optimizers is looked for, their base class is there."""

    def __init__(self):
        self.ends = {}  # optimizer: clock in ns at the end of each step

    def find_spec(self, name, *_):
        if name == "torch.optim.sparse_adam":
            sys.meta_path.remove(self)
            sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(
                lambda optimizer, *_: self.ends.setdefault(id(optimizer), []).append(time.monotonic_ns()))

    def write(self, folder):
        # The optimizer that steps last, or the loop's own marks if it replays the steps.
        last = max(self.ends.values(), key=lambda ends: ends[-1], default=[])
        ends = max(last, getattr(sys.modules.get("steps"), "times", []), key=len)
        with open(os.path.join(folder, f"steps.{os.getpid()}"), "w", encoding="utf-8") as file:
            file.writelines(f"{end}\n" for end in ends)


if os.environ.get("REAL_PROGRAMS_LIBRARIES"):  # before the simulated driver is loaded
    os.environ["SIMGPU_TRUTH"] = os.path.join(os.environ["REAL_PROGRAMS_LIBRARIES"], f"truth.{os.getpid()}.json")
if os.environ.get("REAL_PROGRAMS_STEPS") == "1":
    finder = StepsFinder()
    sys.meta_path.insert(0, finder)
    atexit.register(finder.write, os.environ["REAL_PROGRAMS_LIBRARIES"])
atexit.register(write_what_is_left)
atexit.register(write_libraries)
