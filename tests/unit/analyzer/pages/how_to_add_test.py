#!/usr/bin/env python3
"""Follows docs/how_to_add.md: an operation kind, a model, a kernel family, a report column, a subcommand, a trace format
and a machine.

    how_to_add_test.py write PAGE ROOT FOLDER
    how_to_add_test.py test PAGE ROOT PROF_MODEL PROF_ANALYZE

`write` puts the examples beside this file where the page says, below FOLDER, and the files of ROOT that the page names with
the lines added.  `test` runs the two programs that were built with them.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

REGISTRY = "analyzer/model/registry.cpp"
EXAMPLES = {"softmax": "analyzer/model/calibrated/softmax", "lines": "analyzer/read/lines", "count": "analyzer/cli/prof_analyze"}
MACHINES = "analyzer/CMakeLists.txt"
MACHINE_TEXTS = "analyzer/model/machine_texts.cpp"
FAMILIES = "analyzer/model/families/kernel_families.json"
FAMILIES_TEXT = "analyzer/model/families/kernel_families_text.hpp"
# file -> the text that a row is put behind, and the row
ROWS = {
    "macros/include/inline_prof/op_kind.hpp": [
        ("  kRegion,", "  kTranspose,"),
        ('OpKindEntry{.kind = OpKind::kRegion, .name = "region", .is_measured = false},',
         'OpKindEntry{.kind = OpKind::kTranspose, .name = "transpose", .integers = "rows, cols", .texts = "type", '
         '.is_measured = false},')],
    "analyzer/model/roofline.cpp": [
        ("(bytes_before + bytes_after.value_or(0))};\n  return work;\n}\n",
         """OpWork transpose(Attributes& attributes) {
              OpWork work;
              const double elements = attributes.size("rows") * attributes.size("cols");
              work.traffic = {2 * elements * attributes.element("type", nullptr)};
              return work;
            }"""),
        ("OpWork work_of_kind(OpKind kind, Attributes& attributes) {\n  switch (kind) {",
         "case OpKind::kTranspose: return transpose(attributes);")],
    REGISTRY: [("kSoftmax, kMemory, kCast", ", kTranspose")],
    FAMILIES: [('"families": [', '["kernel_of_the_page<", "vectorized", "work of the page", "movement", "vectors"],')],
    "analyzer/report/columns.cpp": [
        ("std::vector<Column<Row>> all{", 'column<Row, [](const Row& row) { return 2 * row.calls; }>("twice_the_calls"),')],
    "analyzer/read/read_profile.cpp": [
        ('#include "read/file_text.hpp"', '#include "read/lines/lines.hpp"'), ("constexpr std::array kFormats{", "kLines,")],
    "analyzer/cli/prof_analyze/main.cpp": [
        ("constexpr Subcommand kSubcommands[] = {", '{"count", "Counts events", "prof-analyze count prof.json", declare_count},')],
    "analyzer/cli/prof_analyze/commands.hpp": [
        ("// One for each row of the table of subcommands in main.cpp.", "void declare_count(Command& command, int& status);")],
}


def blocks(page, language):
    """The code blocks of the page in this language, without their indentation."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in found]


def with_lines(registry, lines):
    """The registry with the page's lines: includes before the first one, entries behind the last one."""
    includes = "".join(line for line in lines if line.startswith("#include"))
    entries = "".join(line for line in lines if not line.startswith("#include"))
    registry = registry.replace('#include "model/calibrated', includes + '#include "model/calibrated', 1)
    head, end, tail = registry.partition("\n  };\n  return entries;")
    if not includes or not entries or not end or includes not in head:
        sys.exit(f"{REGISTRY}: not as the page says")
    return f"{head}\n{entries.rstrip()}{end}{tail}"


def with_row(path, text, line, row):
    head, found, tail = text.partition(line)
    if not found:
        sys.exit(f"{path}: expected the line {line}")
    return f"{head}{found}\n{row}\n{tail}"


def with_machine(root, machine):
    """The source that CMake makes of machine_ids, with one id more."""
    ids = re.search(r"set\(machine_ids\s+([^)]+)\)", (root / MACHINES).read_text()).group(1).split()
    files = [*(root / f"analyzer/model/machines/{id}.json" for id in ids), machine]
    table = "".join(f'{{"{file.name}", R"machine({file.read_text()})machine"}},\n' for file in files)
    return (root / f"{MACHINE_TEXTS}.in").read_text().replace("@machine_table@", table)


def write(page, root, folder):
    lines = blocks(page, "cpp")[0].splitlines(keepends=True)
    here = pathlib.Path(__file__).parent
    files = {REGISTRY: with_lines((root / REGISTRY).read_text(), lines),
             MACHINE_TEXTS: with_machine(root, here / "machine/page-gpu.json")}
    for path, rows in ROWS.items():
        if f"`{path}`" not in page and not path.endswith("commands.hpp"):
            sys.exit(f"the page does not name {path}")
        files.setdefault(path, (root / path).read_text())
        for line, row in rows:
            files[path] = with_row(path, files[path], line, row)
    # CMake makes this of the table, and the source includes it.
    text = (root / f"{FAMILIES_TEXT}.in").read_text().replace("@kernel_families@", files.pop(FAMILIES))
    files["analyzer/kernel_families_text.hpp"] = text
    source = "analyzer/model/families/kernel_family.cpp"
    files[source] = (root / source).read_text()
    for example, place in EXAMPLES.items():
        for file in (here / example).iterdir():
            files[f"{place}/{file.name}"] = file.read_text()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


