"""An application that names its own launches: layers, a label with a shape, a layer of another thread.

    labels.py ITERATIONS [vary | late | rare]

It sets labels only as long as the library wants them.  With `vary` every second iteration after that launches one of the label's
kernels once more before the label.  With `late` a kernel is launched from the ninth iteration on, in a layer that is set where
the library wants it; with `rare` in the twelfth alone.  Prints what was wanted, and the iterations in which layers were.
"""

import sys
import threading

import inline_prof.abi

from driver import Driver

abi = inline_prof.abi.find()
if abi is None:
    print("not profiled")
    sys.exit(0)
driver = Driver(["alone_", "first_", "second_", "third_", "elsewhere_", "late_"])
mine, others = 1, 2  # ids of layers
wanted = set()
named = []
to_launch = threading.Semaphore(0)
launched = threading.Semaphore(0)


def other_thread():
    driver.make_current()
    while to_launch.acquire() and abi is not None:
        abi.layer_set(others, b"Net.backward")
        driver.launch("elsewhere_")
        launched.release()
        # Ended by the main thread; what this one launches next has no layer.
        to_launch.acquire()
        driver.launch("alone_")
        launched.release()


threading.Thread(target=other_thread, daemon=True).start()
for iteration in range(int(sys.argv[1])):
    abi.iteration()
    wants = abi.wants()
    wanted.add(wants)
    sets_labels = bool(wants & inline_prof.abi.WANTS_LABELS)
    sets_layers = bool(wants & inline_prof.abi.WANTS_LAYERS)
    if sets_layers:
        named.append(iteration + 1)
    abi.layer_set(mine, b"Net.first")
    driver.launch("first_")
    abi.layer_set(mine, b"Net.second")
    if "vary" in sys.argv and not sets_labels and iteration % 2 == 0:
        driver.launch("third_")
    if sets_labels:
        abi.op(b"norm", "norm", {"rows": 6, "cols": 8, "pass": "forward", "type": "f32"})
        abi.record(None, b"norm.start", driver.stream, 0, 1, None)
    driver.launch("second_")
    driver.launch("third_")
    if sets_labels:
        abi.record(None, b"norm.stop", driver.stream, 0, 1, None)
    if "late" in sys.argv and iteration >= 8 or "rare" in sys.argv and iteration == 11:
        abi.layer_set(mine, b"Net.late" if sets_layers else None)
        driver.launch("late_")
    abi.layer_set(mine, None)
    to_launch.release(), launched.acquire()
    abi.layer_end(others)
    to_launch.release(), launched.acquire()
    driver.wait()
print("wanted", sorted(wanted), "now", abi.wants(), "named", *named)
