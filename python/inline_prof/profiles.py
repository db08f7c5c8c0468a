"""Reads prof.json as plain dicts, every generation in the form of the newest.

docs/prof_json.md says what the members mean.
"""

import json
import math
import os
import statistics


class ProfileError(Exception):
    """A file that is no profile; the text names file, place, what was found and expected."""


SCHEMA = "inline_prof/1"

# Members of the newest generation that each event has here, and their values where an older file
# says nothing.
_EVENT_DEFAULTS = {
    "layer_name": "", "device_id": 0, "stream": "", "start_index": -1, "end_index": -1,
    "met_times_within_this_stream": 0, "measured_times_ms": [],
    "iter_start_to_event_start_times_ms": [],
}


def _fail(path, place, words):
    raise ProfileError("%s: %s: %s" % (path, place, words))


def _in_json_words(value):
    """Names a value in JSON's words, not in Python's."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return json.dumps(value)


def _fail_type(path, place, expected, value):
    _fail(path, place, "expected %s, found %s" % (expected, _in_json_words(value)))


def _load(path):
    # Opening a pipe without a writer would block for ever.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ProfileError("%s: expected a regular file" % path)
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise ProfileError("%s: %s" % (path, error.strerror or error)) from error
    except ValueError as error:
        raise ProfileError("%s: not JSON: %s" % (path, error)) from error
    except RecursionError as error:
        raise ProfileError("%s: values nested deeper than in any profile" % path) from error


def _is_number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        float(value)
    except OverflowError:  # an integer of hundreds of digits
        return False
    return True


def _list_of_times(path, place, values):
    if not isinstance(values, list):
        _fail_type(path, place, "an array of numbers", values)
    for index, value in enumerate(values):
        if value is not None and not _is_number(value):
            _fail_type(path, "%s/%d" % (place, index), "a number", value)
    return values


def _check_words_and_numbers(path, place, members):
    """Checks that members have the type of their default; a stream may also be a number."""
    for key, default in _EVENT_DEFAULTS.items():
        value = members[key]
        is_index = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(default, int) and not is_index:
            _fail_type(path, "%s/%s" % (place, key), "an integer", value)
        if isinstance(default, str) and not isinstance(value, str) and not (
                key == "stream" and is_index):
            _fail_type(path, "%s/%s" % (place, key), "a text", value)


def _event(path, index, event, name_key):
    place = "/events/%d" % index
    if not isinstance(event, dict):
        _fail_type(path, place, "an object", event)
    if name_key not in event:
        _fail(path, place, 'missing "%s"' % name_key)
    if not isinstance(event[name_key], str):
        _fail_type(path, "%s/%s" % (place, name_key), "the event's name", event[name_key])
    result = {key: list(value) if isinstance(value, list) else value
              for key, value in _EVENT_DEFAULTS.items()}
    result.update(event)
    result["event_name"] = result.pop("name") if name_key == "name" else result["event_name"]
    if "same_name_events_occured_order_in_code" in result:
        result["met_times_within_this_stream"] = result.pop("same_name_events_occured_order_in_code")
    _check_words_and_numbers(path, place, result)
    for key in ("measured_times_ms", "iter_start_to_event_start_times_ms"):
        _list_of_times(path, "%s/%s" % (place, key), result[key])
    return result


def _one_shot_iterations(events):
    """Returns the first device's series: a one-shot file has its iterations as events."""
    series = [event for event in events if event["event_name"] == "iteration"]
    return list(series[0]["measured_times_ms"]) if series else []