class Page(unittest.TestCase):
    page = root = prof_model = prof_analyze = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class Model(Page):
    def setUp(self):
        super().setUp()
        self.table = blocks(self.page, "csv")[0]

    def test_is_listed_with_its_columns(self):
        models = csv.DictReader(self.run_program(self.prof_model, "list", "--format", "csv").splitlines())
        self.assertEqual([(row["editions"], row["--machine"]) for row in models if row["model"] == "softmax"],
                         [("calibrated", "must")])
        columns = csv.DictReader(
            self.run_program(self.prof_model, "list", "softmax", "--format", "csv").splitlines())
        self.assertEqual([row["name"] for row in columns if row["where"] == "column"],
                         self.table.splitlines()[0].split(","))

    def test_predicts_as_the_page_shows(self):
        (self.folder / "softmax.csv").write_text(self.table)
        _, *words = next(line for block in blocks(self.page, "sh") for line in block.splitlines()
                         if "softmax.csv" in line).split()
        self.assertEqual(self.run_program(self.prof_model, *words), blocks(self.page, "text")[0])

    def test_is_evaluated(self):
        header, first, _ = self.table.splitlines()
        (self.folder / "measured.csv").write_text(f"{header},time_us\n{first},20\n")
        errors = self.run_program(self.prof_model, "evaluate", "--model", "softmax", "--machine",
                                  "h200-sxm-141gb", "measured.csv", "--format", "csv")
        self.assertEqual([row["n"] for row in csv.DictReader(errors.splitlines())], ["1"])

    def test_predicts_the_operations_of_a_profile(self):
        profile = json.loads((self.root / "tests/data/gen3/small_h200.prof.json").read_text())
        profile["events"] = [event for event in profile["events"] if event["event_name"] == "fc.fprop.gemm"]
        profile["events"][0]["op"] = {"kind": "softmax", "rows": 4096, "cols": 4096, "type": "bf16"}
        (self.folder / "prof.json").write_text(json.dumps(profile))
        report = json.loads(self.run_program(self.prof_analyze, "prof.json", "--format", "json"))
        predicted = next(csv.DictReader(blocks(self.page, "text")[0].splitlines()))["predicted_us"]
        self.assertEqual([(row["model"], f"{row['predicted_us']:.6f}") for row in report["rows"]],
                         [("softmax", f"{float(predicted):.6f}")])


class Rows(Page):
    def report(self, file, *options):
        return json.loads(self.run_program(self.prof_analyze, file, "--format", "json", *options))

    def test_the_operation_kind_has_a_roofline_on_the_machine(self):
        profile = json.loads((self.root / "tests/data/gen3/small_h200.prof.json").read_text())
        profile["events"] = profile["events"][:1]
        profile["events"][0].update(measured_times_ms=7 * [2.0], op={
            "kind": "transpose", "rows": 8192, "cols": 8192, "type": "f32"})
        (self.folder / "prof.json").write_text(json.dumps(profile))
        row, = self.report("prof.json", "--models", "roofline", "--machine", "page-gpu")["rows"]
        # Half of 1 TB/s is reached.
        self.assertAlmostEqual(row["predicted_us"], 2 * 8192 * 8192 * 4 / 0.5e6)
        del profile["events"][0]["op"]["cols"]
        (self.folder / "prof.json").write_text(json.dumps(profile))
        row, = self.report("prof.json", "--machine", "page-gpu")["rows"]
        self.assertEqual(row["reason"], "transpose without cols")

    def test_a_kernel_of_the_family_is_predicted(self):
        profile = json.loads((self.root / "tests/data/gen3/small_h200.prof.json").read_text())
        profile["events"] = profile["events"][:1]
        profile["events"][0].update(kernel_name="void kernel_of_the_page<float>(float*)", op={
            "kind": "memory", "read_bytes": 10 ** 8, "write_bytes": 10 ** 8})
        (self.folder / "prof.json").write_text(json.dumps(profile))
        self.assertEqual([row["model"] for row in self.report("prof.json")["rows"]], ["family vectorized"])

    def test_the_column_is_in_the_json(self):
        rows = self.report(self.root / "tests/data/gen3/small_h200.prof.json")["rows"]
        self.assertEqual([row["twice_the_calls"] for row in rows], [2 * row["calls"] for row in rows])

    def test_the_format_is_read(self):
        (self.folder / "times.lines").write_text("times of kernels\nfirst 12.5\nsecond 30\n")
        rows = self.report("times.lines")["rows"]
        self.assertEqual({row["event"]: row["raw_us"] for row in rows}, {"first": 12.5, "second": 30})

    def test_the_subcommand_runs_and_stands_in_the_help(self):
        small = self.root / "tests/data/gen3/small_h200.prof.json"
        events = len(json.loads(small.read_text())["events"])
        self.assertEqual(self.run_program(self.prof_analyze, "count", small), f"{events}\n")
        self.assertIn("Counts events", self.run_program(self.prof_analyze, "--help"))


if __name__ == "__main__":
    action, page_file, root_folder, *rest = sys.argv[1:]
    text_of_page = pathlib.Path(page_file).read_text()
    if action == "write":
        write(text_of_page, pathlib.Path(root_folder), pathlib.Path(rest[0]))
    else:
        Page.page, Page.root = text_of_page, pathlib.Path(root_folder).resolve()
        Page.prof_model, Page.prof_analyze = rest
        unittest.main(argv=sys.argv[:1])
