"""Where a loop's steps begin, for the recorder of launches (tests/recordings), if it is preloaded."""

import ctypes

begins = getattr(ctypes.CDLL(None), "launch_recorder_step", lambda: None)
