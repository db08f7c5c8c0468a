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
        self.write("README.md", "[a](docs/accuracy.md#x) [b](https://example.org/c) [d](#here)\n"
                   "```sh\nscripts/demo.sh -o /tmp/x\n./scripts/demo.sh\nbuild/dev/prof-analyze\n```\n"
                   "```json\n{\"a\": \"scripts/none.sh\"}\n```\n")
        self.assertEqual(docs_check.check(self.root), [])

    def test_a_link_that_leads_nowhere_is_named(self):
        self.write("docs/page.md", "ok\n[a](accuracy.md), [b](none.md)\n")
        self.assertEqual(docs_check.check(self.root),
                         ["docs/page.md:2: the link none.md leads nowhere"])

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
