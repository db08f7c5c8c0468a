"""CUDA's driver, kernels of known length and NVIDIA's libraries by ctypes, for the programs of the checks that are written in Python.

A function is looked up as that of a linked program is: a preloaded library's comes before the vendor's.
"""

import contextlib
import ctypes
import itertools
import os
import signal
import sys
import time
from ctypes import byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_void_p

from machine import wheel_folders

SKIPPED = 77
PROCESS = ctypes.CDLL(None)


class NotHere(Exception):
    """Raised by a call that this GPU or this library does not have."""


def skip(words):
    print(f"skipped: {words}", file=sys.stderr)
    sys.exit(SKIPPED)


class Library:
    """A library of the first version that is found; calling it calls one of its functions, and raises RuntimeError unless
    that answers 0."""

    def __init__(self, name, versions, words_of_status):
        self.words_of_status, why = words_of_status, None
        # PyTorch's packages are looked for last: that takes a while.
        for folders, version in itertools.product((lambda: ["", "/usr/local/cuda/lib64"], wheel_folders), versions):
            for folder in folders():
                try:
                    ctypes.CDLL(os.path.join(folder, f"{name}.so.{version}"), mode=ctypes.RTLD_GLOBAL)
                    return
                except OSError as error:
                    why = why or error
        skip(why)

    def status(self, function, *arguments):
        return getattr(PROCESS, function)(*arguments)

    def __call__(self, function, *arguments):
        status = self.status(function, *arguments)
        if status != 0:
            raise RuntimeError(f"{function} answers {self.words(status)}")

    def words(self, status):
        function = getattr(PROCESS, self.words_of_status)
        function.restype = c_char_p
        return function(status).decode()

    def made(self, function, *arguments, kind=c_void_p):
        """Returns what a function writes by its first argument."""
        value = kind()
        self(function, byref(value), *arguments)
        return value


