"""Calls of cuBLAS, cuBLASLt, cuDNN and NCCL with known shapes (claims 3, 4, 8, 9, 39, 42 and 43), and what cuDNN gives back of a
graph's convolutions (38 and 44).

    library_calls.py cublas|cublaslt|cudnn|nccl|descriptors...

Numbers of the vendors' enumerations have their names beside them.
"""

import ctypes
import sys
import threading
from ctypes import byref, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from gpu import Driver, Library, NotHere, array, expect, figure, make_calls

ROOM = 64 << 20  # of a matrix or a tensor
ONE, ZERO = byref(c_float(1)), byref(c_float(0))
F32, F64, F16, BF16, F8 = 0, 1, 2, 14, 28  # cudaDataType_t; F8: CUDA_R_8F_E4M3
N, T = 0, 1  # cublasOperation_t
SUMS_OF_F32 = 68  # CUBLAS_COMPUTE_32F


# --- cuBLAS

def open_cublas(driver):
    cublas = Library("libcublas", (13, 12), "cublasGetStatusString")
    handle = cublas.made("cublasCreate_v2")
    cublas("cublasSetStream_v2", handle, driver.open_stream())
    return cublas, handle


def cublas_calls(driver):
    cublas, handle = open_cublas(driver)
    a, b, c = (driver.memory(ROOM) for _ in range(3))

    def typed(function, trans_a, trans_b, m, n, k, real=c_float):
        return lambda: cublas(function, handle, trans_a, trans_b, m, n, k, byref(real(1)), a, k if trans_a else m,
                              b, n if trans_b else k, byref(real(0)), c, m)

    def in_tf32():
        cublas("cublasSetMathMode", handle, 3)  # CUBLAS_TF32_TENSOR_OP_MATH
        try:
            typed("cublasSgemm_v2", T, N, 128, 80, 96)()
        finally:
            cublas("cublasSetMathMode", handle, 0)

    def by_pointers():
        addresses = array(3 * [a] + 3 * [b] + 3 * [c])
        device = driver.memory(ctypes.sizeof(addresses))
        driver("cuMemcpyHtoD_v2", device, addresses, c_size_t(ctypes.sizeof(addresses)))
        of_a, of_b, of_c = (c_void_p(device.value + 24 * i) for i in range(3))
        return lambda: cublas("cublasSgemmBatched", handle, N, N, 72, 88, 104, ONE, of_a, 72, of_b, 104, ZERO, of_c, 72, 3)

    def gemm_ex(m, n, k, inputs=F16, output=F16):
        return lambda: cublas("cublasGemmEx", handle, N, N, m, n, k, ONE, a, inputs, m, b, inputs, k, ZERO, c, output, m,
                              SUMS_OF_F32, -1)  # CUBLAS_GEMM_DEFAULT

    def strided(m=128, n=64, k=96, batch=6):
        cublas("cublasGemmStridedBatchedEx", handle, T, N, m, n, k, ONE, a, F16, k, c_int64(m * k), b, F16, k, c_int64(n * k),
               ZERO, c, F16, m, c_int64(m * n), batch, SUMS_OF_F32, -1)

    return {"sgemm": lambda: typed("cublasSgemm_v2", N, N, 64, 48, 32),
            "sgemm in tf32, A transposed": lambda: in_tf32,
            "dgemm, B transposed": lambda: typed("cublasDgemm_v2", N, T, 40, 56, 24, c_double),
            "sgemm in batches, by pointers": by_pointers,
            "gemmEx of bf16 to f32": lambda: gemm_ex(256, 512, 1024, BF16, F32),
            "gemmEx of f16, large": lambda: gemm_ex(4096, 2048, 1024),
            "gemmEx of f16, one column": lambda: gemm_ex(2048, 1, 4096),
            "gemmEx of f16, long k": lambda: gemm_ex(64, 72, 16384),
            "gemmStridedBatchedEx of f16": lambda: strided}


# --- cuBLASLt

