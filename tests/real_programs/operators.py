"""Checks what the reports of the real programs say about their kernels' operations."""

import collections
import random
import re
import statistics

# Percent of the kernels' time, of an eager program and of one with torch.compile; a run that is too short for all samples is not asked.
LEAST_PREDICTED = (90, 85)  # measured, and with a prediction
LEAST_NAMED = (98, 90)  # with a layer: a module's, an optimizer's step, or the name of what was called outside of these
FEW_PREDICTED = {"layers": 50}  # recurrent networks, CTC loss and batch norms of cuDNN's: the rest is not known
COMPILED = ("gpt compiled", "gpt compiled_with_graphs", "switching compiled")
# Elements of a block: of kernels whose name says it, and of those that load several at once, as PyTorch 2.11 has them.
_NAMED = re.compile(r"^_ZN2at6native18elementwise_kernelILi(\d+)ELi(\d+)E")
_VECTORS = re.compile(r"^_ZN2at6native29vectorized_elementwise_kernelILi[48]E")
# Layers that are no module's: functions and operators, optimizers' steps, and the one class of PyTorch's that is called beside modules.
_OUTSIDE = re.compile(r"[a-z_]|GradScaler\b|$")


def elements_of_a_block(kernel):
    found = _NAMED.match(kernel)
    if found:
        return int(found.group(1)) * int(found.group(2))
    return 1024 if _VECTORS.match(kernel) else None


def predicted_percent(analysis):
    shares = analysis["shares"]
    kernels = shares["predicted"] + shares["measured"] + shares["seen"]
    return 100 * shares["predicted"] / kernels if kernels else 0.0


def named_percent(profile):
    """(percent of the measured kernels' time that has a layer, percent that is in a module)."""
    of_layer = collections.Counter()
    for event in profile["events"]:
        if event["measured_times_ms"] and (event.get("op") or {}).get("kind") != "copy":
            of_layer[event["layer_name"]] += statistics.median(event["measured_times_ms"])
    whole = sum(of_layer.values())
    if not whole:
        return 0.0, 0.0
    in_modules = sum(time for layer, time in of_layer.items() if not _OUTSIDE.match(layer))
    return 100 * (whole - of_layer[""]) / whole, 100 * in_modules / whole


def wrong_elements(profile):
    """Returns element-wise events whose elements do not fit their grid, and the number of those that were checked."""
    wrong, count = [], 0
    for event in profile["events"]:
        op = event.get("op") or {}
        of_a_block = elements_of_a_block(event.get("kernel_name") or "")
        if op.get("class") not in ("elementwise", "copy") or not of_a_block or not op.get("flops"):
            continue
        count += 1
        blocks = event["grid"][0]
        if not (blocks - 1) * of_a_block < op["flops"] <= blocks * of_a_block:
            wrong.append(f"{op['source']} in {event['layer_name']}: {op['flops']} elements, {blocks} blocks of {of_a_block}")
    return wrong, count


def check_bytes(profile, truth):
    """Words for the table. A random sample of the element-wise rows must move exactly the bytes that a call of the operator did, of which
    `truth` has a line "OPERATOR READ WRITTEN" each."""
    calls = set(truth.read_text().splitlines())
    operators = {line.split()[0] for line in calls}
    ops = [event["op"] for event in profile["events"] if (event.get("op") or {}).get("source") in operators]
    sample = random.Random(1).sample(ops, min(len(ops), 20))
    for op in sample:
        line = f"{op['source']} {op.get('read_bytes')} {op.get('write_bytes')}"
        if line not in calls:
            raise ValueError(f"{line} bytes: expected {sorted(call for call in calls if call.split()[0] == op['source'])}")
    return f", bytes of {len(sample)} of {len(ops)} element-wise rows exact"


def check(name, analysis, profile):
    """Words for the table; raises ValueError for what is not as it must be."""
    wrong, count = wrong_elements(profile)
    # One kernel of a call that launches several, such as a copy before the work itself, may be smaller.
    if len(wrong) > 0.02 * count:
        raise ValueError(f"{len(wrong)} of {count} element-wise rows have other elements than blocks: {wrong[0]}")
    predicted, (named, in_modules) = predicted_percent(analysis), named_percent(profile)
    is_compiled = name in COMPILED
    for words, percent, least in (
            ("measured and predicted", predicted, FEW_PREDICTED.get(name, LEAST_PREDICTED[is_compiled])),
            ("with a layer", named, LEAST_NAMED[is_compiled])):
        if percent < least:
            raise ValueError(f"{percent:.1f} % of the kernels' time {words}: expected {least} %")
    return (f", of the kernels' time {predicted:.1f} % predicted, {named:.1f} % with a layer, {in_modules:.1f} % in modules, "
            f"{count} element-wise rows")
