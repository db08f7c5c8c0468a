"""Packs an installed tree into the wheels; scripts/make_wheel.sh calls it.

    python3 scripts/pack_wheel.py INSTALLED LICENSES ARCHITECTURE FOLDER

INSTALLED is what `cmake --install` has made, with lib as its folder of libraries.  In the wheel it is
the environment's prefix, so that the programs find everything where every installation has it: pip puts
bin into the environment's, and the rest beside.  lib/inline_prof/simgpu is the second wheel.  The Python
package stands twice in the first: where the environment's interpreter finds it, and where prof-run hands
it to a program with another interpreter.  Prints the paths of both."""

import base64
import hashlib
import os
import pathlib
import re
import sys
import zipfile

SIMULATED = pathlib.PurePath("lib/inline_prof/simgpu")
PACKAGE = pathlib.PurePath("lib/inline_prof/python/inline_prof")
SUMMARY = "Where does my iteration's GPU time go, layer by layer, and is each layer as fast as it should be?"
EXTRAS = {"frame": ["pandas"], "charts": ["matplotlib"], "fleet": ["pyarrow", "duckdb"]}
# Every file has the same time: the same tree makes the same wheel.
TIME = (2020, 1, 1, 0, 0, 0)


def metadata(name, version, summary, extras, requires=()):
    lines = ["Metadata-Version: 2.1", "Name: " + name, "Version: " + version, "Summary: " + summary,
             "License: Apache-2.0", "Requires-Python: >=3.8"]
    lines += ["Requires-Dist: " + one for one in requires]
    for extra, packages in extras.items():
        lines.append("Provides-Extra: " + extra)
        lines += ['Requires-Dist: %s; extra == "%s"' % (package, extra) for package in packages]
    return "\n".join(lines) + "\n"


def write_wheel(folder, name, version, tag, files, text, licenses):
    """`files`: name in the wheel -> path."""
    info = "%s-%s.dist-info" % (name, version)
    path = folder / ("%s-%s-%s.whl" % (name, version, tag))
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(place, data, mode):
            entry = zipfile.ZipInfo(place, TIME)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d\n" % (place, digest, len(data)))

        for place, source in sorted(files.items()):
            add(place, source.read_bytes(), 0o755 if os.access(source, os.X_OK) else 0o644)
        for license in sorted(licenses.iterdir()):
            add("%s/licenses/%s" % (info, license.name), license.read_bytes(), 0o644)
        add(info + "/METADATA", text.encode(), 0o644)
        add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: %s\n"
                              % tag).encode(), 0o644)
        wheel.writestr(zipfile.ZipInfo(info + "/RECORD", TIME), "".join(record) + info + "/RECORD,,\n")
    return path


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    installed, licenses, architecture, folder = map(pathlib.Path, sys.argv[1:])
    tag = "py3-none-manylinux_2_17_%s" % architecture
    version, = re.findall(r'^__version__ = "(.*)"$', (installed / PACKAGE / "__init__.py").read_text(), re.M)
    data = "%%s-%s.data" % version
    tools, simulated = {}, {}
    for path in sorted(installed.rglob("*")):
        place = path.relative_to(installed)
        if path.is_dir():
            continue
        if SIMULATED in place.parents:
            simulated["%s/data/%s" % (data % "inline_prof_simgpu", place)] = path
        elif place.parts[0] == "bin":
            tools["%s/scripts/%s" % (data % "inline_prof", place.name)] = path
        else:
            tools["%s/data/%s" % (data % "inline_prof", place)] = path
            if PACKAGE in place.parents:
                tools["inline_prof/%s" % place.relative_to(PACKAGE)] = path
    folder.mkdir(parents=True, exist_ok=True)
    print(write_wheel(folder, "inline_prof", version, tag, tools,
                      metadata("inline_prof", version, SUMMARY, EXTRAS), licenses))
    print(write_wheel(folder, "inline_prof_simgpu", version, tag, simulated,
                      metadata("inline_prof_simgpu", version, "A simulated GPU, to rehearse inline_prof without one",
                               {}, ["inline_prof==" + version]), licenses))


if __name__ == "__main__":
    main()
