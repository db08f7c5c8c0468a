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
        self.write("libinject/launch/launch.cpp", '#include "record/ring.hpp"\n#include <cuda.h>\n')
        self.write("analyzer/read/prof.hpp", "#include <fmt/format.h>\n")
        self.write("analyzer/model/roofline.cpp", '#include "read/prof.hpp"\n')
        self.write("analyzer/fit/fits.hpp", "")
        self.write("analyzer/model/toy/toy.hpp", "")
        self.write("analyzer/model/toy/toy_fit.hpp", '#include "fit/fits.hpp"\n#include "model/toy/toy.hpp"\n')
        self.write("libinject/session/session.hpp", "")
        self.write("libinject/graphs/clone.hpp", "")
        self.write("libinject/session/arming.cpp", '#include "graphs/clone.hpp"\n#include "schedule/plan.hpp"\n')
        self.write("libinject/entry/start.cpp", '#include "session/session.hpp"\n')
        self.write("libinject/libraries/driver_names.hpp", "")
        self.write("libinject/libraries/calls.hpp", "")
        self.write("libinject/run/main.cpp", '#include "libraries/driver_names.hpp"\n#include "sys/config.hpp"\n')
        self.write("simgpu/common/entry.hpp", "#include <cuda.h>\n")
        self.write("simgpu/driver/call.hpp", '#include "common/entry.hpp"\n')

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def complaints(self):
        return room_arrows.check_includes(self.root)

    def test_a_tree_that_follows_the_rules_passes(self):
        self.assertEqual(self.complaints(), [])

    def test_an_arrow_against_the_flow_is_named_with_its_line(self):
        for path, text, complaint in (
                ("libinject/sys/log.cpp", '#include <cstdio>\n#include "record/ring.hpp"',
                 "2: libinject/sys includes libinject/record/ring.hpp: allowed are base, macros"),
                # The timer does not ask the schedule, and no wrapper includes the session.
                ("libinject/timer/ring.cpp", '#include "schedule/plan.hpp"', "1: libinject/timer includes schedule/plan.hpp"),
                ("libinject/graphs/hooks.cpp", '#include "session/session.hpp"',
                 "1: libinject/graphs includes libinject/session/session.hpp"),
                # Libinject and the analyzer never meet.
                ("analyzer/join/join.cpp", '#include "../../libinject/sys/config.hpp"', "1: analyzer/join includes libinject/sys/"),
                ("libinject/record/writer.cpp", '\n\n#  include "../../analyzer/read/prof.hpp"',
                 "3: libinject/record includes analyzer/read/"),
                # A model does not include the fit beside it.
                ("analyzer/model/toy/toy.cpp", '#include "model/toy/toy_fit.hpp"',
                 "1: analyzer/model includes analyzer/model/toy/toy_fit.hpp: allowed are analyzer/read, base, macros"),
                # The schedule reads no clock, and the library never calls the runtime.
                ("schedule/plan.cpp", "#include <chrono>", "1: "),
                ("libinject/timer/events.cpp", "#include <cuda_runtime_api.h>", "1: "),
                # The launcher takes only data from libinject.
                ("libinject/run/main.cpp", '#include "libraries/calls.hpp"', "1: "),
                # The simulated GPU uses nothing of ours.
                ("simgpu/driver/launch.cpp", "#include <inline_prof/abi.h>",
                 "1: simgpu includes macros/include/inline_prof/abi.h: allowed are no other room"),
                ("simgpu/tests/launch_test.cpp", '#include "libinject/sys/config.hpp"',
                 "1: simgpu includes libinject/sys/config.hpp: allowed are no other room"),
                ("analyzer/utils/text.hpp", "", "")):  # a file in no room
            with self.subTest(path):
                file = self.root / path
                before = file.read_text() if file.exists() else None
                self.write(path, text + "\n")
                found = self.complaints()
                self.assertEqual([line[:len(path) + 1 + len(complaint)] for line in found], [f"{path}:{complaint}"])
                if before is None:
                    file.unlink()
                else:
                    file.write_text(before)

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
