"""How much stack the built library takes from the threads of its application, by its machine code.

The deepest path from every function that the application, the driver or the system may call, over all calls
that the code makes, whatever program it is loaded into.  The unwind tables say how much of the stack is in use
at each instruction.  A call through a pointer ends the path: it leads to the driver or back to the
application, or is listed here.

x86-64 only.
"""

import bisect
import re

MOST_BYTES = 4096

# These never run on the stack of an application's thread: the mains of our threads, what only the writer's
# thread calls, and what is begun on a large stack (sys/large_stack).
ELSEWHERE = re.compile(
    r"WriterThread::main|MachineReader::main|HoldLimit::main|poll_file|unsubscribe_main|sys::\(anonymous namespace\)::run\(|"
    r"_Function_handler<.*make_writer|inline_prof_start|on_large_stack<")
# The C++ library's own, which nobody reaches but through a call that is seen.
OF_THE_LANGUAGE = re.compile(r"^(std::|__gnu_cxx::|__cxxabiv1::|\(anonymous namespace\)::|_?_?cxa_|__)")
# Functions that call themselves, and how deep: a tree of 8192 nodes has 26 levels at most (T. H. Cormen et
# al., Introduction to Algorithms, lemma 13.1), and so has the sorting of as many values before it changes its
# method (introsort, D. R. Musser, 1997).
LEVELS = 26
KNOWN_LEVELS = re.compile(r"_Rb_tree<.*>::_M_erase\(|std::__introsort_loop<")
# Does nothing when it is called again.
ONCE = "inline_prof::sys::turn_off("
# Calls through pointers that lead back into the library: the caller, and what it may call.
THROUGH_POINTERS = [
    ("Discovery::meet(", ">::describe<"),
    ("Discovery::meet(", "::describe_one("),
    ("Sites::forget_events(", "_Function_handler<bool (inline_prof::record::EventRecord"),
    ("Calibrator::measure(", "Calibrator::fill_"),
    ("inline_prof::sys::turn_off(", "inline_prof::cupti::leave("),
    ("LiveClone::mirror(", "::set_kernel("),
    ("LiveClone::mirror(", "::set_enabled("),
    # Reports of the wrappers to the session (libinject/hook/observer.hpp).
    *((wrapper, f"Session::{report}(") for report in ("before_launch", "after_launch", "context_created")
      for wrapper in ("hook::report<", "Wrapper<", "::copied_unmarked(", "graph_launch_unmarked<", "::on_callback(")),
]

# Bytes that glibc's functions take below their return address, measured with glibc 2.36 by filling the stack
# with a pattern, and a tenth more; the others take at most OTHER_BYTES.
OTHER_BYTES = 128
GLIBC_BYTES = {
    "aligned_alloc": 320, "dladdr": 160, "dl_iterate_phdr": 240, "dlclose": 4700, "dlerror": 2250, "dlopen": 4700,
    "dlsym": 1400, "dlvsym": 1400, "free": 240, "gmtime_r": 1050, "malloc": 320, "pthread_cond_timedwait": 320,
    "pthread_create": 720, "setenv": 400, "snprintf": 2250, "vsnprintf": 2250,
}
# Below its stack pointer, for a function that calls none (System V ABI for x86-64, 3.2.2).
RED_ZONE = 128
# These call a function that their caller names.
CALLING_BACK = {"dl_iterate_phdr", "pthread_once"}
# Calls that do not return: an exception, with which profiling ends, or the end of the process.
NO_RETURN = re.compile(r"__throw_|rethrow_exception|__cxa_(throw|rethrow|bad|allocate_exception|call_unexpected)|"
                       r"_Unwind_Resume|terminate|^abort|^exit|__assert|__stack_chk_fail")

# Instructions that are read: others neither lead anywhere nor change how much of the stack is in use.
PREFIXES = ("bnd ", "notrack ", "rex.", "addr32 ", "data16 ")
READ = ("call", "j", "lea", "push", "sub", *PREFIXES)
DIRECT = re.compile(r"(call|jmp|j[a-z]+)\s+([0-9a-f]+) <")
ADDRESS = re.compile(r"lea\s+.*#\s+([0-9a-f]+) <")
PREFIX = re.compile(r"^(?:(?:bnd|notrack|rex\.\w+|addr32|data16)\s+)+")
TO_THE_END = chr(0x10FFFF)


class Function:
    def __init__(self, begin, end):
        self.begin, self.end = begin, end
        self.rows = []  # (address, canonical frame address)
        self.own = 0
        self.calls = []  # (bytes in use, whether the caller goes on afterwards, address)
        self.taken = []  # (bytes in use, address)

    def in_use(self, address):
        """Bytes from the return address, itself included, to the stack pointer; None: another register tells."""
        at = bisect.bisect_right(self.rows, (address, TO_THE_END)) - 1
        found = re.fullmatch(r"rsp\+(\d+)", self.rows[at][1]) if at >= 0 else None
        return int(found[1]) if found else None


def functions_of(tools, library):
    functions, current = {}, None
    for line in tools.unwind_tables(library).splitlines():
        found = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if found:
            current = Function(int(found[1], 16), int(found[2], 16))
            functions[current.begin] = current
        elif " CIE " in line:
            current = None
        elif current is not None:
            row = re.match(r"([0-9a-f]{16}) (\S+)", line)
            if row:
                current.rows.append((int(row[1], 16), row[2]))
    return functions


def names_in(text):
    names = {}
    for line in text.splitlines():
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[3] in ("FUNC", "IFUNC") and fields[6] not in ("UND", "ABS"):
            names.setdefault(int(fields[1], 16), fields[7].split("@")[0])
    return names


