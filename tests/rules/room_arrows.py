#!/usr/bin/env python3
"""Checks who includes and links whom, and which namespace a room has (docs/architecture.md, section "Components").

    room_arrows.py ROOT [EDGES]

Reads the #include lines of every source file in the rooms under ROOT, and the link edges that CMake
wrote into EDGES: one `FOLDER TARGET LIBRARY TARGET_FOLDER_OF_LIBRARY` a line, the last one `-` for
libraries that are not ours.  Prints one `FILE:LINE: what is wrong` per violation; exit status 1 if
there is one.
"""

import pathlib
import re
import sys

# The rooms that a launch passes through, each with those that it may use.  `hook` is below all of them: wrappers
# report to the session by its Observer, and never include the session.  `entry` is above all: it starts a run.
BELOW_HOOKS = {"base", "macros", "libinject/sys", "libinject/record", "libinject/timer"}
HOOK_ROOMS = {
    "hook": (),
    "launch": ("hook",),
    "libraries": ("hook", "launch"),
    "labels": ("hook", "launch"),
    "graphs": ("hook", "labels", "launch", "libraries"),
    "cupti": ("hook", "launch"),
    "session": ("cupti", "graphs", "hook", "labels", "launch", "libraries"),
    "entry": ("cupti", "graphs", "hook", "labels", "launch", "libraries", "session"),
}

# The stages of the analyzer's join: each uses those before it.  `analyzer/join` puts them in order.
JOIN_STAGES = {f"analyzer/join/{stage}" for stage in ("rows", "predict", "place", "diagnose", "watch")}
JOIN = JOIN_STAGES | {"analyzer/join", "analyzer/join/compare", "analyzer/join/ranks"}

# A room may use itself and the rooms named here; nothing else of ours.  `libinject/run` may use only
# the name lists of the hook rooms (RUN_MAY_INCLUDE).
ALLOWED = {
    "base": set(),
    "macros": set(),
    "simgpu": set(),
    "schedule": {"base", "macros"},
    "watch": {"base"},
    "libinject/sys": {"base", "macros"},
    "libinject/record": {"base", "macros", "watch", "libinject/sys"},
    "libinject/timer": {"base", "macros", "libinject/sys", "libinject/record"},
    **{f"libinject/{room}": BELOW_HOOKS | {f"libinject/{other}" for other in others}
       | ({"schedule", "watch"} if room == "session" else set()) for room, others in HOOK_ROOMS.items()},
    "libinject/run": {"base", "macros", "libinject/sys", "libinject/libraries"},
    "analyzer/read": {"base", "macros", "watch"},
    "analyzer/model": {"base", "macros", "analyzer/read"},
    "analyzer/fit": {"base", "macros", "analyzer/read", "analyzer/model"},
    "analyzer/join/rows": {"base", "macros", "analyzer/read", "analyzer/model"},
    "analyzer/join/predict": {"base", "macros", "analyzer/read", "analyzer/model", "analyzer/join/rows"},
    "analyzer/join/place": {"base", "macros", "analyzer/read", "analyzer/join/rows"},
    "analyzer/join/diagnose": {"base", "macros", "analyzer/read", "analyzer/model", "analyzer/join/rows",
                               "analyzer/join/place"},
    "analyzer/join/watch": {"base", "macros", "watch", "analyzer/read", "analyzer/join/rows"},
    "analyzer/join": {"base", "macros", "watch", "analyzer/read", "analyzer/model", *JOIN_STAGES},
    "analyzer/join/compare": {"base", "macros", "analyzer/read", "analyzer/model", "analyzer/join", *JOIN_STAGES},
    "analyzer/join/ranks": {"base", "macros", "watch", "analyzer/read", "analyzer/model", "analyzer/join", *JOIN_STAGES},
    "analyzer/report": {"base", "macros", "watch", "analyzer/read", "analyzer/model", *JOIN},
    "analyzer/export": {"base", "macros", "watch", "analyzer/read", "analyzer/model", *JOIN, "analyzer/report"},
    "analyzer/measure": {"base", "macros", "analyzer/read", "analyzer/fit"},
    "analyzer/cli": {"base", "macros", "schedule", "watch", "analyzer/read", "analyzer/model",
                     "analyzer/fit", *JOIN, "analyzer/report", "analyzer/export",
                     "analyzer/measure"},
}

# The tables and words that libinject/run may include: no machinery that would start inside the
# launcher.
RUN_MAY_INCLUDE = re.compile(r"^libinject/(libraries/\w*names?\.hpp|sys/(config\w*|control_file|process)\.hpp)$")

# System and vendor headers that a room must do without, and why.
FORBIDDEN_HEADERS = {
    "schedule": (re.compile(r"^(cuda|cupti|chrono$|ctime$|mutex$|shared_mutex$|thread$|"
                            r"condition_variable$|pthread\.h$|time\.h$)"),
                 "the schedule is a pure library: no CUDA, no clock, no lock"),
    "watch": (re.compile(r"^(cuda|cupti|chrono$|ctime$|mutex$|shared_mutex$|thread$|"
                         r"condition_variable$|pthread\.h$|time\.h$|fmt/|nlohmann/)"),
              "the statistics are a pure library: no CUDA, no clock, no lock"),
    "libinject": (re.compile(r"^(cuda_runtime|cudart_platform|driver_types\.h)"),
                  "the injected library calls the driver only: a runtime call would change the application's last "
                  "error"),
    "macros": (re.compile(r"^(cuda|cupti|fmt/|nlohmann/|iostream$)"),
               "the macros must compile in any application: no vendor's and no third party's header"),
}

SOURCES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".inc", ".S"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


# A fit lies beside its model, and may use what a fit may: so no model includes a fit.
FIT_OF_A_MODEL = re.compile(r"^analyzer/model/.*_fit(_entry)?\.[ch]pp$")


