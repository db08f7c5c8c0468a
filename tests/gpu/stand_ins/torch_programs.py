"""Plays the part of torch_programs.py where PyTorch has no GPU: the training loop of loops.py,
of which only the ranges are known, not which launch lies in which."""

import json
import pathlib
import subprocess
import sys

done = subprocess.run([sys.executable, pathlib.Path(__file__).parents[1] / "loops.py", *sys.argv[1:]], stdout=subprocess.PIPE, text=True, check=False)
if done.returncode != 0:
    sys.exit(done.returncode)
said = json.loads(done.stdout)
known = {"steps": said["steps"]}
if "layers" in said:
    parts = [layer.split(".") for layer in said["layers"] if layer]
    known.update(ranges=said["ranges"],
                 paths=sorted({".".join(part[:depth]) for part in parts for depth in range(1, len(part) + 1)}))
print(json.dumps(known))
