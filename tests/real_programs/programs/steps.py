"""Marks the begin of a loop's steps, for the recorder of launches (tests/recordings), if it is preloaded, and for later readers."""

import ctypes
import time

times = []  # ns
_record = getattr(ctypes.CDLL(None), "launch_recorder_step", lambda: None)


def begins():
    times.append(time.monotonic_ns())
    _record()
