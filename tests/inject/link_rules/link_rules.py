#!/usr/bin/env python3
"""Checks the built libinline_prof.so: it is loaded into programs that did not ask for it.

    link_rules.py --readelf R --objdump O --library SO --sources LIBINJECT --objects LIST
                  [--optimised] [--without-stack]

  needs       nothing but glibc's own libraries, no symbol newer than glibc 2.17
  size        below 2.5 MiB
  imports     no function under a name that an application may give to one of its own
  threads     256 bytes of thread-local memory, which a library that is loaded late must still get
  exports     what exports.txt, driver_functions.hpp and call_list.h name, what the sources mark and
              what the file shows are one set; vendor names with a version answer to that version only
  load time   one constructor of ours, which tells NVTX where we are: no other of the objects named
              in the file LIST has an .init_array, and every other entry of the library's belongs
              to the compiler's or the C++ library's objects
  fast path   the launch wrappers make no call, touch no stack and end in jumps
  stack       no function that runs on a thread of the application's takes more than 4 KiB, with all that
              it calls (stack_rule.py)

Prints one line per violation; exit status 1 if there is one.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import stack_rule

ALLOWED_NEEDED = re.compile(r"(lib(c|m)\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-[\w-]+\.so\.\d)")
NEWEST_GLIBC = (2, 17)
MOST_BYTES = 10 * 256 * 1024
ASSEMBLY_PATHS = ("cuLaunchKernel", "cuLaunchKernel_ptsz")
COMPILED_PATHS = ("cuLaunchKernelEx", "cuLaunchKernelEx_ptsz")
MOST_INSTRUCTIONS = {"AArch64": 18}  # an address takes two there
MOST_INSTRUCTIONS_ELSEWHERE = 19  # of GCC 12 16, of Clang 22 19
# Registers and mnemonics of both machines; `mov 0x28(%rsp)` as well as `ldr x0, [sp, #8]`.
STACK = re.compile(r"%[re]?[sb]p\b|\[sp\b|\bsp,|^(push|pop|call|enter|leave|ret)")
CALL = re.compile(r"^(call|bl|blr)\b")
INDIRECT_JUMP = re.compile(r"^(jmp\s+\*|br\s)")
PADDING = re.compile(r"^(nop|xchg\s+%ax,%ax|data16|cs nop|int3|endbr64|bti)")
# Functions of the compiler's start files and, on aarch64, of libgcc.  Everything else must be a static
# initialiser of libstdc++.
START_FILES = {"frame_dummy", "register_tm_clones", "init_have_lse_atomics"}

# The one constructor of ours, and the object it stands in.
OWN_CONSTRUCTOR = "inline_prof_set_nvtx_path"
OWN_OBJECT = re.compile(r"nvtx_variable\.cpp\.o(bj)?")


class Tools:
    def __init__(self, readelf, objdump):
        self.readelf_program, self.objdump_program = readelf, objdump

    @staticmethod
    def _output(command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def readelf(self, option, file):
        return self._output([self.readelf_program, "--wide", option, str(file)])

    def readelf_demangled(self, option, file):
        return self._output([self.readelf_program, "--wide", "--demangle", option, str(file)])

    def unwind_tables(self, file):
        # readelf 2.40 gives 1 for a library whose debug information stands beside it, and says nothing.
        return subprocess.run([self.readelf_program, "--wide", "--debug-dump=frames-interp", str(file)],
                              check=False, capture_output=True, text=True).stdout

    def disassembly_of_all(self, file):
        return self._output([self.objdump_program, "-d", "--wide", "--no-show-raw-insn", str(file)])

    def disassembly(self, file, symbol):
        return self._output([self.objdump_program, "-d", "--no-show-raw-insn",
                             f"--disassemble={symbol}", str(file)])


def check_needed(tools, library):
    found = re.findall(r"\(NEEDED\).*\[(.*)\]", tools.readelf("--dynamic", library))
    if not found:
        yield "no DT_NEEDED seen: is this a shared library?"
    for name in found:
        if not ALLOWED_NEEDED.fullmatch(name):
            yield f"needs {name}, which is none of glibc's own libraries"


def check_symbol_versions(tools, library):
    needs = tools.readelf("--version-info", library).partition("Version needs section")[2]
    seen = re.findall(r"Name: (\S+)", needs)
    if not seen:
        yield "no version needs seen"
    for version in sorted(set(seen)):
        match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
        if match is None:
            yield f"needs symbol version {version}: only GLIBC is allowed"
        elif (int(match[1]), int(match[2])) > NEWEST_GLIBC:
            yield f"needs symbol version {version}: newer than GLIBC_2.17"


# ISO C reserves its own names, those of its headers' futures (str..., mem...), and all that begin
# with an underscore (ISO/IEC 9899:2011, 7.1.3 and 7.31).  The prefixes and the names behind are
# POSIX's: threads and the loader, and what the C++ library asks for and we never call.
RESERVED = re.compile(
    r"_\w+|(str|mem|wcs|wmem|is|to)[a-z]\w*|abort|aligned_alloc|calloc|ceilf?|erfc?|exit|exp|exp2|expm1|"
    r"fe[gs]etround|fflush|floor|fopen|fputc|fputs|free|fwrite|getenv|localeconv|log|log2|malloc|realloc|"
    r"v?f?printf|s?n?printf|setlocale|sprintf|sqrt|std(in|out|err)|time|v?snprintf|"
    r"pthread_\w+|sem_\w+|dl\w+|"
    r"clock_gettime|environ|freelocale|gettext|gmtime_r|newlocale|nl_langinfo|setenv|uselocale")
MOST_THREAD_BYTES = 256


def check_imports(tools, library):
    for line in tools.readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[6] == "UND":
            name = fields[7].split("@")[0]
            if not RESERVED.fullmatch(name):
                yield f"calls {name}, which an application may define: see sys/system_calls.cpp"


def check_thread_memory(tools, library):
    found = re.search(r"^\s*TLS\s+(?:0x[0-9a-f]+\s+){4}(0x[0-9a-f]+)", tools.readelf("--segments", library),
                      re.M)
    if found and int(found[1], 16) > MOST_THREAD_BYTES:
        yield f"has {int(found[1], 16)} bytes of thread-local memory, expected at most {MOST_THREAD_BYTES}"


def check_size(library, most=MOST_BYTES):
    size = library.stat().st_size
    if size >= most:
        yield f"has {size} bytes, {most} are too many for what every program loads"


def names_in_list(text):
    """Lines of exports.txt."""
    return {line for line in text.splitlines() if line and not line.startswith("#")}


def functions_in(file):
    """Names X(name, ...) and ..._BOTH(X, name, form, suffix, ...) of a list of hooked functions; none where there is no such file."""
    if not file.exists():
        return set()
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(), flags=re.S)
    both = re.findall(r"^ +\w+_BOTH\(X, (\w+), (\w*), (\w+),", text, flags=re.M)
    return {*re.findall(r"\bX\((\w+),", text), *(name + form for name, form, _ in both), *map("".join, both)}


def exports_marked_in(sources):
    """Names after INLINE_PROF_EXPORT, and the dlsym trampoline."""
    marked = set()
    for file in sorted(sources.rglob("*")):
        if file.suffix in {".cpp", ".hpp"}:
            text = re.sub(r"//.*|^\s*#.*", "", file.read_text(), flags=re.M)
            marked |= set(re.findall(r"INLINE_PROF_EXPORT\s[^;{]*?(\w+)\s*\(", text))
    trampolines = [re.findall(r"^\s*\.globl\s+(\w+)", file.read_text(), re.M)
                   for file in sorted(sources.rglob("dlsym_*.S"))]
    for names in trampolines:
        marked |= set(names)
    return marked


def exports_shown(tools, library):
    """Names as the file has them, `name@version` where it is bound to one."""
    shown = set()
    for line in tools.readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        # Absolute symbols are the versions themselves.
        if (len(fields) >= 8 and fields[4] in {"GLOBAL", "WEAK"}
                and fields[6] not in {"UND", "ABS"}):
            shown.add(fields[7])
    return shown


def check_exports(tools, library, sources):
    listed = names_in_list((sources / "exports.txt").read_text())
    driver = functions_in(sources / "hook" / "driver_functions.hpp")
    calls = functions_in(sources / "libraries" / "call_list.h")
    marked = exports_marked_in(sources)
    shown = exports_shown(tools, library)
    plain = {name.split("@")[0] for name in shown}
    if not listed:
        yield "exports.txt names nothing"
    for name in sorted(listed - marked):
        yield f"{name} stands in exports.txt and is not marked in the sources"
    for name in sorted(marked - listed):
        yield f"{name} is marked in the sources and does not stand in exports.txt"
    for name in sorted((listed | driver | calls) - plain):
        yield f"{name} stands in the lists and is not exported"
    for name in sorted(plain - listed - driver - calls):
        yield f"{name} is exported and does not stand in the lists"
    for name in sorted(shown):
        if "@@" in name or ("@" in name and name.split("@")[0] not in calls):
            yield f"{name} answers to its version: only library calls do, and to nobody else"


def check_objects(tools, objects):
    if not objects:
        yield "no object files given"
    for file in objects:
        if str(file).endswith(".gch"):  # a precompiled header
            continue
        sections = re.findall(r"\s(\.(?:init_array|preinit_array|ctors)\S*)\s+\S+\s+\S+\s+\S+\s+(\S+)",
                              tools.readelf("--sections", file))
        for section, size in sections:
            if (OWN_OBJECT.fullmatch(pathlib.Path(file).name) and section == ".init_array"
                    and int(size, 16) == 8):
                continue
            yield f"{pathlib.Path(file).name} has {section}: something of ours runs at load time"


def init_array_entries(tools, library):
    """The functions that the loader calls, as addresses: the array's relocations carry them."""
    section = re.search(r"\s\.init_array\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)",
                        tools.readelf("--sections", library))
    if section is None:
        return []
    begin, size = int(section[1], 16), int(section[2], 16)
    entries = []
    for line in tools.readelf("--relocs", library).splitlines():
        fields = line.split()
        if len(fields) >= 4 and re.fullmatch(r"[0-9a-f]+", fields[0]):
            if begin <= int(fields[0], 16) < begin + size:
                entries.append(int(fields[-1], 16))
    return entries


