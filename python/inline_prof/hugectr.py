"""The functions of HugeCTR's profiling notebook, so that its cells run with one import changed:

    from inline_prof.hugectr import generate_schedule, parse_result, print_result
    from inline_prof.hugectr import timeline_chart, scaling_chart

The schedule's text and the results' members are those of HugeCTR's tools/profiler (2021,
Apache-2.0); the charts show the same and are drawn by matplotlib.
"""

import glob
import json
import os

from .profiles import ProfileError, read

# The occurrence of each layer's events in the DLRM that HugeCTR's notebook profiles: its fully connected
# layers share one event name, forward in their order and backward in reverse.
_FULLY_CONNECTED = ["BottomMLP.fc1", "BottomMLP.fc2", "BottomMLP.fc3", "TopMLP.fc4", "TopMLP.fc5",
                    "TopMLP.fc6", "TopMLP.fc7"]
_OCCURRENCES = {name: (i, len(_FULLY_CONNECTED) - 1 - i) for i, name in enumerate(_FULLY_CONNECTED)}
_OCCURRENCES.update({"sparse_embedding1": (0, 0), "interaction1": (0, 0), "TopMLP.fc8": (0, 0)})

_DIRECTIONS = ("forward", "backward")


def _occurrences(layer, events):
    """Returns the (forward, backward) occurrence of a layer, as given or by the table above."""
    known = _OCCURRENCES.get(layer, (None, None))
    found = tuple(events.get(direction + "_occurrence", default)
                  for direction, default in zip(_DIRECTIONS, known))
    for direction, occurrence in zip(_DIRECTIONS, found):
        if occurrence is None and events.get(direction + "_events"):
            raise ValueError("%s: no layer of HugeCTR's DLRM; expected '%s_occurrence': how often such "
                             "an event was met before it" % (layer, direction))
    return found


def _directions_of(layer, events):
    """Returns a layer's events by direction.  In a plain list, `bprop` or `backward` tells the backward pass."""
    if isinstance(events, dict):
        unknown = [key for key in events
                   if key not in ("forward_events", "backward_events", "forward_occurrence",
                                  "backward_occurrence")]
        if unknown:
            raise ValueError("%s: found '%s', expected 'forward_events' or 'backward_events'"
                             % (layer, unknown[0]))
        return events
    split = {"forward_events": [], "backward_events": []}
    for event in events:
        words = event.split(".")
        is_backward = "bprop" in words or "backward" in words
        split["backward_events" if is_backward else "forward_events"].append(event)
    return split


def _check_word(layer, word):
    """Raises ValueError for a word that would split a line wrongly or change in the file."""
    if not word:
        trouble = "an empty name"
    elif any(character.isspace() for character in word):
        trouble = "a name with blanks"
    elif not word.isascii():
        trouble = "a name with letters beyond ASCII"
    else:
        return
    raise ValueError("%s: %r: %s cannot stand in prof.schedule" % (layer, word, trouble))


def generate_schedule(schedule, repeat_for_each_event=50, warmup_iterations=10,
                      outfile="prof.schedule"):
    """Writes prof.schedule: the warm-up, then a line a sample, layer by layer as `schedule` has
    them.

    `schedule` is {layer: {"forward_events": [...], "backward_events": [...]}}.  Also understood is
    generate_schedule(schedule, DIRECTORY), which writes DIRECTORY/prof.schedule.

    A file that is there is overwritten, as by the original: a notebook's cells run again and again.
    `prof-schedule -o` asks for --force first.  Raises ValueError, and writes nothing, where a name
    has blanks or letters beyond ASCII."""
    if isinstance(repeat_for_each_event, (str, os.PathLike)):
        outfile = os.path.join(os.fspath(repeat_for_each_event), "prof.schedule")
        repeat_for_each_event = 50
    lines = [str(warmup_iterations)]
    iteration = warmup_iterations
    for layer, given in schedule.items():
        events = _directions_of(layer, given)
        occurrences = _occurrences(layer, events)
        # The dictionary's order, as in the original.
        for key in (key for key in events if key.endswith("_events")):
            occurrence = occurrences[_DIRECTIONS.index(key[:-len("_events")])]
            for event in events[key]:
                for word in (event, layer):
                    _check_word(layer, word)
                for _ in range(repeat_for_each_event):
                    iteration += 1
                    lines.append("%s %d %s %d" % (event, iteration, layer, occurrence))
    with open(outfile, "w", encoding="ascii") as file:
        file.write("\n".join(lines))


def _mean(values):
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _timeline(events):
    """Returns {device: {stream: [event]}} in the order of start_index.  Streams are numbered in order over all devices."""
    result = {}
    streams = {}
    for event in sorted(events, key=lambda event: event["start_index"]):
        if not event["measured_times_ms"]:
            continue
        device = result.setdefault("device_%d" % event["device_id"], {})
        number = streams.setdefault(event["stream"], len(streams))
        device.setdefault("stream_%d" % number, []).append({
            "name": event["event_name"],
            "start_index": event["start_index"],
            "end_index": event["end_index"],
            "label": event["layer_name"] + "." + event["event_name"],
            "avg_measured_time_ms": _mean(event["measured_times_ms"]),
            "avg_iter_start_to_event_start_time_ms":
                _mean(event["iter_start_to_event_start_times_ms"]),
        })
    return result


