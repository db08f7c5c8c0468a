"""Loops of known course, on which the checks judge what the injected library finds and costs.

    loops.py rate [--iterations N] [--launches N]
        Launches empty kernels and prints the host's time for a launch in ns: median, p05 and p95 of the last half, in which an injected
        library with a short schedule is done.
    loops.py overhead --work launch|gpu|graph [--blocks N] [--iterations N] [--toggle] [--nvtx]
        Prints times of blocks of iterations (gpu.py).  launch: 1000 kernels of 2 us, bounded by the host; gpu: 20 kernels of 200 us;
        graph: 4 replays of 250 short kernels.  --nvtx: a range around each iteration and launch.
    loops.py paced [--iterations N] [--threads N]
        Has iterations whose lengths cannot be mistaken for another loop's: iteration i has 1 + i * i % 5 kernels of 20 us beside its
        others.  --threads: so many threads launch on streams of their own, and all make the first launch of the process at once.
    loops.py training [--steps N] [--mark] [--ranges]
        Trains six layers, with what real programs have: another order at set-up, every 50th step reads the loss back, every 200th is
        followed by an evaluation.  Prints a JSON object: steps, and with --ranges how many NVTX ranges were pushed, their paths, and the
        path of each launch of a step.
"""

import argparse
import ctypes
import json
import statistics
import threading
from ctypes import byref, c_size_t

from gpu import POP, Driver, Kernels, Ranges, Step, array, blocks, iteration_mark, push


