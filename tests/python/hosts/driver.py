"""The CUDA driver by ctypes: enough for kernels without arguments."""

import ctypes


class Driver:
    """One context, one stream, and kernels by name."""

    def __init__(self, kernels):
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.context = context
        self.make_current()
        self.stream = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(self.stream), 1)
        text = ".version 6.0\n.target sm_50\n.address_size 64\n"
        text += "".join(".visible .entry %s()\n{\nret;\n}\n" % name for name in kernels)
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self._kernels = {}
        for name in kernels:
            function = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            self._kernels[name] = function

    def _call(self, name, *arguments):
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError("%s: CUDA error %d" % (name, status))

    def make_current(self):
        """For each thread that launches."""
        self._call("cuCtxSetCurrent", self.context)

    def launch(self, name):
        self._call("cuLaunchKernel", self._kernels[name], 8, 1, 1, 32, 1, 1, 0, self.stream, None,
                   None)

    def wait(self):
        self._call("cuStreamSynchronize", self.stream)
