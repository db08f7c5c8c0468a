"""The preloaded library's table of functions (abi.h), found in this process.

Nothing is loaded and nothing is linked: a process without the library has no table, and
`find()` gives None.
"""

import array
import atexit
import ctypes
import os

WANTS_LAYERS = 1
WANTS_LABELS = 2
WANTS_ITERATIONS = 4
WANTS_OPERATORS = 8
WANTS_TO_WAKE = 16
WANTS_LAYERS_LATER = 32

SYMBOL = "inline_prof_abi_v1"


class Attribute(ctypes.Structure):
    """struct inline_prof_attribute"""

    _fields_ = [("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("value", ctypes.c_int64)]


class Work(ctypes.Structure):
    """struct inline_prof_work"""

    _fields_ = [("kernel", ctypes.c_char_p), ("kind", ctypes.c_char_p), ("attributes", ctypes.POINTER(Attribute)),
                ("attribute_count", ctypes.c_int32), ("is_each", ctypes.c_int32)]


# PyDLL's kind of call: none of these functions waits, so giving the interpreter's lock away and
# taking it back would be most of a call's cost.
_function = ctypes.PYFUNCTYPE
_Wake = _function(ctypes.c_int, ctypes.c_void_p)


class Table(ctypes.Structure):
    """struct inline_prof_abi"""

    _fields_ = [
        ("size", ctypes.c_uint64),
        ("initialize", _function(None, ctypes.c_int, ctypes.c_int)),
        ("iteration", _function(None)),
        ("record", _function(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int,
                             ctypes.c_int, ctypes.c_char_p)),
        ("record_data", _function(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p,
                                  ctypes.c_int)),
        ("scope_push", _function(None, ctypes.c_char_p, ctypes.c_void_p)),
        ("scope_pop", _function(None)),
        ("unit_test_start", _function(None, ctypes.c_char_p)),
        ("unit_test_stop", _function(None)),
        ("op", _function(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
                         ctypes.POINTER(Attribute), ctypes.c_int)),
        ("wants", _function(ctypes.c_uint32)),
        ("layer_set", _function(None, ctypes.c_uint64, ctypes.c_char_p)),
        ("layer_end", _function(None, ctypes.c_uint64)),
        ("layer_follow", _function(None, ctypes.c_uint64, ctypes.c_void_p)),
        ("call_open", _function(None)),
        ("call_launches", _function(ctypes.c_int)),
        ("call_close", _function(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Work), ctypes.c_int)),
        ("wake", _function(None, ctypes.c_void_p, _Wake)),
    ]


_MOST_KNOWN = 4096
_wakes = []


def _as_read(attributes):
    """Converts a dict of integers and strings to what the library reads."""
    return (Attribute * len(attributes))(*[
        (name.encode(), value.encode(), 0) if isinstance(value, str) else (name.encode(), None, int(value))
        for name, value in attributes.items()])


class Abi:
    """The functions that Python uses, under plain names."""

    def __init__(self, table):
        self._table = table  # keeps the functions' memory
        self.iteration = table.iteration
        self.record = table.record
        self.wants = table.wants
        self.layer_set = table.layer_set
        self.layer_end = table.layer_end
        self.call_open = table.call_open
        self.call_launches = table.call_launches
        self._layer_follow = table.layer_follow
        self._op = table.op
        self._call_close = table.call_close
        self._record_data = table.record_data
        self._wake = table.wake
        # A model makes the same calls in each step, and its layers make the same calls.
        self._known_attributes = {}
        self._known_works = {}  # id() of a list -> (the list, what the library reads)

    def op(self, label, kind, attributes):
        """Describes the next start of `label` (bytes) on this thread: a dict of integers and strings."""
        kind, given = self._known(kind, attributes)
        self._op(None, label, kind, given, len(attributes))

    def record_fact(self, name, value):
        """Notes something about the whole run; False if the library does not take it yet."""
        return self._record_data(b"inline_prof." + name.encode(), None, str(value).encode(), 0) != 0

    def call_close(self, name, layer, works):
        """Ends the call that call_open() began.  `name` is bytes; `layer` (bytes or None) is that of launches outside all
        layers; `works` say what the launches compute: `kernel`, `kind`, `attributes` and `is_each`."""
        if not works:
            return self._call_close(name, layer, None, 0)
        given = self._known_works.get(id(works))
        if given is None or given[0] is not works:
            if len(self._known_works) >= _MOST_KNOWN:
                self._known_works.clear()
            given = self._known_works[id(works)] = works, (Work * len(works))(*[
                (None if work.kernel is None else work.kernel.encode(), *self._known(work.kind, work.attributes),
                 len(work.attributes), work.is_each) for work in works])
        return self._call_close(name, layer, given[1], len(works))

    def wake(self, work):
        """Lets the library have `work()` called on the main thread once wants() has another answer than WANTS_TO_WAKE; None
        takes that back."""
        if work is None:
            return self._wake(None, _Wake())
        # Kept: the interpreter may be about to call one that was taken back.
        _wakes.append(_Wake(lambda _: work() or 0))
        atexit.register(self._wake, None, _Wake())  # an interpreter that has ended takes no calls
        return self._wake(ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, ctypes.c_void_p), _wakes[-1])

    def _known(self, kind, attributes):
        key = (kind, *attributes, *attributes.values())
        known = self._known_attributes.get(key)
        if known is None:
            if len(self._known_attributes) >= _MOST_KNOWN:
                self._known_attributes.clear()
            known = self._known_attributes[key] = (kind.encode(), _as_read(attributes))
        return known

    @staticmethod
    def layer_word():
        """Memory for layer_follow(): element 0 is the address_of() a path, or 0 for none."""
        return array.array("Q", [0])

    def layer_follow(self, key, word):
        """Lets this thread's layer follow `word`, which layer_word() has made."""
        self._layer_follow(key, word.buffer_info()[0])


def address_of(text):
    """Returns the address of the characters of `text` (bytes), valid as long as it is alive."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value


class AbiError(Exception):
    """The library in this process cannot be used from here."""


def find():
    """Returns the Abi of the library in this process, None without one.  Raises AbiError if it is older than this package."""
    try:
        get_table = getattr(ctypes.PyDLL(None), SYMBOL)
    except (AttributeError, OSError):
        return None
    get_table.restype = ctypes.POINTER(Table)
    get_table.argtypes = []
    pointer = get_table()
    if not pointer:
        return None
    found = pointer.contents.size
    if found < ctypes.sizeof(Table):
        raise AbiError("the preloaded libinline_prof.so is older than this Python package: its table "
                       "has %d bytes, expected at least %d" % (found, ctypes.sizeof(Table)))
    return Abi(pointer.contents)


def library_path():
    """Returns the file of the library in this process, None without one."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                if os.path.basename(path[2]) == "libinline_prof.so":
                    return "/" + path[2]
    except OSError:
        pass
    return None