def check_load_time(tools, library):
    names = {}
    for line in tools.readelf("--symbols", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] == "FUNC":
            names.setdefault(int(fields[1], 16), fields[7])
    entries = init_array_entries(tools, library)
    if not entries:
        yield "no .init_array entries seen: even an empty library has frame_dummy"
    for address in entries:
        name = names.get(address, "a function without a name")
        # libstdc++'s files end in .cc, ours in .cpp.
        # Clang writes the constructor's name as the linker knows it.
        name = re.sub(r"^_ZL\d+(\w+)v$", r"\1", name)
        if name not in START_FILES | {OWN_CONSTRUCTOR} and not re.fullmatch(r"_GLOBAL__sub_I_\w+\.cc", name):
            yield f"runs {name} at load time"


def instructions_of(disassembly, symbol):
    body = re.search(rf"<{re.escape(symbol)}>:\n((?:\s+[0-9a-f]+:.*\n?)*)", disassembly)
    if body is None:
        return []
    lines = [line.split(":", 1)[1].strip() for line in body[1].splitlines()]
    return [line for line in lines if not PADDING.match(line)]


def machine_of(tools, library):
    return re.search(r"Machine:\s+(.+\S)", tools.readelf("--file-header", library))[1]


def check_stack(tools, library):
    if machine_of(tools, library).endswith("X86-64"):
        yield from stack_rule.check_stack(tools, library)


