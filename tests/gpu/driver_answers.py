"""Reads event pairs (claims 12 to 16, 33 and 58), and asks the driver what it does with event nodes in graphs (26, 48 and 49), clones of
graphs (23 to 25), and a pair around a programmatic launch (18).

    driver_answers.py bias OUT.json
    driver_answers.py graphs|overlap

Kernels of known length note by the GPU's global timer how long they took: first to last instruction.  Launch and completion are not in
it; CUPTI's timestamps have them, when the same program runs under census_cupti.cpp (pairs.py joins the two by the order of launches).
The simulated GPU runs no kernel: for the graphs, the length that was asked for stands there, and its model
(graph_rehearsal_model.json) makes it true.
"""

import ctypes
import json
import os
import pathlib
import sys
import threading
import time
from ctypes import byref, c_char, c_float, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from statistics import fmean, median

from gpu import QUERY, Driver, Kernels, Step, array, expect, figure, skip

LENGTHS_US = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHORT_US = 2


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2"""
    _fields_ = [("kernel", c_void_p), ("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("arguments", c_void_p),
                ("extra", c_void_p * 3)]


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_int), ("rest", c_char * 60)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", c_uint)]


ONE = (c_uint * 3)(1, 1, 1)


class Pair:
    def __init__(self, driver):
        self.driver, self.start, self.stop = driver, driver.made("cuEventCreate", 0), driver.made("cuEventCreate", 0)

    def us(self):
        """Returns None if the events were not recorded."""
        ms = c_float()
        status = self.driver.status("cuEventElapsedTime", byref(ms), self.start, self.stop)
        return ms.value * 1e3 if status == 0 else None


# --- graphs

def spin(length_us):
    return f"spin_{length_us}_us"


class Graphs:
    def __init__(self, driver):
        self.driver, self.kernels = driver, Kernels(driver, [spin(us) for us in LENGTHS_US])
        self.stream = self.kernels.stream

    def new(self):
        return self.driver.made("cuGraphCreate", 0)

    def add(self, graph, after, length_us, times=None):
        name = spin(length_us)
        node = KernelNode(self.kernels.kernels[name], ONE, ONE, 0, self.kernels.arguments(length_us, times))
        return self.driver.made("cuGraphAddKernelNode_v2", graph, array(after), c_size_t(len(after)), byref(node))

    def add_chain(self, graph, after, count):
        nodes = []
        for _ in range(count):
            nodes.append(self.add(graph, after, SHORT_US))
            after = nodes[-1:]
        return nodes

    def chain(self, count):
        graph = self.new()
        return graph, self.add_chain(graph, [], count)

    def replay(self, executable):
        self.driver("cuGraphLaunch", executable, self.stream)
        self.kernels.wait()

    def hold(self, length_us, count=1):
        self.kernels.make([self.kernels.launch(spin(length_us), length_us)] * count)

    def clone(self, graph):
        return self.driver.made("cuGraphClone", graph)

    def instantiate(self, graph):
        return self.driver.made("cuGraphInstantiateWithFlags", graph, c_size_t(0))

    def destroy(self, *, executables=(), graphs=()):
        for executable in executables:
            self.driver("cuGraphExecDestroy", executable)
        for graph in graphs:
            self.driver("cuGraphDestroy", graph)

    def add_event(self, graph, after, event):
        return self.driver.made("cuGraphAddEventRecordNode", graph, array(after), c_size_t(len(after)), event)

    def put_events_around(self, clone, node, pair):
        """Puts events around the twin of the original's node, as the injected library does: predecessors -> start -> node -> stop ->
        successors.  Returns both."""
        twin = self.driver.made("cuGraphNodeFindInClone", node, clone)

        def neighbours(function):
            count = c_size_t()
            self.driver(function, twin, None, None, byref(count))
            nodes, edges = (c_void_p * count.value)(), (c_int64 * count.value)()
            if count.value:
                self.driver(function, twin, nodes, edges, byref(count))
            return list(nodes)

        def edge(change, a, b):
            self.driver(f"cuGraph{change}Dependencies_v2", clone, array([a]), array([b]), None, c_size_t(1))

        before, after = neighbours("cuGraphNodeGetDependencies_v2"), neighbours("cuGraphNodeGetDependentNodes_v2")
        start, stop = self.add_event(clone, before, pair.start), self.add_event(clone, [twin], pair.stop)
        for other in before:
            edge("Remove", other, twin)
        for other in after:
            edge("Remove", twin, other)
            edge("Add", stop, other)
        edge("Add", start, twin)
        return start, stop


# --- event nodes

WARM_UPS = 10  # as the injected library drops them
REPLAYS = 40
EVENT_RESOLUTION_US = 0.5  # cuda.h, cuEventElapsedTime


class EventNodes(Graphs):
    def in_chain(self, length_us, times=None):
        """Returns a graph, and its node that is to be timed."""
        graph, before = self.chain(5)
        node = self.add(graph, before[-1:], length_us, times)
        self.add_chain(graph, [node], 5)
        return graph, node

    def in_branch(self, length_us, times=None):
        """Another branch of 100 us runs beside the node; both begin and end together."""
        graph = self.new()
        fork = self.add(graph, [], SHORT_US)
        branches = [self.add(graph, [fork], length_us, times), self.add(graph, [fork], 100)]
        self.add(graph, branches, SHORT_US)
        return graph, branches[0]

    def replay_both(self, graph, node, noted):
        """Replays the graph and its timed clone in turn, so that a drift of the clocks falls on both alike.

        Returns medians in us of both and of the pair, and the node's own time: its mean, as the timer steps by up to a microsecond.
        """
        around, pair, clone = Pair(self.driver), Pair(self.driver), self.clone(graph)
        self.put_events_around(clone, node, pair)
        executables, rows = [self.instantiate(graph), self.instantiate(clone)], []
        for _ in range(WARM_UPS + REPLAYS):
            row = []
            for executable in executables:
                self.hold(100)  # so that the time of the calls is not in the pair around the graph
                self.kernels.make([self.kernels.record(around.start), self.kernels.replay(executable), self.kernels.record(around.stop)])
                self.kernels.wait()
                row.append(around.us())
            rows.append([*row, pair.us(), self.kernels.noted_us(noted)])
        self.destroy(executables=executables, graphs=[clone])
        *medians, inner = zip(*rows[WARM_UPS:])
        return [*map(median, medians), fmean(inner)]

    def empty_pair_us(self):
        """Returns the empty pair of state `graph`, as the injected library's calibration calls it."""
        pair, graph, found = Pair(self.driver), self.new(), []
        self.add_event(graph, [self.add_event(graph, [], pair.start)], pair.stop)
        executable = self.instantiate(graph)
        for _ in range(WARM_UPS + REPLAYS):
            self.replay(executable)
            found.append(pair.us())
        self.destroy(executables=[executable], graphs=[graph])
        return median(found[WARM_UPS:])

    def node_times(self, name, shape, empty_us):
        """Expects that the pair less the empty pair exceeds the kernel's own time by its start and end, which take the same for every
        length."""
        noted, excesses_us, is_so = self.driver.memory(16), [], True
        for length_us in LENGTHS_US:
            self.driver("cuMemcpyHtoD_v2", noted, (c_int64 * 2)(0, length_us * 1000), c_size_t(16))
            graph, node = shape(length_us, noted)
            _, _, pair_us, inner_us = self.replay_both(graph, node, noted)
            self.destroy(graphs=[graph])
            excesses_us.append(pair_us - empty_us - inner_us)
            is_so = (is_so and pair_us >= inner_us - EVENT_RESOLUTION_US
                     and abs(excesses_us[-1] - excesses_us[0]) <= EVENT_RESOLUTION_US + 0.01 * inner_us)
        words = ", ".join(f"{us} us {excess:+.2f}" for us, excess in zip(LENGTHS_US, excesses_us))
        expect(is_so, f"48: a node in a {name} reads its kernel's length and the same excess (us, less the empty pair): {words}")

    def rest_of_graph(self, name, graph, node, empty_us):
        """Expects that two event nodes cost what they take themselves, and nothing at the other nodes."""
        whole_us, timed_us, _, _ = self.replay_both(graph, node, self.kernels.times)
        allowed_us = 5  # at each of 400 nodes, 0.0125 us
        expect(timed_us - whole_us <= empty_us + allowed_us,
               f"26: {name} takes {whole_us:.2f} us, with two event nodes {timed_us:.2f} us ({timed_us - whole_us:+.2f})")

    def other_events(self):
        """Expects that a launch that waits on the stream keeps the events that it was launched with."""
        first, second = Pair(self.driver), Pair(self.driver)
        graph, node = self.in_chain(SHORT_US)
        clone = self.clone(graph)
        nodes = self.put_events_around(clone, node, first)
        executable = self.instantiate(clone)
        self.hold(1000, 5)
        self.driver("cuGraphLaunch", executable, self.stream)
        for place, event in zip(nodes, (second.start, second.stop)):
            self.driver("cuGraphExecEventRecordNodeSetEvent", executable, place, event)
        was_waiting = self.driver.status("cuStreamQuery", self.stream) == 600  # CUDA_ERROR_NOT_READY
        self.kernels.wait()
        first_us, second_has_first = first.us(), second.us() is not None
        self.replay(executable)
        second_has_second, is_kept = second.us() is not None, first.us() == first_us
        expect(was_waiting and first_us is not None and not second_has_first and second_has_second and is_kept,
               f"49: other events for an exec hold from the next launch on: changed while a launch waited {was_waiting}, that launch "
               f"recorded the old ones {first_us is not None} and the new ones {second_has_first}, the next one the new ones "
               f"{second_has_second} and left the old ones {is_kept}")
        self.destroy(executables=[executable])