def _profiles_in(folder):
    """Returns the sorted paths of a folder's profiles, at least one."""
    if not os.path.isdir(folder):
        found = "a file" if os.path.exists(folder) else "nothing"
        raise ProfileError("%s: found %s, expected a folder with *.prof.json files" % (folder, found))
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "*prof.json")))
    if not paths:
        raise ProfileError("%s: found no profile in it, expected *.prof.json or prof.json" % folder)
    return paths


def parse_result(prof_dir="."):
    """Reads every *.prof.json in `prof_dir`, also prof.json.  Returns a list of {host_name, avg_iter_time_ms, timeline}.
    Raises ProfileError, also without a file; the original returned an empty list."""
    profiles = [read(path) for path in _profiles_in(os.fspath(prof_dir))]
    return [{"host_name": profile.get("host_name", ""),
             "avg_iter_time_ms": _mean(profile["iter_time_ms"]),
             "timeline": _timeline(profile["events"])} for profile in profiles]


def print_result(result):
    """Prints the result as indented JSON."""
    print(json.dumps(result, indent=2))


# --- charts

_COLORS = ("steelblue", "mediumorchid", "yellowgreen", "lightcoral")


def _pyplot():
    """Returns matplotlib.pyplot, or None, with a message, if it is not installed."""
    try:
        import matplotlib.pyplot
    except ImportError:
        print("no chart: matplotlib is not installed; `prof-analyze --format html` draws without it")
        return None
    return matplotlib.pyplot


def _rows(timeline):
    """Yields (row, event): events that overlap are in different rows."""
    ends = []
    for event in timeline:
        start = event["avg_iter_start_to_event_start_time_ms"]
        if start is None:
            continue
        row = next((i for i, end in enumerate(ends) if end <= start), len(ends))
        ends[row:row + 1] = [start + event["avg_measured_time_ms"]]
        yield row, event


def timeline_chart(result):
    """Draws a bar per event, a group of rows per stream, and the whole iteration below.  Returns the figure."""
    pyplot = _pyplot()
    if pyplot is None:
        return None
    whole = max((host["avg_iter_time_ms"] or 0.0 for host in result), default=0.0)
    figure, axes = pyplot.subplots()
    bottom = 0
    labels = []
    for host in result:
        for device, streams in host["timeline"].items():
            for stream, timeline in streams.items():
                placed = list(_rows(timeline))
                height = 1 + max((row for row, _ in placed), default=0)
                for number, (row, event) in enumerate(placed):
                    axes.barh(bottom + row + 0.5, event["avg_measured_time_ms"], height=0.9,
                              left=event["avg_iter_start_to_event_start_time_ms"],
                              color=_COLORS[number % len(_COLORS)], alpha=0.7, label=event["label"])
                name = "%s_d%s_s%s" % (host["host_name"], device.split("_")[-1],
                                       stream.split("_")[-1])
                labels.append((bottom + height / 2, name))
                bottom += height + 1
    axes.barh(bottom + 0.5, whole, height=0.9, color=_COLORS[0], alpha=0.9, label="iteration")
    labels.append((bottom + 0.5, "Whole Iteration"))
    axes.set_yticks([place for place, _ in labels])
    axes.set_yticklabels([name for _, name in labels], fontsize=8)
    axes.set_xlim(0, whole or None)
    axes.set_xlabel("In Milliseconds")
    axes.grid(True)
    figure.set_size_inches(11, max(2.0, 0.25 * (bottom + 2)))
    pyplot.show()
    return figure


def scaling_chart(results, names, show_iter_time=True):
    """Draws three bars per run: the iteration, unless `show_iter_time` is false; its events, the mean over devices; their
    slowest device.  Returns the figure."""
    if len(results) != len(names):
        raise ValueError("found %d names for %d results, expected as many" %
                         (len(names), len(results)))
    pyplot = _pyplot()
    if pyplot is None:
        return None
    figure, axes = pyplot.subplots()
    for place, result in enumerate(results):
        times = {}
        for host in result:
            for streams in host["timeline"].values():
                for timeline in streams.values():
                    for event in timeline:
                        times.setdefault(event["label"], []).append(event["avg_measured_time_ms"])
        whole = max((host["avg_iter_time_ms"] or 0.0 for host in result), default=0.0)
        if show_iter_time:
            axes.bar(place - 0.25, whole, width=0.23, color=_COLORS[0], alpha=0.9)
        mean_top = slowest_top = 0.0
        for number, (label, values) in enumerate(times.items()):
            color = _COLORS[number % len(_COLORS)]
            mean, slowest = sum(values) / len(values), max(values)
            axes.bar(place, mean, width=0.23, bottom=mean_top, color=color, alpha=0.7, label=label)
            axes.bar(place + 0.25, slowest, width=0.23, bottom=slowest_top, color=color, alpha=0.7)
            mean_top += mean
            slowest_top += slowest
    axes.set_xticks(range(len(names)))
    axes.set_xticklabels(names)
    axes.set_xlabel("left: whole iteration, middle: mean of the events, right: their slowest device")
    axes.set_ylabel("In Milliseconds")
    axes.grid(True)
    figure.set_size_inches(10, 10)
    pyplot.show()
    return figure
