"""An application that marks its iterations as long as the library wants that, and sleeps until it is woken.

    sleeper.py ITERATIONS [moves | evaluates | alike]

`moves`: from iteration 40 on the optimizer launches its kernel once more. `evaluates`: every sixth iteration is followed by what it
begins with. `alike`: an iteration launches one kernel only. Prints the iterations that were marked.
"""

import sys

import inline_prof.abi
from inline_prof.abi import WANTS_TO_WAKE

from driver import Driver

abi = inline_prof.abi.find()
driver = Driver(["forward_", "backward_", "optimizer_"])
way = sys.argv[2] if len(sys.argv) > 2 else ""
is_awake = True
marked = []


def wake():
    global is_awake
    is_awake = True


abi.wake(wake)
for iteration in range(1, int(sys.argv[1]) + 1):
    if is_awake:
        abi.iteration()
        marked.append(iteration)
        is_awake = abi.wants() != WANTS_TO_WAKE
    driver.launch("forward_")
    if way != "alike":
        driver.launch("backward_")
        driver.launch("forward_")
        for _ in range(2 if way != "moves" or iteration < 40 else 3):
            driver.launch("optimizer_")
    if way == "evaluates" and iteration % 6 == 0:
        driver.launch("forward_")
        driver.launch("forward_")
    driver.wait()
    if abi.wants() == 0:
        break
print("marked", *marked)