def addresses_in_data(tools, library):
    """Functions in tables, those of virtual functions among them: relocations carry them."""
    found = set()
    for line in tools.readelf("--relocs", library).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2].endswith("_RELATIVE"):
            found.add(int(fields[3], 16))
    return found


def most_in_use(lines):
    """Returns the stack of a function that addresses its frame by another register than the stack pointer."""
    pushed = sum(8 for line in lines if line.startswith("push"))
    room = [int(found[1], 16) for found in (re.match(r"sub\s+\$0x([0-9a-f]+),%rsp", line) for line in lines) if found]
    return 16 + pushed + max(room, default=0)


def read_code(tools, library, functions):
    """Fills in what each function calls; returns the names behind the addresses of glibc's functions."""
    begins = sorted(functions)
    lines_of = {begin: [] for begin in begins}
    stubs = {}
    for line in tools.disassembly_of_all(library).splitlines():
        title = re.match(r"([0-9a-f]+) <(.*)@plt>:", line)
        if title:
            stubs[int(title[1], 16)] = title[2].split("@")[0]
        place, _, text = line.partition(":\t")
        if not text.startswith(READ):
            continue
        address = int(place, 16)
        at = bisect.bisect_right(begins, address) - 1
        if at >= 0 and address < functions[begins[at]].end:
            lines_of[begins[at]].append((address, PREFIX.sub("", text)))
    for begin, lines in lines_of.items():
        function = functions[begin]
        function.own = max((function.in_use(row) or most_in_use([text for _, text in lines])
                            for row, _ in function.rows), default=8)
        for address, line in lines:
            used = function.in_use(address) or function.own
            call, taken = DIRECT.match(line), ADDRESS.match(line)
            if call and (call[1] == "call" or not function.begin <= int(call[2], 16) < function.end):
                function.calls.append((used, call[1] == "call", int(call[2], 16)))
            if taken and int(taken[1], 16) in functions:
                function.taken.append((used, int(taken[1], 16)))
        if not any(line.startswith("call") for _, line in lines):
            function.own += RED_ZONE
    return stubs


class Code:
    def __init__(self, tools, library):
        self.functions = functions_of(tools, library)
        self.mangled = names_in(tools.readelf("--symbols", library))
        self.names = names_in(tools.readelf_demangled("--symbols", library))
        self.exported = set(names_in(tools.readelf("--dyn-syms", library))) & set(self.functions)
        self.stubs = read_code(tools, library, self.functions)
        self.in_data = addresses_in_data(tools, library) & set(self.functions)
        # Code that catches exceptions, to which no call leads.
        self.cold = {name[:-len(".cold")]: address for address, name in self.mangled.items()
                     if name.endswith(".cold") and address in self.functions}
        self.known = {}

    def name(self, address):
        return self.names.get(address, f"{address:x}")

    def steps_from(self, address):
        """(bytes in use before the call, address or name of what is called)"""
        function = self.functions[address]
        calls_back = False
        for used, returns, target in function.calls:
            name = self.stubs.get(target)
            if NO_RETURN.search(name or self.mangled.get(target, "")):
                continue
            calls_back = calls_back or name in CALLING_BACK
            if name is not None:
                yield used - (0 if returns else 8), name
            elif target in self.functions:
                entry = self.functions[target].in_use(target) or 8
                yield used - (0 if returns else entry), target
        if calls_back:
            for used, target in function.taken:
                yield used + GLIBC_BYTES["dl_iterate_phdr"], target
        name = self.name(address)
        for caller, called in THROUGH_POINTERS:
            if caller in name:
                for target in self.functions:
                    if called in self.name(target):
                        yield function.own, target
        if self.mangled.get(address) in self.cold:
            yield 0, self.cold[self.mangled[address]]

    def deepest(self, address, above=(), is_once_done=False):
        """Bytes from the return address on, and the names of what is called there."""
        if (address, is_once_done) in self.known:
            return self.known[address, is_once_done]
        if address in above:
            return float("inf"), ["calls itself"]
        best = (self.functions[address].own, [])
        is_once = ONCE in self.name(address)
        levels_above = 0
        for used, step in [] if is_once and is_once_done else self.steps_from(address):
            if step == address and KNOWN_LEVELS.search(self.name(address)):
                levels_above = (LEVELS - 1) * used
                continue
            if isinstance(step, str):
                below, path = 8 + GLIBC_BYTES.get(step, OTHER_BYTES), [step]
            else:
                # A function that is entered for the second time is not in the first one's cycle.
                inside = () if is_once else (*above, address)
                below, path = self.deepest(step, inside, is_once_done or is_once)
                path = [self.name(step), *path]
            if used + below > best[0]:
                best = (used + below, path)
        best = (levels_above + best[0], best[1])
        self.known[address, is_once_done] = best
        return best

    def roots(self):
        taken = {target for function in self.functions.values() for _, target in function.taken}
        return sorted(root for root in self.exported | self.in_data | taken
                      if not ELSEWHERE.search(self.name(root)) and not OF_THE_LANGUAGE.search(self.name(root)))


def check_stack(tools, library, most=MOST_BYTES):
    code = Code(tools, library)
    if not code.exported or not code.stubs:
        yield "no exported function, or no call of glibc's, seen"
    deepest = {root: code.deepest(root) for root in code.roots()}
    told = set()
    for root in sorted(deepest, key=lambda each: -deepest[each][0]):
        below, path = deepest[root]
        if below <= most or tuple(path[-3:]) in told:
            continue  # one line for all that end in the same calls
        told.add(tuple(path[-3:]))
        yield (f"{code.name(root)} takes {below} bytes of stack, {most} are the most for an application's "
               f"thread: {' > '.join(path)}")
