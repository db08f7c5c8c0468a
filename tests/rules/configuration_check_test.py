"""Pages that differ from the table of variables in each possible way: each must be named."""

import unittest

import configuration_check

SOURCE = '''constexpr std::array kVariables{
    Variable{"INLINE_PROF_LOG", "warning", "quiet, error", "what is said"},
    Variable{"INLINE_PROF_OUT", "(none)", "a path; %h | %p",
             "the output "
             "file"},
};
'''
GOOD = '''| name | default | range | meaning |
|---|---|---|---|
| `INLINE_PROF_LOG` | `warning` | quiet, error | what is said |
| `INLINE_PROF_OUT` | (none) | a path; %h \\| %p | the output file |
'''


class Configuration(unittest.TestCase):
    def differences(self, page, source=SOURCE):
        return list(configuration_check.differences(source, page))

    def test_a_page_that_agrees_passes(self):
        self.assertEqual(self.differences(GOOD), [])

    def test_a_variable_that_is_not_explained_is_named(self):
        page = "\n".join(line for line in GOOD.splitlines() if "LOG" not in line)
        self.assertEqual(self.differences(page), [
            "libinject/sys/config.cpp:2: INLINE_PROF_LOG is not explained in docs/configuration.md"])

    def test_another_default_is_named(self):
        found = self.differences(GOOD.replace("`warning`", "error"))
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("docs/configuration.md:3: INLINE_PROF_LOG: "))

    def test_another_range_is_named(self):
        self.assertEqual(len(self.differences(GOOD.replace("quiet, error", "quiet"))), 1)

    def test_another_meaning_is_named(self):
        self.assertEqual(self.differences(GOOD.replace("the output file", "a file")), [
            "docs/configuration.md:4: INLINE_PROF_OUT: the meaning is \"a file\", in "
            "libinject/sys/config.cpp:3 \"the output file\""])

    def test_a_variable_that_does_not_exist_is_named(self):
        found = self.differences(GOOD + "| `PROFILING_SPEED` | 1 | 1 to 2 | none |\n")
        self.assertEqual(found, [
            "docs/configuration.md:5: PROFILING_SPEED is not in libinject/sys/config.cpp"])

    def test_a_source_without_a_table_is_named(self):
        self.assertEqual(self.differences("", source="int main() {}")[0],
                         "libinject/sys/config.cpp:1: no table of variables found")


if __name__ == "__main__":
    unittest.main()
