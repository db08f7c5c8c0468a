"""What the reports of the real programs say of their kernels' operations."""

import re

# Percent of the kernels' time that must be measured and predicted; a run that is too short for all samples is not asked.
LEAST_PREDICTED = {"example gpt": 90, "example dlrm": 90, "gpt fused": 90, "gpt foreach": 90, "gpt compiled": 85,
                   "resnet": 90, "lightning": 90, "trainer_bert": 90}
# Elements of a block: of kernels whose name says it, and of those that load several at once, as PyTorch 2.11 has them.
_NAMED = re.compile(r"^_ZN2at6native18elementwise_kernelILi(\d+)ELi(\d+)E")
_VECTORS = re.compile(r"^_ZN2at6native29vectorized_elementwise_kernelILi[48]E")


def elements_of_a_block(kernel):
    found = _NAMED.match(kernel)
    if found:
        return int(found.group(1)) * int(found.group(2))
    return 1024 if _VECTORS.match(kernel) else None


def predicted_percent(analysis):
    shares = analysis["shares"]
    kernels = shares["predicted"] + shares["measured"] + shares["seen"]
    return 100 * shares["predicted"] / kernels if kernels else 0.0


def wrong_elements(profile):
    """Element-wise events whose elements do not fit their grid, and how many were looked at."""
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


def check(name, analysis, profile):
    """Words for the table; raises ValueError for what is not as it must be."""
    wrong, count = wrong_elements(profile)
    # One kernel of a call that launches several, such as a copy before the work itself, may be smaller.
    if len(wrong) > 0.02 * count:
        raise ValueError(f"{len(wrong)} of {count} element-wise rows have other elements than blocks: {wrong[0]}")
    percent = predicted_percent(analysis)
    least = LEAST_PREDICTED.get(name, 0)
    if percent < least:
        raise ValueError(f"{percent:.1f} % of the kernels' time measured and predicted: expected {least} %")
    return f", {percent:.1f} % of the kernels' time predicted"