def check_fast_path(tools, library, symbols):
    machine = machine_of(tools, library)
    most = MOST_INSTRUCTIONS.get(machine, MOST_INSTRUCTIONS_ELSEWHERE)
    for symbol in symbols:
        found = instructions_of(tools.disassembly(library, symbol), symbol)
        if not found:
            yield f"{symbol}: not found"
            continue
        if len(found) > most:
            yield f"{symbol}: {len(found)} instructions, {most} are the most"
        for line in found:
            if CALL.match(line):
                yield f"{symbol}: makes a call: {line}"
            elif STACK.search(line):
                yield f"{symbol}: touches the stack: {line}"
        if not any(INDIRECT_JUMP.match(line) for line in found):
            yield f"{symbol}: does not end in an indirect jump"


def main():
    parser = argparse.ArgumentParser()
    for option in ("--readelf", "--objdump"):
        parser.add_argument(option, required=True)
    for option in ("--library", "--sources", "--objects"):
        parser.add_argument(option, required=True, type=pathlib.Path)
    parser.add_argument("--optimised", action="store_true",
                        help="built with -O2: the compiler makes tail calls, and the size counts")
    parser.add_argument("--without-stack", action="store_true",
                        help="of another compiler and C++ library than stack_rule.py knows")
    options = parser.parse_args()
    tools = Tools(options.readelf, options.objdump)
    objects = [line for line in options.objects.read_text().splitlines() if line]
    complaints = [*check_needed(tools, options.library),
                  *check_symbol_versions(tools, options.library),
                  *check_exports(tools, options.library, options.sources),
                  *check_objects(tools, objects),
                  *check_load_time(tools, options.library),
                  *check_imports(tools, options.library),
                  *check_thread_memory(tools, options.library),
                  *check_fast_path(tools, options.library, ASSEMBLY_PATHS)]
    if options.optimised:
        complaints += check_size(options.library)
        complaints += check_fast_path(tools, options.library, COMPILED_PATHS)
    if options.optimised and not options.without_stack:
        complaints += check_stack(tools, options.library)
    for complaint in complaints:
        print(f"{options.library.name}: {complaint}")
    if not complaints:
        print(f"{options.library.name}: every rule holds")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