def room_of(path):
    """The room that `path`, relative to the root, lies in; None outside of all rooms."""
    if FIT_OF_A_MODEL.match(path.as_posix()):
        return "analyzer/fit"
    parts = path.parts
    for length in (3, 2, 1):
        name = "/".join(parts[:length])
        if name in ALLOWED and len(parts) > length:
            return name
    return None


def resolve(root, includer, header):
    """The file of ours, relative to the root, that this #include finds; None: not ours."""
    component = root / includer.parts[0]
    for folder in (root / includer.parent, component, root, root / "macros" / "include"):
        found = folder / header
        if found.is_file() and root in found.resolve().parents:
            return found.resolve().relative_to(root)
    return None


def complaint_about_include(root, includer, header):
    """Why `includer` must not include `header`, or None."""
    room = room_of(includer)
    target = resolve(root, includer, header)
    if target is None:
        pattern, reason = FORBIDDEN_HEADERS.get(includer.parts[0], (None, None))
        if pattern is not None and pattern.match(header):
            return f"{room} includes <{header}>: {reason}"
        return None
    target_room = room_of(target)
    if target_room is None:
        return f"{room} includes {target}, which lies in no room"
    if target_room == room:
        return None
    if target_room not in ALLOWED[room]:
        return f"{room} includes {target}: allowed are {allowed_words(room)}"
    if (room == "libinject/run" and target.parts[0] == "libinject"
            and not RUN_MAY_INCLUDE.match(target.as_posix())):
        return f"{room} includes {target}: it may use the table of variables and the name lists only"
    return None


def allowed_words(room):
    return ", ".join(sorted(ALLOWED[room])) or "no other room"


def check_includes(root):
    complaints = []
    for component in sorted({room.split("/")[0] for room in ALLOWED}):
        for file in sorted((root / component).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path = file.relative_to(root)
            if room_of(path) is None:
                complaints.append(f"{path}:1: lies in no room: known are {', '.join(ALLOWED)}")
                continue
            for number, line in enumerate(file.read_text().splitlines(), start=1):
                match = INCLUDE.match(line)
                if match is None:
                    continue
                complaint = complaint_about_include(root, path, match.group(2))
                if complaint is not None:
                    complaints.append(f"{path}:{number}: {complaint}")
    return complaints


# The namespace that a source file of the injected library opens, and names of other rooms that it only declares.
OPENED = re.compile(r"^namespace inline_prof(?:::(\w+))?")
DECLARED = re.compile(r"^(?:struct|class|enum class) \w+;$|^}.*$|^$")
# Declares wrappers in the namespaces of the rooms that define them.
SHARED_LIST = "libinject/hook/driver_functions.hpp"


def complaints_about_namespaces(path, lines):
    """A file of libinject/ROOM defines names in inline_prof::ROOM alone; elsewhere it may declare types."""
    own = path.parts[1]
    complaints = []
    opened = [(number, match.group(1)) for number, line in enumerate(lines, start=1)
              if (match := OPENED.match(line)) is not None]
    for number, name in opened:
        if name == own or path.as_posix() == SHARED_LIST:
            continue
        inside = lines[number:next((i for i, line in enumerate(lines[number:], number) if line.startswith("}")),
                                   len(lines))]
        if not all(DECLARED.match(line) for line in inside):
            complaints.append(f"{path}:{number}: opens inline_prof::{name}: what {path.parent} defines is in "
                              f"inline_prof::{own}")
    return complaints


def check_namespaces(root):
    complaints = []
    for file in sorted((root / "libinject").rglob("*.[ch]pp")):
        path = file.relative_to(root)
        if len(path.parts) > 2:
            complaints += complaints_about_namespaces(path, file.read_text().splitlines())
    return complaints


def is_without_cycles():
    """Whether the rooms can be put in an order in which each uses only those before it."""
    below = {room: set(others) - {room} for room, others in ALLOWED.items()}
    while below:
        free = [room for room, others in below.items() if not others & below.keys()]
        if not free:
            return False
        for room in free:
            del below[room]
    return True


def may_link(folder, library_folder):
    """Whether some room in `folder` may use some room in `library_folder`.

    A library may hold several rooms (the injected library is one library), so a link edge is judged by
    components, and the includes do the rest.
    """
    def rooms(name):
        return [room for room in ALLOWED if room == name or room.startswith(name + "/")
                or name.startswith(room + "/")]

    return any(target == source or target in ALLOWED[source]
               for source in rooms(folder) for target in rooms(library_folder))


def line_of(root, folder, library):
    """Returns the line of `folder`'s CMakeLists.txt that names `library`, 1 if none does."""
    names = {library, re.sub(r"^inline_prof_", "inline_prof::", library)}
    text = (root / folder / "CMakeLists.txt").read_text()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith(("add_library", "add_executable", "#")):
            if names & set(re.findall(r"[\w:]+", line)):
                return number
    return 1


def check_links(root, edges):
    complaints = []
    for line in filter(None, edges.splitlines()):
        folder, target, library, library_folder = line.split()
        if library_folder == "-" or library_folder == "." or may_link(folder, library_folder):
            continue
        number = line_of(root, folder, library)
        complaints.append(f"{folder}/CMakeLists.txt:{number}: {target} links {library} of "
                          f"{library_folder}, which {folder} must not use")
    return complaints


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    complaints = check_includes(root) + check_namespaces(root)
    if not is_without_cycles():
        complaints.append("tests/rules/room_arrows.py:1: its rooms use each other in a circle")
    if len(arguments) > 1:
        complaints += check_links(root, pathlib.Path(arguments[1]).read_text())
    print("\n".join(complaints) if complaints else "every arrow is allowed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