def read(path):
    """Returns the profile in `path` as a dict.

    `generation` is 1, 2 or 3; the other members are those of generation 3, also for files of the
    original inline profiler: every event has `event_name`, `layer_name`, `device_id`, `stream`,
    `start_index`, `end_index`, `met_times_within_this_stream`, `measured_times_ms` and
    `iter_start_to_event_start_times_ms`.  Raises ProfileError."""
    path = os.fspath(path)
    profile = _load(path)
    if not isinstance(profile, dict):
        _fail_type(path, "/", "an object", profile)
    if "events" not in profile:
        _fail(path, "/", 'missing "events": not a prof.json')
    events = profile["events"]
    if not isinstance(events, list):
        _fail_type(path, "/events", "an array", events)
    schema = profile.get("schema")
    if schema is not None and schema != SCHEMA:
        _fail_type(path, "/schema", '"%s"' % SCHEMA, schema)
    is_first = schema is None and bool(events) and isinstance(events[0], dict) and "name" in events[0]
    name_key = "name" if is_first else "event_name"
    result = dict(profile)
    result["generation"] = 3 if schema else 1 if is_first else 2
    result["events"] = [_event(path, i, event, name_key) for i, event in enumerate(events)]
    if result["generation"] == 2 and "iter_time_ms" not in profile:
        result["iter_time_ms"] = _one_shot_iterations(result["events"])
    if "iter_time_ms" not in result:
        _fail(path, "/", 'missing "iter_time_ms"')
    _list_of_times(path, "/iter_time_ms", result["iter_time_ms"])
    if not isinstance(result.get("host_name", ""), str):
        _fail_type(path, "/host_name", "a text", result["host_name"])
    return result


def _median(values):
    values = [value for value in values if value is not None and not math.isnan(value)]
    return statistics.median(values) if values else None


def _predictions(path):
    """Returns what prof-analyze says of each event, by its place; without it, why nothing is known."""
    from . import reports

    try:
        rows = reports.report(path, format="json")["rows"]
    except reports.ReportError as error:
        return {}, str(error)
    return {(row["device_id"], row["layer"], row["event"], row["occurrence"], row["start_index"]): row
            for row in rows}, None


def frame(path):
    """Returns the events of `path` as a pandas.DataFrame: those of read(), with `op` flattened, with `samples` and
    `median_us`, and with prof-analyze's `predicted_us`, `ratio`, `verdict` and `reason`, why there is no prediction.
    Raises ImportError without pandas."""
    import pandas

    events = read(path)["events"]
    predictions, complaint = _predictions(path)
    rows = []
    for event in events:
        row = {key: value for key, value in event.items() if key != "op"}
        for key, value in (event.get("op") or {}).items():
            row["op_" + key] = value
        median = _median(event["measured_times_ms"])
        row["samples"] = len(event["measured_times_ms"])
        row["median_us"] = None if median is None else 1000 * median
        found = predictions.get((event["device_id"], event["layer_name"], event["event_name"],
                                 event["met_times_within_this_stream"], event["start_index"]), {})
        for key in ("predicted_us", "ratio", "verdict"):
            row[key] = found.get(key)
        row["reason"] = found.get("reason", complaint)
        rows.append(row)
    return pandas.DataFrame(rows)


def _median_us(first_bucket, counts, relative_error):
    """Returns the median of a sketch, as watch/quantile_sketch.hpp has it; None if it is empty."""
    left = (sum(counts) - 1) // 2
    for bucket, count in enumerate(counts, first_bucket):
        if left < count:
            ratio = (1 + relative_error) / (1 - relative_error)
            return 2e-3 * ratio ** bucket / (1 + ratio)
        left -= count
    return None


def history(path):
    """Returns the bins of a watched run as a pandas.DataFrame: `event`, its number in read()["events"], with its name
    and layer, or none for the iteration; `start_s` and `end_s` since `started_at`; iterations, samples and `median_us`
    within the sketch's error.  Raises ProfileError if the run was not watched, ImportError without pandas."""
    import pandas

    profile = read(path)
    watched = profile.get("history")
    if not isinstance(watched, dict):
        _fail(os.fspath(path), "/history", "missing: expected a run with INLINE_PROF_WATCH (prof-run --watch)")
    series = [(None, {}, watched.get("iteration"))]
    series += [(i, event, event.get("history")) for i, event in enumerate(profile["events"])]
    rows = []
    for number, event, bins in series:
        for i, counts in enumerate((bins or {}).get("counts", [])):
            row = {"event": number, "event_name": event.get("event_name"), "layer_name": event.get("layer_name")}
            row.update({key: bins[key][i] for key in ("start_s", "end_s", "first_iteration", "last_iteration")})
            row["samples"] = sum(counts)
            row["median_us"] = _median_us(bins["first_bucket"][i], counts, watched.get("relative_error", 0.01))
            rows.append(row)
    return pandas.DataFrame(rows)
