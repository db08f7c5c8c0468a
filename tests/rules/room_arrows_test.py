"""Plants violations in a small tree: a checker that never complains would pass on any project."""

import pathlib
import tempfile
import unittest

import room_arrows


class RoomArrows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("macros/include/inline_prof/abi.h", "")
        self.write("schedule/plan.hpp", "#include <inline_prof/abi.h>\n")
        self.write("libinject/sys/config.hpp", "")
        self.write("libinject/record/ring.hpp", '#include "sys/config.hpp"\n')
        self.write("libinject/launch/launch.cpp",
                   '#include "record/ring.hpp"\n#include <cuda.h>\n')
        self.write("analyzer/read/prof.hpp", "#include <fmt/format.h>\n")
        self.write("analyzer/model/roofline.cpp", '#include "read/prof.hpp"\n')

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def complaints(self):
        return room_arrows.check_includes(self.root)

    def test_a_tree_that_follows_the_rules_passes(self):
        self.assertEqual(self.complaints(), [])

    def test_an_arrow_against_the_flow_is_named_with_its_line(self):
        self.write("libinject/sys/log.cpp", '#include <cstdio>\n#include "record/ring.hpp"\n')
        self.assertEqual(self.complaints(), [
            "libinject/sys/log.cpp:2: libinject/sys includes libinject/record/ring.hpp: allowed "
            "are base, macros"])

    def test_the_timer_does_not_ask_the_schedule(self):
        self.write("libinject/timer/ring.cpp", '#include "schedule/plan.hpp"\n')
        self.assertEqual(len(self.complaints()), 1)

    def test_no_wrapper_includes_the_session(self):
        self.write("libinject/session/session.hpp", "")
        self.write("libinject/graphs/hooks.cpp", '#include "session/session.hpp"\n')
        self.assertEqual(len(self.complaints()), 1)
        self.write("libinject/session/arming.cpp", '#include "graphs/clone.hpp"\n#include "schedule/plan.hpp"\n')
        self.write("libinject/graphs/clone.hpp", "")
        self.write("libinject/entry/start.cpp", '#include "session/session.hpp"\n')
        self.assertEqual(len(self.complaints()), 1)

    def test_the_rooms_have_no_circle(self):
        self.assertTrue(room_arrows.is_without_cycles())
        before = room_arrows.ALLOWED["libinject/hook"]
        self.addCleanup(room_arrows.ALLOWED.update, {"libinject/hook": before})
        room_arrows.ALLOWED["libinject/hook"] = before | {"libinject/session"}
        self.assertFalse(room_arrows.is_without_cycles())

    def test_a_room_defines_names_in_its_own_namespace(self):
        self.write("libinject/launch/launch.hpp",
                   "namespace inline_prof::graphs {\nstruct Graph;\n}\nnamespace inline_prof::launch {\nint a;\n}\n")
        self.assertEqual(room_arrows.check_namespaces(self.root), [])
        self.write("libinject/launch/launch.hpp", "\nnamespace inline_prof::graphs {\nint a;\n}\n")
        self.assertEqual(room_arrows.check_namespaces(self.root), [
            "libinject/launch/launch.hpp:2: opens inline_prof::graphs: what libinject/launch defines is in "
            "inline_prof::launch"])

    def test_libinject_and_analyzer_never_meet(self):
        self.write("analyzer/join/join.cpp", '#include "../../libinject/sys/config.hpp"\n')
        self.assertEqual(len(self.complaints()), 1)
        self.write("libinject/record/writer.cpp", '\n\n#  include "../../analyzer/read/prof.hpp"\n')
        self.assertEqual(len(self.complaints()), 2)
        self.assertTrue(self.complaints()[1].startswith("libinject/record/writer.cpp:3: "))

    def test_a_model_does_not_include_the_fit_beside_it(self):
        self.write("analyzer/fit/fits.hpp", "")
        self.write("analyzer/model/toy/toy.hpp", "")
        self.write("analyzer/model/toy/toy_fit.hpp", '#include "fit/fits.hpp"\n#include "model/toy/toy.hpp"\n')
        self.assertEqual(self.complaints(), [])
        self.write("analyzer/model/toy/toy.cpp", '#include "model/toy/toy_fit.hpp"\n')
        self.assertEqual(self.complaints(), [
            "analyzer/model/toy/toy.cpp:1: analyzer/model includes analyzer/model/toy/toy_fit.hpp: "
            "allowed are analyzer/read, base, macros"])

    def test_the_schedule_reads_no_clock(self):
        self.write("schedule/plan.cpp", "#include <chrono>\n")
        self.assertEqual(len(self.complaints()), 1)
        self.assertTrue(self.complaints()[0].startswith("schedule/plan.cpp:1: "))

    def test_the_library_never_calls_the_runtime(self):
        self.write("libinject/timer/events.cpp", "#include <cuda_runtime_api.h>\n")
        self.assertEqual(len(self.complaints()), 1)

    def test_the_launcher_takes_only_data_from_libinject(self):
        self.write("libinject/libraries/driver_names.hpp", "")
        self.write("libinject/libraries/calls.hpp", "")
        self.write("libinject/run/main.cpp",
                   '#include "libraries/driver_names.hpp"\n#include "sys/config.hpp"\n')
        self.assertEqual(self.complaints(), [])
        self.write("libinject/run/main.cpp", '#include "libraries/calls.hpp"\n')
        self.assertEqual(len(self.complaints()), 1)

    def test_the_simulated_gpu_uses_nothing_of_ours(self):
        self.write("simgpu/common/entry.hpp", "#include <cuda.h>\n")
        self.write("simgpu/driver/call.hpp", '#include "common/entry.hpp"\n')
        self.assertEqual(self.complaints(), [])
        self.write("simgpu/driver/launch.cpp", '#include <inline_prof/abi.h>\n')
        self.write("simgpu/tests/launch_test.cpp", '#include "libinject/sys/config.hpp"\n')
        self.assertEqual(self.complaints(), [
            "simgpu/driver/launch.cpp:1: simgpu includes macros/include/inline_prof/abi.h: allowed are no other room",
            "simgpu/tests/launch_test.cpp:1: simgpu includes libinject/sys/config.hpp: allowed are no other room"])

    def test_a_file_in_no_room_is_named(self):
        self.write("analyzer/utils/text.hpp", "")
        self.assertEqual(len(self.complaints()), 1)

    def test_a_link_edge_against_the_flow_is_named_with_its_line(self):
        self.write("analyzer/model/CMakeLists.txt",
                   "add_library(inline_prof_model roofline.cpp)\n"
                   "target_link_libraries(inline_prof_model\n"
                   "  PRIVATE inline_prof_read inline_prof_join)\n")
        edges = ("analyzer/model inline_prof_model inline_prof_read analyzer/read\n"
                 "analyzer/model inline_prof_model fmt::fmt -\n"
                 "analyzer/model inline_prof_model inline_prof_build_flags .\n")
        self.assertEqual(room_arrows.check_links(self.root, edges), [])
        edges += "analyzer/model inline_prof_model inline_prof_join analyzer/join\n"
        self.assertEqual(room_arrows.check_links(self.root, edges), [
            "analyzer/model/CMakeLists.txt:3: inline_prof_model links inline_prof_join of "
            "analyzer/join, which analyzer/model must not use"])

    def test_the_library_must_not_link_the_analyzer(self):
        self.write("libinject/CMakeLists.txt", "")
        edges = "libinject inline_prof_inject inline_prof_read analyzer/read\n"
        self.assertEqual(len(room_arrows.check_links(self.root, edges)), 1)
        edges = "libinject inline_prof_inject_parts inline_prof_schedule schedule\n"
        self.assertEqual(room_arrows.check_links(self.root, edges), [])


if __name__ == "__main__":
    unittest.main()
