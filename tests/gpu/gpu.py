"""CUDA's driver and NVIDIA's libraries by ctypes, for the programs of the checks that are written in Python.

A function is looked up as that of a linked program is: a preloaded library's comes before the vendor's.
"""

import ctypes
import itertools
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

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
        why = None
        for folder, version in itertools.product(("", "/usr/local/cuda/lib64/", *(f"{folder}/" for folder in wheel_folders())), versions):
            try:
                ctypes.CDLL(f"{folder}{name}.so.{version}", mode=ctypes.RTLD_GLOBAL)
                break
            except OSError as error:
                why = why or error
        else:
            skip(why)
        self.words_of_status = words_of_status

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


class Abi(ctypes.Structure):
    """The head of struct inline_prof_abi (abi.h): all that is needed here."""
    _fields_ = [("size", ctypes.c_uint64), ("initialize", c_void_p), ("iteration", ctypes.CFUNCTYPE(None))]


def iteration_mark():
    """Returns the injected library's iteration call; it does nothing where the library is not preloaded."""
    try:
        get_abi = PROCESS.inline_prof_abi_v1
    except AttributeError:
        return lambda: None
    get_abi.restype = ctypes.POINTER(Abi)
    return get_abi().contents.iteration


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