# op(A) is m x k, op(B) k x n, D m x n, all in the same order.
PRODUCTS = {"Lt of bf16, A transposed, with bias and relu": {"shape": (192, 160, 128), "trans_a": T, "epilogue": 6},
            "Lt of f16 by rows": {"shape": (144, 112, 80), "inputs": F16, "output": F16, "order": 1},  # CUBLASLT_ORDER_ROW
            "Lt of bf16 in batches": {"shape": (256, 128, 64), "batch": 4},
            "Lt of f8 to bf16": {"shape": (256, 384, 512), "inputs": F8, "trans_a": T, "least_capability": 89},
            "Lt of bf16, large": {"shape": (4096, 2048, 2048), "trans_a": T},
            "Lt of bf16, long k": {"shape": (80, 64, 16384), "trans_a": T}}


class Result(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""
    _fields_ = [("algorithm", c_uint64 * 8), ("workspace_bytes", c_size_t), ("state", c_int), ("waves", c_float),
                ("reserved", c_int * 4)]


def cublaslt_calls(driver):
    lt = Library("libcublasLt", (13, 12), "cublasLtGetStatusString")
    handle, stream = lt.made("cublasLtCreate"), driver.open_stream()
    a, b, c, scales, workspace = (driver.memory(ROOM) for _ in range(5))

    def set_all(function, made, values):
        for number, value in values.items():
            lt(function, made, number, byref(value), c_size_t(ctypes.sizeof(value)))
        return made

    def layout(kind, rows, columns, order, batch):
        made = lt.made("cublasLtMatrixLayoutCreate", kind, c_uint64(rows), c_uint64(columns), c_int64(columns if order else rows))
        # CUBLASLT_MATRIX_LAYOUT_ORDER, _BATCH_COUNT, _STRIDED_BATCH_OFFSET
        return set_all("cublasLtMatrixLayoutSetAttribute", made, {1: c_int32(order), 5: c_int32(batch), 6: c_int64(rows * columns)})

    def algorithm_of(*described):
        preference = set_all("cublasLtMatmulPreferenceSetAttribute", lt.made("cublasLtMatmulPreferenceCreate"),
                             {1: c_uint64(ROOM)})  # CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
        result, count = Result(), c_int()
        lt("cublasLtMatmulAlgoGetHeuristic", handle, *described, preference, 1, byref(result), byref(count))
        if count.value < 1 or result.state != 0:
            raise RuntimeError("cublasLtMatmulAlgoGetHeuristic has no algorithm")
        return result.algorithm

    def words_of(algorithm):
        words = []
        # CUBLASLT_ALGO_CONFIG_ID, _TILE_ID, _STAGES_ID, _SPLITK_NUM, _REDUCTION_SCHEME
        for what, number in (("id", 0), ("tile", 1), ("stages", 6), ("splits of k", 2), ("reduction", 3)):
            value = c_int32(-1)
            failed = lt.status("cublasLtMatmulAlgoConfigGetAttribute", algorithm, number, byref(value), c_size_t(4), byref(c_size_t()))
            words.append(f"{what} {-1 if failed else value.value}")
        return ", ".join(words)

    def product(name, shape, inputs=BF16, output=BF16, trans_a=N, order=0, epilogue=None, batch=1, least_capability=80):
        if driver.capability() < least_capability:
            raise NotHere(f"needs capability {least_capability / 10}")
        m, n, k = shape
        # CUBLASLT_MATMUL_DESC_TRANSA, _EPILOGUE, _BIAS_POINTER, _A_SCALE_POINTER, _B_SCALE_POINTER
        description = set_all("cublasLtMatmulDescSetAttribute", lt.made("cublasLtMatmulDescCreate", SUMS_OF_F32, F32), {
            3: c_int32(trans_a), **({7: c_int32(epilogue), 8: scales} if epilogue else {}), **({17: scales, 18: scales} if inputs == F8 else {})})
        of_a = layout(inputs, *((k, m) if trans_a else (m, k)), order, batch)
        of_b, of_d = layout(inputs, k, n, order, batch), layout(output, m, n, order, batch)
        algorithm = algorithm_of(description, of_a, of_b, of_d, of_d)
        print(f"about {name}: {words_of(algorithm)}", flush=True)
        return lambda: lt("cublasLtMatmul", handle, description, ONE, a, of_a, b, of_b, ZERO, c, of_d, c, of_d, byref(algorithm),
                          workspace, c_size_t(ROOM), stream)

    return {name: lambda name=name, given=given: product(name, **given) for name, given in PRODUCTS.items()}


# --- cuDNN's older functions

WORKSPACE = 512 << 20


class Found(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t, and those of the other directions."""
    _fields_ = [("algorithm", c_int), ("status", c_int), ("time", c_float), ("memory", c_size_t), ("determinism", c_int),
                ("math", c_int), ("reserved", c_int * 3)]


def expect_room(size):
    if size > WORKSPACE:
        raise NotHere(f"its workspace is {size >> 20} MiB")


# The tensors of each direction in the order of its functions' arguments: image x, filter w, output y; the last is the result.
ORDERS = {"Forward": "xwy", "BackwardData": "wyx", "BackwardFilter": "xyw"}


class CudnnCalls:
    def __init__(self, driver):
        self.cudnn, self.handle = open_cudnn(driver)
        self.memory = {name: driver.memory(ROOM) for name in "xwyb"}
        self.workspace = driver.memory(WORKSPACE)

    def layer(self, x, w, y, groups=1, stride=(1, 1), pad=0, type=0, layout=0):  # cudnnDataType_t, cudnnTensorFormat_t
        """Returns the descriptors of a convolution."""
        cudnn, kinds = self.cudnn, {"x": "Tensor", "w": "Filter", "y": "Tensor", "convolution": "Convolution"}
        made = {name: cudnn.made(f"cudnnCreate{kind}Descriptor") for name, kind in kinds.items()}
        cudnn("cudnnSetTensor4dDescriptor", made["x"], layout, type, *x)
        cudnn("cudnnSetFilter4dDescriptor", made["w"], type, layout, *w)
        cudnn("cudnnSetTensor4dDescriptor", made["y"], layout, type, *y)
        cudnn("cudnnSetConvolution2dDescriptor", made["convolution"], pad, pad, *stride, 1, 1, 1, 0)  # CUDNN_CROSS_CORRELATION, f32
        cudnn("cudnnSetConvolutionGroupCount", made["convolution"], groups)
        return made

    def convolve(self, direction, layer, algorithm=None):
        """Returns a call with the algorithm, else with the one that cuDNN's heuristic puts first."""
        first, second, result = ((layer[name], self.memory[name]) for name in ORDERS[direction])
        if algorithm is None:
            found, count = Found(), c_int()
            self.cudnn(f"cudnnGetConvolution{direction}Algorithm_v7", self.handle, first[0], second[0], layer["convolution"], result[0], 1,
                       byref(count), byref(found))
            if found.status != 0:
                raise RuntimeError(f"the heuristic's first algorithm answers {self.cudnn.words(found.status)}")
            expect_room(found.memory)
            algorithm = found.algorithm
        return lambda: self.cudnn(f"cudnnConvolution{direction}", self.handle, ONE, *first, *second, layer["convolution"], algorithm,
                                  self.workspace, c_size_t(WORKSPACE), ZERO, *result)

    def forward_by(self, algorithm):
        layer, size = self.layer((8, 32, 28, 28), (64, 32, 3, 3), (8, 64, 28, 28), pad=1), c_size_t()
        if self.cudnn.status("cudnnGetConvolutionForwardWorkspaceSize", self.handle, layer["x"], layer["w"], layer["convolution"], layer["y"],
                             algorithm, byref(size)) != 0:
            raise NotHere("cuDNN has no such algorithm for it")
        expect_room(size.value)
        return self.convolve("Forward", layer, algorithm)

    def older(self):
        plain = self.layer((4, 8, 20, 30), (16, 8, 3, 5), (4, 16, 18, 26))
        strided = self.layer((4, 32, 20, 30), (64, 16, 3, 3), (4, 64, 10, 30), 2, (2, 1), 1, 2, 1)  # half precision, NHWC
        return {"forward": lambda: self.convolve("Forward", plain),
                "forward of f16 by channels, strided, in groups": lambda: self.convolve("Forward", strided),
                "backward data": lambda: self.convolve("BackwardData", plain),
                "backward filter": lambda: self.convolve("BackwardFilter", plain),
                # 3 is not implemented (cudnn_cnn.h, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT).
                **{f"forward by algorithm {i}": lambda i=i: self.forward_by(i) for i in (0, 1, 2, 4, 5, 6, 7)}}

    def execution(self, name, graph, tensors):
        plan = plan_of(self.cudnn, self.handle, graph)
        expect_room(plan.integers(402)[0])  # CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE
        engine = plan.child(401, CONFIGURATION).child(300, ENGINE)  # _ENGINE_CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE
        print(f"about {name}: engine {engine.integers(1301)[0]}", flush=True)  # CUDNN_ATTR_ENGINE_GLOBAL_INDEX
        pack = Descriptor(self.cudnn, PACK, {  # CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, _DATA_POINTERS, _WORKSPACE
            1000: (INTEGER, [ord(tensor) for tensor in tensors]), 1001: (POINTER, list(tensors.values())), 1003: (POINTER, [self.workspace])})
        return lambda: self.cudnn("cudnnBackendExecute", self.handle, plan.raw, pack.raw)

    def graphs(self):
        memory = self.memory

        def one(name, direction, **shape):
            graph = graph_of(self.cudnn, self.handle, [convolution(self.cudnn, direction, **shape)])
            return self.execution(name, graph, {tensor: memory[tensor] for tensor in "xwy"})

        fused = "graph forward with bias and relu"
        return {**{f"graph {direction}": lambda direction=direction: one(f"graph {direction}", direction) for direction in DIRECTIONS},
                "graph forward in groups": lambda: one("graph forward in groups", "forward", height=14, width=24, groups=2),
                fused: lambda: self.execution(fused, fused_graph(self.cudnn, self.handle, height=32, width=40, filters=96),
                                              {"x": memory["x"], "w": memory["w"], "b": memory["b"], "z": memory["y"]})}


def open_cudnn(driver):
    cudnn = Library("libcudnn", (9,), "cudnnGetErrorString")
    handle = cudnn.made("cudnnCreate")
    cudnn("cudnnSetStream", handle, driver.open_stream())
    return cudnn, handle


def cudnn_calls(driver):
    calls = CudnnCalls(driver)
    return {**calls.older(), **calls.graphs()}


# --- cuDNN's graphs

# cudnnBackendAttributeType_t
HANDLE, DATA_TYPE, BOOLEAN, INTEGER, POINTER, CONVOLUTION_MODE, HEURISTIC, POINTWISE, DESCRIPTOR = 0, 1, 2, 3, 6, 7, 8, 14, 15
KINDS = {BOOLEAN: ctypes.c_bool, INTEGER: c_int64, **dict.fromkeys((HANDLE, POINTER, DESCRIPTOR), c_void_p)}  # others: an enumeration
# cudnnBackendDescriptorType_t
POINTWISE_MODE, SETTINGS, ENGINE, CONFIGURATION, HEURISTICS, PLAN, POINTWISE_OPERATION, GRAPH, PACK, TENSOR = 0, 1, 2, 3, 4, 5, 13, 15, 16, 17
# The operation's type, and its attributes (CUDNN_ATTR_OPERATION_CONVOLUTION_...) of image, filter, output and convolution.
DIRECTIONS = {"forward": (10, 704, 703, 705, 702), "backward data": (12, 710, 709, 711, 708), "backward filter": (11, 716, 715, 717, 714)}


class Descriptor:
    """A descriptor of the backend, finalized if it has attributes: {number: (type, values)}."""

    def __init__(self, cudnn, kind, attributes=None):
        self.cudnn, self.raw, self.kept = cudnn, c_void_p(), attributes
        cudnn("cudnnBackendCreateDescriptor", kind, byref(self.raw))
        for number, (type, values) in (attributes or {}).items():
            raw = [value.raw if type == DESCRIPTOR else value for value in values]
            cudnn("cudnnBackendSetAttribute", self.raw, number, type, c_int64(len(raw)), array(raw, KINDS.get(type, c_int)))
        if attributes:
            cudnn("cudnnBackendFinalize", self.raw)

    def get(self, number, type, values):
        """Returns how many values the attribute has."""
        count = c_int64()
        self.cudnn("cudnnBackendGetAttribute", self.raw, number, type, c_int64(len(values)), byref(count), values)
        return count.value

    def integers(self, number, most=1):
        values = (c_int64 * most)()
        return values[:self.get(number, INTEGER, values)]

    def child(self, number, kind):
        found = Descriptor(self.cudnn, kind)
        self.get(number, DESCRIPTOR, array([found.raw]))
        return found


def tensor(cudnn, name, n, c, h, w, is_virtual=False):
    """Channels last, in half precision."""
    # CUDNN_ATTR_TENSOR_DATA_TYPE, _DIMENSIONS, _STRIDES, _UNIQUE_ID, _BYTE_ALIGNMENT, _IS_VIRTUAL
    return Descriptor(cudnn, TENSOR, {
        901: (DATA_TYPE, [2]), 902: (INTEGER, [n, c, h, w]), 903: (INTEGER, [c * h * w, 1, c * w, c]), 906: (INTEGER, [ord(name)]),
        900: (INTEGER, [16]), **({907: (BOOLEAN, [True])} if is_virtual else {})})


def convolution(cudnn, direction, images=8, channels=64, height=28, width=56, filters=128, groups=1, is_virtual=False):
    """Filters of 3 x 3 with padding 1, and sums of f32."""
    kind, *numbers = DIRECTIONS[direction]
    # CUDNN_ATTR_CONVOLUTION_COMP_TYPE, _CONV_MODE, _SPATIAL_DIMS; _DILATIONS, _FILTER_STRIDES, _POST_PADDINGS, _PRE_PADDINGS
    settings = Descriptor(cudnn, SETTINGS, {100: (DATA_TYPE, [0]), 101: (CONVOLUTION_MODE, [1]), 106: (INTEGER, [2]),
                                     **{number: (INTEGER, [1, 1]) for number in (102, 103, 104, 105)}})
    parts = (tensor(cudnn, "x", images, channels, height, width), tensor(cudnn, "w", filters, channels // groups, 3, 3),
             tensor(cudnn, "y", images, filters, height, width, is_virtual), settings)
    return Descriptor(cudnn, kind, {number: (DESCRIPTOR, [part]) for number, part in zip(numbers, parts)})


def graph_of(cudnn, handle, operations):
    return Descriptor(cudnn, GRAPH, {800: (HANDLE, [handle]), 801: (DESCRIPTOR, operations)})  # CUDNN_ATTR_OPERATIONGRAPH_HANDLE, _OPS


def fused_graph(cudnn, handle, **shape):
    """The graph of z = relu(convolution of x by w + b); the results between have no memory."""
    sizes = 8, shape["filters"], shape["height"], shape["width"]
    y, between = (tensor(cudnn, name, *sizes, is_virtual=True) for name in "ys")

    def pointwise(mode, tensors):
        how = Descriptor(cudnn, POINTWISE_MODE, {0: (POINTWISE, [mode]), 1: (DATA_TYPE, [0])})  # CUDNN_ATTR_POINTWISE_MODE, _MATH_PREC
        return Descriptor(cudnn, POINTWISE_OPERATION, {number: (DESCRIPTOR, [part]) for number, part in ((750, how), *tensors.items())})

    # CUDNN_POINTWISE_ADD, _RELU_FWD; CUDNN_ATTR_OPERATION_POINTWISE_XDESC, _BDESC, _YDESC
    add = pointwise(0, {751: y, 752: tensor(cudnn, "b", 1, shape["filters"], 1, 1), 753: between})
    relu = pointwise(100, {751: between, 753: tensor(cudnn, "z", *sizes)})
    return graph_of(cudnn, handle, [convolution(cudnn, "forward", is_virtual=True, **shape), add, relu])


def plan_of(cudnn, handle, graph):
    """Returns the first plan of the heuristic that can be made."""
    # CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, _MODE: CUDNN_HEUR_MODE_A
    heuristic = Descriptor(cudnn, HEURISTICS, {201: (DESCRIPTOR, [graph]), 200: (HEURISTIC, [3])})
    found, why = [Descriptor(cudnn, CONFIGURATION) for _ in range(16)], "the heuristic has no engine"
    # CUDNN_ATTR_ENGINEHEUR_RESULTS
    for configuration in found[:heuristic.get(202, DESCRIPTOR, array([one.raw for one in found]))]:
        try:
            # CUDNN_ATTR_EXECUTION_PLAN_HANDLE, _ENGINE_CONFIG
            return Descriptor(cudnn, PLAN, {400: (HANDLE, [handle]), 401: (DESCRIPTOR, [configuration])})
        except RuntimeError as error:
            why = f"no engine of the heuristic: {error}"
    raise RuntimeError(why)


def look_at(cudnn, handle, direction, groups):
    """Asks cuDNN what it gives back of a convolution: two of the answers are why the injected library follows plans as it does
    (libinject/libraries/backend_plans.cpp)."""
    what = f"{direction}, {groups} groups"
    kind, *numbers, settings = DIRECTIONS[direction]
    expected = [[8, groups, 64 // groups, 28, 56], [groups, 128 // groups, 64 // groups, 3, 3], [8, groups, 128 // groups, 28, 56]]

    def expect_sizes(when):
        found = [operation.child(number, TENSOR).integers(902, 8) for number in numbers]
        expect(found == expected, f"44: {what}, {when}: image, filter, output {found}" + ("" if found == expected else f", expected {expected}"))

    try:
        operation = convolution(cudnn, direction, groups=groups)
        expect_sizes("finalized")
        # The injected library reads the settings when they are handed over: 9.19 without a GPU does not give them back.
        given, size = Descriptor(cudnn, SETTINGS), (c_int64 * 1)()
        answers = [cudnn.words(cudnn.status("cudnnBackendGetAttribute", *asked, c_int64(1), byref(c_int64()), into)) for asked, into in (
            ((operation.raw, settings, DESCRIPTOR), array([given.raw])), ((given.raw, 106, INTEGER), size))]
        figure(f"44: {direction} gives its convolution descriptor back: {answers[0]}, and in it: {answers[1]}")
        graph = graph_of(cudnn, handle, [operation])
        status = cudnn.status("cudnnBackendGetAttribute", graph.raw, 801, DESCRIPTOR, c_int64(1), byref(c_int64()),
                              array([Descriptor(cudnn, kind).raw]))
        expect(status == 3000, f"38: {direction}: CUDNN_ATTR_OPERATIONGRAPH_OPS: {cudnn.words(status)}, expected CUDNN_STATUS_NOT_SUPPORTED")
        if groups == 1:  # plans may take a second each to be compiled
            plan_of(cudnn, handle, graph)
            expect_sizes("with a plan")
    except RuntimeError as error:
        expect(False, f"38, 44: {what}: {error}")


def descriptors(driver):
    try:
        cudnn, handle = open_cudnn(driver)
    except RuntimeError as error:
        return expect(False, f"38, 44: {error}")
    figure(f"38, 44: cuDNN {cudnn.status('cudnnGetVersion')}")
    for direction in DIRECTIONS:
        for groups in (1, 2):
            look_at(cudnn, handle, direction, groups)


# --- NCCL

COUNT = 1 << 18  # elements of a message
NCCL_F16, NCCL_F32, NCCL_BF16, MEAN = 6, 7, 9, 4


class Ranks:
    """One or two GPUs.  One rank copies if it can: it launches a kernel to scale (the mean of f32) and to send to itself."""

    def __init__(self, driver):
        self.driver, count = driver, min(driver.devices, 2)
        self.nccl, self.comms = Library("libnccl", (2,), "ncclGetErrorString"), (c_void_p * count)()
        self.contexts = [driver.open_context(device) for device in range(count)]
        self.nccl("ncclCommInitAll", self.comms, count, None)
        self.streams, self.memory = [], []
        for context in self.contexts:
            driver("cuCtxSetCurrent", context)
            self.streams.append(driver.open_stream())
            self.memory.append([driver.memory(8 * COUNT * 4) for _ in range(2)])
        print(f"ranks {count}", flush=True)

    def call(self, rank, function, *between, sends=True, receives=True):
        """Calls a function of the rank's memory, what it is told, its communicator and stream."""
        self.driver("cuCtxSetCurrent", self.contexts[rank])
        memory = self.memory[rank][not sends:1 + receives]
        self.nccl(function, *memory, *between, c_void_p(self.comms[rank]), self.streams[rank])

    def on_threads(self, *call):
        """Each rank has a thread, as the ranks of one process do."""
        failed = []

        def run(rank):
            try:
                self.call(rank, *call)
            except RuntimeError as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(self.contexts))]
        for thread in threads if len(threads) > 1 else ():
            thread.start()
        for thread in threads if len(threads) > 1 else ():
            thread.join()
        if len(threads) == 1:
            run(0)
        if failed:
            raise failed[0]

    def in_group(self, calls):
        self.nccl("ncclGroupStart")
        for rank in range(len(self.contexts)):
            calls(rank)
        self.nccl("ncclGroupEnd")

    def send_and_receive(self, rank):
        other = (rank + 1) % len(self.contexts)
        self.call(rank, "ncclSend", c_size_t(COUNT), NCCL_F32, other, receives=False)
        self.call(rank, "ncclRecv", c_size_t(COUNT), NCCL_F32, other, sends=False)

    def three_buckets(self, rank):
        for bucket in range(3):
            self.call(rank, "ncclAllReduce", c_size_t(COUNT << bucket), NCCL_F32, MEAN)

    def calls(self):
        alone = {"all_reduce": ("ncclAllReduce", c_size_t(COUNT // 4), NCCL_F32, MEAN),
                 "reduce_scatter": ("ncclReduceScatter", c_size_t(COUNT), NCCL_F32, MEAN),
                 "reduce": ("ncclReduce", c_size_t(COUNT // 2), NCCL_F32, MEAN, 0),
                 "all_gather": ("ncclAllGather", c_size_t(COUNT), NCCL_F16),
                 "broadcast": ("ncclBroadcast", c_size_t(COUNT), NCCL_BF16, 0)}
        return {**{name: lambda call=call: lambda: self.on_threads(*call) for name, call in alone.items()},
                "send and receive in a group": lambda: lambda: self.in_group(self.send_and_receive),
                "three all_reduces in a group": lambda: lambda: self.in_group(self.three_buckets)}

    def wait(self):
        for context in self.contexts:
            self.driver("cuCtxSetCurrent", context)
            self.driver.wait()


def main():
    driver = Driver()
    driver.open_context()
    if sys.argv[1] == "descriptors":
        return descriptors(driver)
    if sys.argv[1] == "nccl":
        ranks = Ranks(driver)
        make_calls(ranks.calls(), ranks.wait)
        for comm in ranks.comms:
            ranks.nccl("ncclCommDestroy", c_void_p(comm))
        return None
    sets = {"cublas": cublas_calls, "cublaslt": cublaslt_calls, "cudnn": cudnn_calls}
    return make_calls({name: call for word in sys.argv[1:] for name, call in sets[word](driver).items()}, driver.wait)


if __name__ == "__main__":
    main()
