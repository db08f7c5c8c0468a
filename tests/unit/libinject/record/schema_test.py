"""Compares docs/schemas/prof.schema.json with the fields of prof_format.hpp and with what the injected library writes.

    schema_test.py WRITTEN SCHEMA PROF_FORMAT

WRITTEN is the file that prof_writer_test.cpp compares with what is written: all but the version.

Exit status 77 where the validator (Debian's python3-jsonschema) is missing.
"""

import copy
import json
import pathlib
import re
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

WRITTEN, SCHEMA, FORMAT = sys.argv[1:4]
del sys.argv[1:]

# Fields that a run without MIG, MPS, classes, reasons and waits does not write.
NOT_WRITTEN = {"devices/mig", "devices/mps_percent", "events/class", "events/reason", "events/after_wait_us"}
UNITS = {"ms", "us", "s", "bytes", "khz", "percent"}


def fields_of_the_format():
    """Returns {"OBJECT/KEY": (C++ type, unit)}; a key of the top level has no OBJECT/."""
    fields, scope = {}, ""
    text = re.sub(r"\s+", " ", pathlib.Path(FORMAT).read_text())
    pattern = r'namespace (?P<open>\w+) \{|\} // namespace (?P<close>\w+)|Field<(?P<type>[^{}]*)> k\w+\{ ?"(?P<key>\w+)"(, "(?P<unit>\w+)")?\}'
    for match in re.finditer(pattern, text):
        if match["open"] and match["open"] != "format":
            scope = match["open"] + "/"
        elif match["close"]:
            scope = ""
        elif match["key"]:
            fields[scope + match["key"]] = match["type"].strip(), match["unit"] or ""
    return fields


def type_in(schema, node):
    """Returns the C++ type that `node` of `schema` describes, in the words of prof_format.hpp."""
    if "$ref" in node:
        return type_in(schema, schema["definitions"][node["$ref"].rsplit("/", 1)[1]])
    if "const" in node or "enum" in node:
        return "Text"
    if "oneOf" in node:
        return f"Nullable<{type_in(schema, node['oneOf'][1])}>"
    types = [node["type"]] if isinstance(node["type"], str) else node["type"]
    name = {"string": "Text", "integer": "Count", "number": "Real", "boolean": "bool", "object": "Object",
            "array": "List"}[types[0]]
    if name == "List":
        element = type_in(schema, node["items"])
        name = f"std::array<{element}, {node['maxItems']}>" if "maxItems" in node else f"List<{element}>"
    elif name == "Object" and "additionalProperties" in node:
        name = f"Map<{type_in(schema, node['additionalProperties'])}>"
    return f"Nullable<{name}>" if "null" in types else name


def fields_of_the_schema(schema):
    objects = {"": schema, "op/": schema["definitions"]["event"]["properties"]["op"],
               "events/": schema["definitions"]["event"], "distribution/": schema["definitions"]["distribution"]}
    objects.update({f"{name}/": schema["properties"][name]
                    for name in ("profiler", "overhead", "cross_check", "history")})
    objects.update({"bins/": schema["definitions"]["bins"], "machine/": schema["definitions"]["machine"],
                    "changes/": schema["definitions"]["change"]})
    objects.update({f"{name}/": schema["properties"][name]["items"]
                    for name in ("devices", "calibration", "phases", "runtime_data")})
    return {place + key: type_in(schema, node) for place, part in objects.items()
            for key, node in part["properties"].items()}


class TheFormat(unittest.TestCase):
    def setUp(self):
        # The keys of `dropped` are free in the schema, and generation 1 is not in it.
        self.fields = {place: field for place, field in fields_of_the_format().items()
                       if not place.startswith(("dropped/", "generation1/"))}

    def test_has_the_fields_and_types_of_the_schema(self):
        types = {place: kind.replace("Dim3", "std::array<Count, 3>") for place, (kind, _) in self.fields.items()}
        self.assertEqual(types, fields_of_the_schema(json.loads(pathlib.Path(SCHEMA).read_text())))

    def test_has_a_unit_where_the_key_names_one(self):
        for place, (_, unit) in self.fields.items():
            named = UNITS.intersection(place.split("/")[-1].split("_"))
            if not place.startswith("distribution/") and not place.endswith("seen_by_us"):
                self.assertEqual({unit} - {""}, named, place)


class WhatTheLibraryWrites(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = json.loads(pathlib.Path(WRITTEN).read_text())
        cls.file["profiler"]["version"] = "1.0.0"
        cls.validator = jsonschema.Draft7Validator(json.loads(pathlib.Path(SCHEMA).read_text()))

    def complaints(self, file):
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
                for error in self.validator.iter_errors(file)]

    def test_follows_the_schema(self):
        self.assertEqual(self.complaints(self.file), [])

    def test_would_be_refused_with_a_wrong_type(self):
        wrong = copy.deepcopy(self.file)
        wrong["events"][0]["measured_times_ms"] = "0.04"
        self.assertEqual(len(self.complaints(wrong)), 1)

    def test_has_every_field_and_no_other(self):
        """A member that the writer spells and the schema does not is missing in the docs as well."""
        schema = self.validator.schema
        event = schema["definitions"]["event"]["properties"]
        parts = [("", self.file, schema["properties"])]
        parts += [("events/", e, event) for e in self.file["events"]]
        parts += [(f"{name}/", self.file[name], schema["properties"][name]["properties"])
                  for name in ("profiler", "overhead", "history")]
        parts += [("bins/", b, schema["definitions"]["bins"]["properties"])
                  for b in [self.file["history"]["iteration"], self.file["events"][0]["history"]]]
        parts += [(f"{name}/", element, schema["definitions"][definition]["properties"])
                  for name, definition in (("machine", "machine"), ("changes", "change"))
                  for element in self.file["history"][name]]
        parts += [(f"{name}/", element, schema["properties"][name]["items"]["properties"])
                  for name in ("devices", "calibration", "phases", "runtime_data")
                  for element in self.file[name]]
        unknown = [place + key for place, value, known in parts for key in value
                   if key not in known]
        self.assertEqual(unknown, [])
        written = {place + key for place, value, _ in parts for key in value}
        missing = {place for place in fields_of_the_format()
                   if place.split("/")[0] not in ("op", "distribution", "cross_check", "dropped", "generation1")
                   } - written
        self.assertEqual(missing, NOT_WRITTEN)


if __name__ == "__main__":
    unittest.main()
