"""Writes down, when a program ends, the CUDA libraries that it had loaded: REAL_PROGRAMS_LIBRARIES names the folder."""

import atexit
import os
import re


def write_libraries(folder=os.environ.get("REAL_PROGRAMS_LIBRARIES")):
    if not folder:
        return
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
    wanted = re.compile(r"/lib(cuda|cudart|cublas|cublasLt|cudnn\w*|nccl|cupti)\.so")
    with open(os.path.join(folder, str(os.getpid())), "w", encoding="utf-8") as file:
        file.writelines(f"{path}\n" for path in sorted(paths) if wanted.search(path))


atexit.register(write_libraries)
