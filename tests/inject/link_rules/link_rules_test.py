#!/usr/bin/env python3
"""Plants a violation of each link rule in a small library and sees that the checker catches it.

    link_rules_test.py CC READELF OBJDUMP
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import link_rules

COMPILER, READELF, OBJDUMP = sys.argv[1:4]
del sys.argv[1:]
TOOLS = link_rules.Tools(READELF, OBJDUMP)

PLAIN = "#include <string.h>\nint f(const char* text) { return (int)strlen(text); }\n"


class PlantedViolations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def compile(self, source, *options, suffix=".c", kind="-shared"):
        file = self.write("source" + suffix, source)
        result = self.folder / ("a.o" if kind == "-c" else "liba.so")
        subprocess.run([COMPILER, kind, "-fPIC", "-O2", str(file), "-o", str(result), *options],
                       check=True)
        return result

    def expect(self, rule, source, *complaints, options=()):
        library = self.compile(source, *options)
        self.assertEqual(list(rule(TOOLS, library)), list(complaints))

    def test_a_plain_library_breaks_no_rule(self):
        for rule in (link_rules.check_needed, link_rules.check_symbol_versions, link_rules.check_load_time,
                     link_rules.check_imports, link_rules.check_thread_memory):
            self.expect(rule, PLAIN)
        self.assertEqual(list(link_rules.check_size(self.compile(PLAIN))), [])

    def test_another_library_is_needed(self):
        self.compile("int g(void) { return 1; }\n", "-Wl,-soname,libother.so.3")
        (self.folder / "liba.so").rename(self.folder / "libother.so")
        self.expect(link_rules.check_needed, "int g(void); int f(void) { return g(); }\n",
                    "needs libother.so.3, which is none of glibc's own libraries",
                    options=(f"-L{self.folder}", "-lother", "-lc"))

    def test_what_a_host_may_not_have_is_named(self):
        for rule, source, complaint in (
                (link_rules.check_imports, "#include <unistd.h>\nint f(void) { return link(\"a\", \"b\"); }\n",
                 "calls link, which an application may define: see sys/system_calls.cpp"),
                (link_rules.check_thread_memory, "_Thread_local char big[300];\nchar *f(void) { return big; }\n",
                 "has 300 bytes of thread-local memory, expected at most 256"),
                # arc4random came with 2.36.
                (link_rules.check_symbol_versions, "#include <stdlib.h>\nunsigned f(void) { return arc4random(); }\n",
                 "needs symbol version GLIBC_2.36: newer than GLIBC_2.17"),
                (link_rules.check_load_time, self.CONSTRUCTOR, "runs at_load at load time")):
            self.expect(rule, source, complaint)

    def test_libgcc_is_needed(self):
        library = self.compile('void* g(void) __asm__("_Unwind_Resume");\nvoid* f(void) { return g(); }\n',
                               "-shared-libgcc", "-Wl,--no-as-needed", "-lgcc_s")
        self.assertEqual(list(link_rules.check_needed(TOOLS, library)),
                         ["needs libgcc_s.so.1, which is none of glibc's own libraries"])
        self.assertIn("needs symbol version GCC_3.0: only GLIBC is allowed",
                      list(link_rules.check_symbol_versions(TOOLS, library)))

    def test_it_is_too_large(self):
        library = self.compile("char block[3000000] = {1};\n")
        self.assertEqual(len(list(link_rules.check_size(library))), 1)

    def sources(self, listed, marked, calls="", driver=""):
        self.write("libinject/exports.txt", "# a comment\n" + listed)
        self.write("libinject/libraries/call_list.h", f"/* X(not_this, 1) */\n{calls}")
        self.write("libinject/hook/driver_functions.hpp", f"// X(not_that, 1)\n{driver}")
        self.write("libinject/a.cpp", marked)
        return self.folder / "libinject"

    def exports(self, source, listed, marked, calls="", versions=None, driver=""):
        options = []
        if versions is not None:
            options.append(f"-Wl,--version-script={self.write('versions.map', versions)}")
        return list(link_rules.check_exports(TOOLS, self.compile(source, *options),
                                             self.sources(listed, marked, calls, driver)))

    CALL = 'int one; int w;\n__asm__(".symver w, call@V_2, remove");\n'
    MARKED = "INLINE_PROF_EXPORT int one();\n"

    def test_exports_agree(self):
        marked = "INLINE_PROF_EXPORT const table* two() {\n  return &all(1);\n}\n"
        self.assertEqual(self.exports("int one; int two;\n", "two\n", marked, driver="X(one, one, 4000)\n"), [])
        self.assertEqual(self.exports("int one; int one_z; int two;\n", "two\n", marked,
                                      driver="#define A_BOTH(X, a, b, c, ...)\n  A_BOTH(X, on, e, _z, 4000)\n"), [])
        # A library call with its version.
        self.assertEqual(self.exports(self.CALL, "one\n", self.MARKED, "X(call, 32)\n", "V_1 { }; V_2 { };\n"), [])

    def test_exports_differ(self):
        for complaints, arguments in (
                (["two stands in the lists and is not exported"],
                 {"source": "int one;\n", "driver": "X(two, two, 4000)\n"}),
                (["one stands in exports.txt and is not marked in the sources"],
                 {"source": "int one;\n", "marked": "// INLINE_PROF_EXPORT int one();\n"}),
                (["two is marked in the sources and does not stand in exports.txt",
                  "two is exported and does not stand in the lists"],
                 {"source": "int one; int two;\n", "marked": self.MARKED + "INLINE_PROF_EXPORT int two();\n"}),
                (["one stands in the lists and is not exported"], {"source": "static int one; int* f(void);\n"}),
                (["call stands in the lists and is not exported"], {"source": "int one;\n", "calls": "X(call, 32)\n"}),
                (["call@@V_2 answers to its version: only library calls do, and to nobody else"],
                 {"source": "int one; int call;\n", "calls": "X(call, 32)\n",
                  "versions": "V_1 { }; V_2 { global: call; };\n"})):
            with self.subTest(complaints[0]):
                self.assertEqual(self.exports(**{"listed": "one\n", "marked": self.MARKED, **arguments}), complaints)

    CONSTRUCTOR = "int seen;\n__attribute__((constructor)) static void at_load(void) { seen = 1; }\n"

    def test_an_object_of_ours_has_a_constructor(self):
        file = self.compile(self.CONSTRUCTOR, kind="-c")
        found = list(link_rules.check_objects(TOOLS, [file]))
        self.assertEqual(len(found), 1)
        self.assertIn("a.o has .init_array", found[0])
        self.assertEqual(list(link_rules.check_objects(TOOLS, [])), ["no object files given"])

    def own_object(self, source):
        file = self.compile(source, kind="-c")
        return file.rename(self.folder / "nvtx_variable.cpp.o")

    def test_the_one_constructor_is_right(self):
        source = self.CONSTRUCTOR.replace("at_load", "inline_prof_set_nvtx_path")
        self.expect(link_rules.check_load_time, source)
        self.assertEqual(list(link_rules.check_objects(TOOLS, [self.own_object(source)])), [])

    def test_a_second_constructor_beside_it_is_seen(self):
        second = self.CONSTRUCTOR.replace("at_load", "again").replace("int seen;", "")
        found = list(link_rules.check_objects(TOOLS, [self.own_object(self.CONSTRUCTOR + second)]))
        self.assertEqual(len(found), 1)

    def test_a_static_initialiser_of_ours_runs(self):
        library = self.compile("int f(); int value = f();\nint f() { return 1 + __builtin_rand(); }\n"
                               .replace("__builtin_rand", "rand")
                               .replace("int f();", "extern \"C\" int rand(); int f();", 1),
                               suffix=".cpp")
        self.assertEqual(list(link_rules.check_load_time(TOOLS, library)),
                         ["runs _GLOBAL__sub_I_source.cpp at load time"])

    def stack(self, source, *options):
        library = self.compile(source, "-fno-stack-protector", *options)
        if not link_rules.machine_of(TOOLS, library).endswith("X86-64"):
            self.skipTest("the rule reads x86-64 code")
        return list(link_rules.check_stack(TOOLS, library))

    FRAME = ("#include <string.h>\n__attribute__((noinline)) static int deep(const char* text) {{\n"
             "  char copy[{bytes}];\n  strcpy(copy, text);\n"
             "  __asm__ volatile(\"\" : : \"r\"(copy) : \"memory\");\n  return copy[3];\n}}\n")

    def test_stack_is_counted_along_calls_callbacks_and_recursion(self):
        calls_deep = "int f(void) { return deep(\"abc\") + 1; }\n"
        self.assertEqual(self.stack(self.FRAME.format(bytes=1000) + calls_deep), [])
        twice = ("int f(void) { char copy[2000]; strcpy(copy, strerror(deep(\"abc\"))); "
                 "return deep(copy) + copy[1]; }\n")
        callback = ("static int each(struct dl_phdr_info* library, size_t size, void* data) {\n"
                    "  return deep(library->dlpi_name) + (int)size;\n}\n"
                    "int f(void) { return dl_iterate_phdr(each, 0); }\n")
        recursive = ("int g(int);\n__attribute__((noinline)) static int deep(int n) "
                     "{ return n == 0 ? 0 : g(n) + deep(g(n - 1)) * 3; }\nint g(int n) { return n / 2; }\n"
                     "int f(int n) { return deep(n) + 1; }\n")
        for source, options, words in (
                (self.FRAME.format(bytes=5000) + calls_deep, (),
                 "^f takes 50[0-9][0-9] bytes of stack, 4096 are the most .*: deep"),
                (self.FRAME.format(bytes=2500) + twice, (), "^f takes "),
                ("#define _GNU_SOURCE\n#include <link.h>\n" + self.FRAME.format(bytes=3900) + callback, (), "^f takes "),
                (recursive, ("-fno-inline", "-fno-optimize-sibling-calls"), "inf bytes.*calls itself|calls itself.*inf bytes")):
            found = self.stack(source, *options)
            self.assertTrue([line for line in found if re.search(words, line)], found)

    def fast_path(self, source, *options):
        return list(link_rules.check_fast_path(TOOLS, self.compile(source, *options), ("f",)))

    def test_the_fast_path_is_short_and_ends_in_a_tail_jump(self):
        self.assertEqual(self.fast_path("extern int (*real)(int);\n__attribute__((visibility("
                                        '"hidden"))) int (*real)(int);\n'
                                        "int f(int a) { return real(a); }\n"), [])
        found = self.fast_path("int (*real)(int);\nint f(int a) { return real(a) + 1; }\n")
        self.assertIn("f: does not end in an indirect jump", found)
        steps = "".join(f"a = a * 31 + table[a & {2 ** i - 1}];" for i in range(1, 12))
        for source, words in (
                ("int f(int a) { return real(a) + 1; }\n", "makes a call"),
                ("int f(int a) { volatile int b = a; return real(b); }\n", "touches the stack"),
                (f"extern int table[4096];\nint f(int a) {{ {steps} return real(a); }}\n", "are the most")):
            found = self.fast_path("int (*real)(int);\n" + source, "-Wl,--unresolved-symbols=ignore-all")
            self.assertTrue([line for line in found if words in line], found)

    def test_a_function_that_is_missing_is_no_success(self):
        self.assertEqual(self.fast_path("int g;\n"), ["f: not found"])


if __name__ == "__main__":
    unittest.main()
