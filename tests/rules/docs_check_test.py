"""Plants wrong links, commands and paths in a small tree: each must be found, and nothing else."""

import pathlib
import tempfile
import unittest

import docs_check


class DocsCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("scripts/demo.sh", "echo\n")
        self.write("docs/accuracy.md", "nothing\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_a_page_that_agrees_with_its_tree_passes(self):
        self.write("docs/accuracy.md", "# Of x\n## A *part*, `b`\n* **Split k.** Yes.\n")
        self.write("scripts/a.sh", "# docs/accuracy.md, section \"Of x\"; accuracy.md, \"Split k\", scripts/demo.sh, demo.sh\n")
        self.write("base/b.hpp", "// a.sh, b.hpp, PERFORMANCE.md, DIR.md; ../scripts/a.sh\n#include \"none.hpp\"\n")
        self.write("README.md", "# Here\n[a](docs/accuracy.md#a-part-b) [b](https://example.org/c#d) [d](#here)\n"
                   "```sh\nscripts/demo.sh -o /tmp/x\n./scripts/demo.sh\nbuild/dev/prof-analyze\n```\n"
                   "```json\n{\"a\": \"scripts/none.sh\"}\n```\n")
        self.assertEqual(docs_check.check(self.root), [])

    def test_a_link_that_leads_nowhere_is_named(self):
        self.write("docs/page.md", "ok\n[a](accuracy.md), [b](none.md)\n")
        self.assertEqual(docs_check.check(self.root),
                         ["docs/page.md:2: the link none.md leads nowhere"])

    def test_a_link_to_a_section_that_does_not_exist_is_named(self):
        self.write("docs/page.md", "[a](accuracy.md#none) [b](#here)\n")
        self.assertEqual(docs_check.check(self.root), [
            "docs/page.md:1: the page of the link accuracy.md#none has no such section",
            "docs/page.md:1: the page of the link #here has no such section"])

    def test_what_a_comment_names_and_the_tree_does_not_have_is_named(self):
        self.write("base/a.hpp", "int a;  // base/none.hpp, none.md, accuracy.md\n/* b.cpp\n * c.cpp\n */\n")
        self.write("scripts/b.sh", "demo  # tests/none.py, and others' setup.py\n# docs/accuracy.md, \"None\"\n")
        self.assertEqual(docs_check.check(self.root), [
            "base/a.hpp:1: the comment names base/none.hpp, which does not exist",
            "base/a.hpp:1: the comment names none.md, which does not exist",
            "base/a.hpp:2: the comment names b.cpp, which does not exist",
            "base/a.hpp:3: the comment names c.cpp, which does not exist",
            "scripts/b.sh:1: the comment names tests/none.py, which does not exist",
            "scripts/b.sh:2: docs/accuracy.md has no section \"None\""])

    def test_a_recipe_that_names_nothing_of_the_sources_is_named(self):
        self.write("docs/how_to_add.md", "`kTable`, `make_it()`, `kNone`, `none_of()`\n")
        self.write("base/a.cpp", "int kTable; void make_it();\n")
        self.assertEqual(docs_check.check(self.root), [
            "docs/how_to_add.md:1: no source has kNone", "docs/how_to_add.md:1: no source has none_of()"])

    def test_pages_that_grow_too_long_are_counted(self):
        self.write("docs/deep/page.md", "word " * docs_check.MOST_WORDS)
        self.assertEqual(docs_check.check(self.root), [
            "docs:1: README.md and docs have 25001 words, 25000 at most: say it shorter, or beside the code"])

    def test_a_command_that_does_not_exist_is_named(self):
        self.write("README.md", "```bash\nscripts/demo.sh\nscripts/none.sh --fast\n```\n")
        self.assertEqual(docs_check.check(self.root), [
            "README.md:3: the command names scripts/none.sh, which does not exist"])

    def test_a_path_in_backticks_that_does_not_exist_is_named(self):
        self.write("docs/page.md", "`scripts/demo.sh`, `scripts/{demo,none}.sh`, `scripts/*.sh`, `docs/`\n"
                   "`analyzer/none*.cpp`, `scripts/demo.sh --help`, `a/b`\n")
        self.assertEqual(docs_check.check(self.root), [
            "docs/page.md:1: scripts/none.sh in backticks does not exist",
            "docs/page.md:2: analyzer/none*.cpp in backticks does not exist"])

    def test_a_path_of_one_machine_is_named(self):
        home = "/" + "home"
        self.write("scripts/run.sh", f"cd {home}/somebody/project\n")
        self.write("docs/ok.md", f"`$PREFIX{home}/x`, `~/x`, https://example.org{home}/x, {home}/...\n")
        self.assertEqual(docs_check.check(self.root), [
            f"scripts/run.sh:1: {home}/somebody means something on one machine only"])


if __name__ == "__main__":
    unittest.main()