# --- clones

NODES, TRAINED_NODES, CLONES = 2000, 200, 10
GUESSED_BYTES_PER_NODE = 1024  # kBytesPerNode of graphs/graph_registry.cpp
# Host times of what the injected library does on its own thread, an upload until it is done.
STEPS = ("clone", "event nodes", "instantiate", "upload", "destroy")


def us_since(start):
    return (time.perf_counter() - start) * 1e6


class Clones(Graphs):
    def make_and_replay(self, graph, nodes, steps_us):
        """Makes, replays and destroys one timed clone; returns the time of the pair inside."""
        pair, start, step = Pair(self.driver), time.perf_counter(), iter(STEPS)

        def lap():
            nonlocal start
            steps_us.setdefault(next(step), []).append(us_since(start))
            start = time.perf_counter()

        clone = self.clone(graph)
        lap()
        self.put_events_around(clone, nodes[NODES // 2], pair)
        lap()
        executable = self.instantiate(clone)
        lap()
        self.driver("cuGraphUpload", executable, self.stream)
        self.kernels.wait()
        lap()
        self.replay(executable)
        start = time.perf_counter()
        self.destroy(executables=[executable], graphs=[clone])
        lap()
        return pair.us()

    def while_training(self):
        """Another thread replays a graph and waits for it, as a training loop does."""
        context, executable, state = self.driver.made("cuCtxGetCurrent"), self.instantiate(self.chain(TRAINED_NODES)[0]), "alone"
        iterations_us = {"alone": [], "beside cloning": []}

        def train():
            self.driver("cuCtxSetCurrent", context)
            stream = self.driver.open_stream()
            while state != "over":
                before, start = state, time.perf_counter()
                self.driver("cuGraphLaunch", executable, stream)
                self.driver("cuStreamSynchronize", stream)
                us = us_since(start)
                if before == state:
                    iterations_us[before].append(us)

        graph, nodes = self.chain(NODES)
        self.make_and_replay(graph, nodes, {})  # pays for what the driver does once
        thread, steps_us, quiet_s = threading.Thread(target=train), {}, 0.3
        thread.start()
        time.sleep(quiet_s)
        state = "beside cloning"
        measured = sum(self.make_and_replay(graph, nodes, steps_us) > 0 for _ in range(CLONES))
        state = "alone"
        time.sleep(quiet_s)
        state = "over"
        thread.join()
        expect(measured == CLONES, f"23: {measured} of {CLONES} timed clones of {NODES} nodes were made, uploaded and replayed while "
                                   f"another thread replayed")
        figure(f"23: host time of one: {', '.join(f'{step} {median(times):.0f} us' for step, times in steps_us.items())}")
        # The clones are replayed, too: their kernels are part of what the other thread notices.
        for when, us in iterations_us.items():
            if us:
                figure(f"23: iteration of the other thread, {when}: median {median(us):.0f} us, p95 {sorted(us)[int(0.95 * len(us))]:.0f}, "
                       f"longest {max(us):.0f}")

    def memory(self):
        def now():
            """Returns resident bytes of the host, and bytes that are taken of the device's, by whomever."""
            free, total = c_size_t(), c_size_t()
            self.driver("cuMemGetInfo_v2", byref(free), byref(total))
            resident = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
            return resident * os.sysconf("SC_PAGESIZE"), total.value - free.value

        graph, _ = self.chain(NODES)
        at_first = now()
        clones = [self.clone(graph) for _ in range(CLONES)]
        with_clones = now()
        executables = [self.instantiate(clone) for clone in clones]
        for executable in executables:
            self.driver("cuGraphUpload", executable, self.stream)
        self.kernels.wait()
        with_executables = now()
        for what, before, after, more in (
                ("clone", at_first, with_clones, ""), ("its exec, uploaded", with_clones, with_executables, ""),
                ("clone and exec", at_first, with_executables, f"; the injected library reckons with {GUESSED_BYTES_PER_NODE}")):
            host, device = ((b - a) / (NODES * CLONES) for a, b in zip(before, after))
            figure(f"24: {what}: {host:.0f} bytes of host memory a node, {device:.0f} of device memory{more}")
        self.destroy(executables=executables, graphs=clones)

    def user_objects(self):
        """Expects that an object that a graph retains lives as long as the graph's clone."""
        destroyed = []
        count = ctypes.CFUNCTYPE(None, c_void_p)(destroyed.append)
        graph, _ = self.chain(3)
        thing = self.driver.made("cuUserObjectCreate", None, count, 1, 1)  # CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
        self.driver("cuGraphRetainUserObject", graph, thing, 1, 1)  # CU_GRAPH_USER_OBJECT_MOVE
        clone = self.clone(graph)
        executable, counts = self.instantiate(clone), []
        for gone in ({"graphs": [graph]}, {"graphs": [clone]}, {"executables": [executable]}):
            self.destroy(**gone)
            time.sleep(0.1)  # a thread of the driver's does it
            counts.append(len(destroyed))
        expect(counts[0] == 0 and counts[2] == 1,
               f"25: a clone keeps the user objects of its original: destroyed {counts[0]} times while clone and exec were there, "
               f"{counts[1]} with the exec alone, {counts[2]} after all")


def graphs(driver):
    clones = Clones(driver)
    clones.memory()  # first: what others gave back would hide growth
    clones.while_training()
    clones.user_objects()
    nodes = EventNodes(driver)
    empty_us = nodes.empty_pair_us()
    figure(f"26, 48: empty pair of event nodes {empty_us:.2f} us")
    nodes.node_times("chain", nodes.in_chain, empty_us)
    nodes.node_times("branch", nodes.in_branch, empty_us)
    graph, long_chain = nodes.chain(400)
    nodes.rest_of_graph("a chain of 400 nodes", graph, long_chain[200], empty_us)
    nodes.rest_of_graph("a graph whose other branch is the longer", *nodes.in_branch(SHORT_US), empty_us)
    nodes.other_events()


# --- programmatic launches

def overlap(driver):
    """A kernel of 200 us lets its successor start at once; the successor, of 200 us too, waits for nothing.  If they overlap, both
    together take well less than the two one after the other."""
    if driver.capability() < 90:
        skip("this GPU knows no programmatic launches")
    kernels = Kernels(driver, ("leads", "follows"), "sm_90", "griddepcontrol.launch_dependents;")
    around, pair, leads = Pair(driver), Pair(driver), kernels.launch("leads", 200)
    attribute = LaunchAttribute(6, value=1)  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

    def both_us(may_overlap, has_pair):
        config = LaunchConfig(ONE, ONE, 0, kernels.stream, ctypes.pointer(attribute), int(may_overlap))
        found = []
        for _ in range(30):
            # The first keeps the stream busy.
            kernels.make([leads, kernels.record(around.start), leads, *([kernels.record(pair.start)] if has_pair else [])])
            driver("cuLaunchKernelEx", byref(config), kernels.kernels["follows"], c_void_p(kernels.arguments(200)), None)
            kernels.make([*([kernels.record(pair.stop)] if has_pair else []), kernels.record(around.stop)])
            kernels.wait()
            found.append(around.us())
        return median(found)

    ordered_us, overlapping_us, with_pair_us = both_us(False, False), both_us(True, False), both_us(True, True)
    figures = (f"two kernels one after the other {ordered_us:.1f} us, with programmatic stream serialization {overlapping_us:.1f} us, "
               f"with a pair around the second {with_pair_us:.1f} us")
    margin_us = 20  # a tenth of a kernel is more than launches and events take
    if overlapping_us > ordered_us - margin_us:
        skip(f"this GPU does not overlap them: {figures}")
    expect(with_pair_us > ordered_us - margin_us, f"18: a pair takes the overlap away: {figures}")


# --- what pairs read

REPEATS, PAIRS_PER_HOLD = 64, 16  # as the injected library's calibration queues
HOLD_US = 2000  # 48 calls of a few microseconds each are queued well before it ends


class Bias(Graphs):
    """Pairs in the states of the injected library's calibration, and in two more:

        idle    the stream is empty when the pair is recorded
        busy    a long kernel holds the stream back until the pairs are queued
        graph   the events and the kernel are nodes of a graph
        large   as busy, with so many blocks that they fill every SM
        beside  as busy, while another stream has work of its own all the time
    """

    def __init__(self, driver):
        self.driver, self.kernels = driver, Kernels(driver, ("hold", "spin"))  # hold is not counted among the measured launches
        self.stream, self.beside = self.kernels.stream, driver.open_stream()
        self.pairs = [Pair(driver) for _ in range(PAIRS_PER_HOLD)]
        self.noted = driver.memory(16 * PAIRS_PER_HOLD)
        self.rows = []

    def timer_step_ns(self):
        """Returns the smallest step of the global timer: kernels of no length read it twice within some nanoseconds."""
        found = []
        for _ in range(1000):
            self.kernels.make([self.kernels.launch("hold")])
            self.kernels.wait()
            found.append(round(1e3 * self.kernels.noted_us(self.kernels.times)))
        return min(filter(None, found), default=0)

    def launch(self, kernel, us, blocks=1, slot=0):
        """Returns the step of a row's kernel, if it has one."""
        times = c_void_p(self.noted.value + 16 * slot)
        return [self.kernels.launch(kernel, us, blocks, 1, times if kernel == "spin" else None)] if kernel else []

    def pair(self, slot, kernel, us, blocks=1):
        pair = self.pairs[slot]
        return [self.kernels.record(pair.start), *self.launch(kernel, us, blocks, slot), Step(QUERY, object=pair.start),
                self.kernels.record(pair.stop)]

    def make(self, row, steps, count):
        """Makes the steps, and adds to the row what their pairs read."""
        made = array(steps, Step)
        self.kernels.make(made)
        self.kernels.wait()
        row["tight"] += sum(step.is_pending for step in made if step.kind == QUERY)  # not happened when the launch had returned
        times = (c_uint64 * (2 * PAIRS_PER_HOLD))()
        if row["kernel"] == "spin":
            self.driver("cuMemcpyDtoH_v2", times, self.noted, c_size_t(ctypes.sizeof(times)))
        row["pair_us"] += [pair.us() for pair in self.pairs[:count]]
        row["inner_us"] += [(times[2 * i + 1] - times[2 * i]) * 1e-3 for i in range(count)]

    def measure(self, state, kernel, us):
        row = {"state": state, "kernel": kernel, "target_us": us, "tight": 0, "pair_us": [], "inner_us": []}
        self.rows.append(row)
        if state == "graph":
            return self.in_graph(row, kernel, us)
        if state == "idle":
            for _ in range(REPEATS):
                self.make(row, self.pair(0, kernel, us), 1)
            return None
        if state == "beside":
            count, length_us = int(REPEATS * (us + HOLD_US / PAIRS_PER_HOLD) / 500) + 1, 500
            self.kernels.make([self.kernels.launch("hold", length_us, stream=self.beside)] * count)
        blocks = self.driver.attribute(16) if state == "large" else 1  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        pairs = [step for slot in range(PAIRS_PER_HOLD) for step in self.pair(slot, kernel, us, blocks)]
        for _ in range(REPEATS // PAIRS_PER_HOLD):
            self.make(row, [self.kernels.launch("hold", HOLD_US), *pairs], PAIRS_PER_HOLD)
        self.driver.wait()
        return None

    def in_graph(self, row, kernel, us):
        graph, pair, external = c_void_p(), self.pairs[0], 1  # CU_EVENT_RECORD_EXTERNAL
        self.driver("cuStreamBeginCapture_v2", self.stream, 1)  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self.driver("cuEventRecordWithFlags", pair.start, self.stream, external)
        self.kernels.make(self.launch(kernel, us))
        self.driver("cuEventRecordWithFlags", pair.stop, self.stream, external)
        self.driver("cuStreamEndCapture", self.stream, byref(graph))
        executable = self.instantiate(graph)
        for _ in range(REPEATS):
            self.make(row, [self.kernels.replay(executable)], 1)
        self.destroy(executables=[executable], graphs=[graph])


def bias(driver):
    measured = Bias(driver)
    for kernel in ("", "empty_kernel"):
        for state in ("idle", "busy", "graph"):
            measured.measure(state, kernel, 0)
    for us in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        for state in ("idle", "busy", "graph", "large", "beside"):
            measured.measure(state, "spin", us)
    name = ctypes.create_string_buffer(256)
    driver("cuDeviceGetName", name, 256, 0)
    pathlib.Path(sys.argv[2]).write_text(json.dumps({
        "device": name.value.decode(), "cycles_per_us": measured.kernels.cycles_per_us, "timer_step_ns": measured.timer_step_ns(),
        "rows": measured.rows}) + "\n")


if __name__ == "__main__":
    the_driver = Driver()
    the_driver.open_context()
    {"bias": bias, "graphs": graphs, "overlap": overlap}[sys.argv[1]](the_driver)