class Driver(Library):
    def __init__(self):
        super().__init__("libcuda", [1], "cuGetErrorString")
        status = self.status("cuInit", 0)
        self.devices = 0 if status != 0 else self.made("cuDeviceGetCount", kind=c_int).value
        if not self.devices:
            skip(f"no GPU ({self.words(status)})")

    def words(self, status):
        text = c_char_p()
        PROCESS.cuGetErrorString(status, byref(text))
        return (text.value or b"unknown").decode()

    def open_context(self, device=0):
        """Makes the device's primary context current, and returns it."""
        context = self.made("cuDevicePrimaryCtxRetain", self.made("cuDeviceGet", device, kind=c_int))
        self("cuCtxSetCurrent", context)
        return context

    def attribute(self, number):
        return self.made("cuDeviceGetAttribute", number, 0, kind=c_int).value

    def capability(self):
        return 10 * self.attribute(75) + self.attribute(76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR

    def open_stream(self):
        return self.made("cuStreamCreate", 1)  # CU_STREAM_NON_BLOCKING

    def memory(self, size):
        """Returns memory of the GPU, all zeros."""
        address = self.made("cuMemAlloc_v2", c_size_t(size))
        self("cuMemsetD8_v2", address, 0, c_size_t(size))
        return address

    def wait(self):
        self("cuCtxSynchronize")


# --- kernels

# Runs for `cycles` of the SM clock; its first block notes its begin and end on the GPU's global timer.  A kernel for each name, so that
# the model of a rehearsal and a report can tell them apart.
SPIN = """.visible .entry {name}(.param .u64 cycles, .param .u64 times)
{{
.reg .pred %p<3>;
.reg .b32 %block;
.reg .b64 %r<8>;
ld.param.u64 %r1, [cycles];
ld.param.u64 %r2, [times];
mov.u64 %r3, %globaltimer;
{first}
mov.u64 %r4, %clock64;
again:
mov.u64 %r5, %clock64;
sub.s64 %r6, %r5, %r4;
setp.lt.s64 %p1, %r6, %r1;
@%p1 bra again;
mov.u64 %r7, %globaltimer;
mov.u32 %block, %ctaid.x;
setp.ne.u32 %p2, %block, 0;
@%p2 bra over;
st.u64 [%r2], %r3;
st.u64 [%r2+8], %r7;
over:
ret;
}}
"""
LAUNCH, RECORD, QUERY, REPLAY, PUSH, POP = range(6)
NAMES = []


class Step(ctypes.Structure):
    """A step of steps.cpp."""
    _fields_ = [("kind", c_int), ("blocks", c_uint), ("threads", c_uint), ("is_pending", c_int), ("object", c_void_p),
                ("arguments", c_void_p), ("stream", c_void_p)]


def steps_library():
    file = os.environ["GPU_CHECK_STEPS"]
    if not os.path.exists(file):
        skip(f"{file} was not built")
    return ctypes.CDLL(file)


def iteration_mark():
    """Returns the injected library's iteration call; it does nothing where that library is not."""
    return steps_library().mark_iteration


def push(name):
    text = ctypes.create_string_buffer(name.encode())
    NAMES.append(text)  # steps have its address
    return Step(PUSH, object=ctypes.addressof(text))


def array(values, kind=c_void_p):
    return (kind * len(values))(*values)


class Kernels:
    """Kernels of known length, and a stream for them."""

    def __init__(self, driver, names, target="sm_70", first="", is_warm=True):
        text = f".version 7.8\n.target {target}\n.address_size 64\n.visible .entry empty_kernel() {{ ret; }}\n"
        text += "".join(SPIN.format(name=name, first=first) for name in names)
        module = driver.made("cuModuleLoadData", text.encode())
        self.driver, self.stream, self.times, self.kept = driver, driver.open_stream(), driver.memory(16), []
        self.kernels = {name: driver.made("cuModuleGetFunction", module, name.encode()) for name in ("empty_kernel", *names)}
        self.steps_library = steps_library()
        self.cycles_per_us = driver.attribute(13) * 1e-3  # CU_DEVICE_ATTRIBUTE_CLOCK_RATE
        if is_warm:  # clocks rise over tens of milliseconds of work
            asked_us = 10_000
            self.make([self.launch(names[0], asked_us)] * 20)
            self.wait()
            self.cycles_per_us *= asked_us / (self.noted_us(self.times) or asked_us)

    def launch(self, name, us=0, blocks=1, threads=1, times=None, stream=None):
        """Returns a step."""
        return Step(LAUNCH, blocks, threads, 0, self.kernels[name], self.arguments(us, times), stream or self.stream)

    def arguments(self, us, times=None):
        values = c_int64(int(us * self.cycles_per_us)), times or self.times
        pointers = array([ctypes.addressof(value) for value in values])
        self.kept.append((values, pointers))
        return ctypes.addressof(pointers)

    def record(self, event):
        return Step(RECORD, object=event, stream=self.stream)

    def replay(self, executable, stream=None):
        return Step(REPLAY, object=executable, stream=stream or self.stream)

    def make(self, steps):
        """Makes steps in a row, and returns how many ns they took; a list that is made often is an array of ctypes already."""
        steps = steps if isinstance(steps, ctypes.Array) else array(steps, Step)
        took_ns = c_double()
        status = self.steps_library.make_steps(byref(took_ns), steps, len(steps))
        if status != 0:
            raise RuntimeError(f"a step answers {self.driver.words(status)}")
        return took_ns.value

    def wait(self):
        self.driver("cuStreamSynchronize", self.stream)

    def noted_us(self, times):
        noted = (c_int64 * 2)()
        self.driver("cuMemcpyDtoH_v2", noted, times, c_size_t(16))
        return (noted[1] - noted[0]) * 1e-3


class Ranges:
    """NVTX ranges, where there are to be any, and what was pushed."""

    def __init__(self, is_on, push_one, pop):
        self.is_on, self.push_one, self.pop, self.open, self.pushed, self.paths = is_on, push_one, pop, [], 0, set()

    @contextlib.contextmanager
    def __call__(self, name):
        if not self.is_on:
            yield
            return
        self.open.append(name)
        self.paths.add(self.path())
        self.pushed += 1
        self.push_one(name)
        yield
        self.pop()
        self.open.pop()

    def path(self):
        return ".".join(self.open)


def blocks(options, iterate, recording=lambda is_on: contextlib.nullcontext()):
    """Prints `on|off MICROSECONDS` for blocks of iterations; on is recorded, or told to the injected library by --toggle, in the pattern
    off, on, on, off."""
    was_on = False
    for block in range(options.blocks):
        is_on = (options.toggle or options.profiler) and block % 4 in (1, 2)
        if options.toggle and is_on != was_on:
            signal.raise_signal(signal.SIGUSR1)  # the handler was put in by a library, so Python does not know it
        was_on = is_on
        with recording(is_on):
            iterate(2)  # what the injected library does once belongs to no block
            start = time.perf_counter()
            iterate(options.iterations)
            passed = time.perf_counter() - start
        print(f"{'on' if is_on else 'off'} {passed / options.iterations * 1e6:.3f}", flush=True)


# --- calls of libraries

def make_calls(prepared, wait, iterations=45):
    """Makes each call once an iteration, and says what became of it; library_calls.json has what they compute.

        call NAME            it was made in every iteration
        refused NAME: WORDS  the library did not take it
        skipped NAME: WORDS  not for this GPU

    `prepared`: {name: function that makes what the call needs, and returns it}.
    """
    made, mark_iteration = {}, iteration_mark()
    for name, prepare in prepared.items():
        try:  # once, to see whether it works
            call = prepare()
            call()
            made[name] = call
        except NotHere as reason:
            print(f"skipped {name}: {reason}", flush=True)
        except (AttributeError, ImportError, RuntimeError, TypeError) as error:  # a version that lacks one has the others
            print(f"refused {name}: {str(error).splitlines()[0]}", flush=True)
    wait()
    for _ in range(iterations):
        mark_iteration()
        for name, call in made.items():
            try:
                call()
            except RuntimeError as error:
                print(f"refused {name}: {error}", flush=True)
                sys.exit(1)
    wait()
    for name in made:
        print(f"call {name}", flush=True)


def expect(is_so, text):
    print("PASS" if is_so else "FAIL", text, flush=True)


def figure(text):
    print("FIGURE", text, flush=True)


if __name__ == "__main__":
    print(Driver().devices)