def rate(driver, options):
    kernels, mark, found = Kernels(driver, (), is_warm=False), iteration_mark(), []
    # Well below the depth of a launch queue, 1024 on GPUs seen so far: no launch waits for the GPU.
    launches = array([kernels.launch("empty_kernel")] * options.launches, Step)
    for _ in range(options.iterations):
        mark()
        found.append(kernels.make(launches) / options.launches)
        kernels.wait()
    last = sorted(found[options.iterations // 2:])
    print(f"{statistics.median(last):.1f} {last[len(last) // 20]:.1f} {last[int(0.95 * len(last))]:.1f}")


def overhead(driver, options):
    kernels, mark = Kernels(driver, ("work",)), iteration_mark()
    count, us = (20, 200) if options.work == "gpu" else (1000, 2)
    launch = kernels.launch("work", us)
    steps = [step for _ in range(count) for step in ([push("layer"), launch, Step(POP)] if options.nvtx else [launch])]
    if options.work == "graph":  # the graph is destroyed at once, as PyTorch does
        driver("cuStreamBeginCapture_v2", kernels.stream, 1)  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        kernels.make([launch] * (count // 4))
        graph = ctypes.c_void_p()
        driver("cuStreamEndCapture", kernels.stream, byref(graph))
        steps = [kernels.replay(driver.made("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0)))] * 4
        driver("cuGraphDestroy", graph)
    if options.nvtx:
        steps = [push("iteration"), *steps, Step(POP)]
    iteration = array(steps, Step)

    def iterate(times):
        for _ in range(times):
            mark()
            kernels.make(iteration)
        kernels.wait()

    iterate(options.iterations)
    blocks(options, iterate)


def paced(driver, options):
    names = {us: f"paced_{us}_us" for us in (5, 20, 100)}
    # Nothing may be launched before the threads' first launches.
    kernels, mark = Kernels(driver, ("begins", "beside", *names.values()), is_warm=False), iteration_mark()
    context = driver.made("cuCtxGetCurrent")
    begin, *lengths = (kernels.launch(name, us) for name, us in (("begins", 0), *((names[us], us) for us in (20, 100, 5))))
    iterations = {more: array([begin, *[lengths[0]] * (more + 1), *lengths[1:]], Step) for more in (0, 1, 4)}
    together, is_over = threading.Barrier(options.threads + 1), threading.Event()

    def launch_beside():
        driver("cuCtxSetCurrent", context)
        stream = driver.open_stream()
        launches = array([kernels.launch("beside", stream=stream)] * 16, Step)
        together.wait()
        while True:
            kernels.make(launches)
            driver("cuStreamSynchronize", stream)
            if is_over.is_set():
                return

    threads = [threading.Thread(target=launch_beside) for _ in range(options.threads)]
    for thread in threads:
        thread.start()
    together.wait()
    for i in range(options.iterations):
        mark()
        kernels.make(iterations[i * i % 5])
        if i % 100 == 0:  # fewer launches than a stream's queue is deep
            kernels.wait()
    kernels.wait()
    is_over.set()
    for thread in threads:
        thread.join()


LAYERS = 6


class Course:
    """Launches and ranges in their order, and the path of each launch."""

    def __init__(self, kernels, has_ranges):
        self.kernels, self.steps, self.paths = kernels, [], []
        self.within = Ranges(has_ranges, lambda name: self.steps.append(push(name)), lambda: self.steps.append(Step(POP)))

    def launch(self, name, blocks, threads, us):
        self.paths.append(self.within.path())
        self.steps.append(self.kernels.launch(name, us, blocks, threads))

    def forward(self):
        with self.within("forward"):
            for layer in range(LAYERS):
                with self.within(f"layer{layer}"):
                    self.launch("multiply_forward", 1 + layer, 32, 6 + 2 * layer)
                    self.launch("activate", 1 + layer, 64, 4)

    def one_step(self):
        self.launch("make_batch", 2, 32, 5)
        self.forward()
        self.launch("loss_of_batch", 1, 1, 4)
        with self.within("backward"):
            for layer in reversed(range(LAYERS)):
                with self.within(f"layer{layer}"):
                    self.launch("multiply_backward", 1 + layer, 32, 6 + 2 * layer)
                    self.launch("multiply_for_weights", 1 + layer, 32, 7 + 2 * layer)
        with self.within("optimizer"):
            for layer in range(LAYERS):
                self.launch("update_weights", 1 + layer, 128, 3)
        return self

    def evaluation(self):
        with self.within("evaluation"):
            for _ in range(3):
                self.launch("make_batch", 2, 32, 5)
                self.forward()
        return self


def training(driver, options):
    kernels = Kernels(driver, ("set_up_weights", "make_batch", "multiply_forward", "activate", "loss_of_batch", "multiply_backward",
                               "multiply_for_weights", "update_weights"))
    mark = iteration_mark() if options.mark else lambda: None
    kernels.make([kernels.launch("set_up_weights", 3, 1 + layer, 32) for layer in reversed(range(LAYERS))])
    kernels.wait()
    step, evaluation = Course(kernels, options.ranges).one_step(), Course(kernels, options.ranges).evaluation()
    step_list, evaluation_list = (array(course.steps, Step) for course in (step, evaluation))
    loss = ctypes.c_float()
    for number in range(1, options.steps + 1):
        mark()
        kernels.make(step_list)
        if number % 50 == 0:
            driver("cuMemcpyDtoHAsync_v2", byref(loss), kernels.times, c_size_t(4), kernels.stream)
            kernels.wait()
        if number % 200 == 0:
            kernels.make(evaluation_list)
        if number % 20 == 0:  # fewer launches than a stream's queue is deep
            kernels.wait()
    kernels.wait()
    said = {"steps": options.steps}
    if options.ranges:
        said.update(ranges=options.steps * step.within.pushed + options.steps // 200 * evaluation.within.pushed, layers=step.paths,
                    paths=sorted(step.within.paths))
    print(json.dumps(said))


def main():
    loops = {"rate": rate, "overhead": overhead, "paced": paced, "training": training}
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("loop", choices=loops)
    parser.add_argument("--work", choices=("launch", "gpu", "graph"))
    for flag in ("--toggle", "--nvtx", "--mark", "--ranges"):
        parser.add_argument(flag, action="store_true")
    for count, usual in (("--iterations", None), ("--launches", 400), ("--blocks", 48), ("--threads", 0), ("--steps", 1500)):
        parser.add_argument(count, type=int, default=usual)
    parser.set_defaults(profiler=False)
    options = parser.parse_args()
    options.iterations = options.iterations or {"rate": 400, "paced": 300}.get(options.loop, 20)
    # glibc's mutexes are cheaper in a process that has never had a second thread (19 ns a launch on the simulated GPU).  The injected
    # library's writer is a thread, so let all runs have had one.
    threading.Thread(target=int).start()
    driver = Driver()
    driver.open_context()
    loops[options.loop](driver, options)


if __name__ == "__main__":
    main()
