#include "measure/range_counters.hpp"

#include "measure/dynamic_library.hpp"

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

namespace inline_prof::measure {
namespace {

// Of one pass on GH100: more would have to be counted in several runs of a kernel, which differ.
struct Counter {
  std::string_view column;
  const char* metric;
};
constexpr std::array kCounters{
    Counter{"dram_read_bytes", "dram__bytes_read.sum"},
    Counter{"dram_write_bytes", "dram__bytes_write.sum"},
    Counter{"l2_bytes", "lts__t_bytes.sum"},
    Counter{"fma_instructions", "sm__inst_executed_pipe_fma.sum"},
    Counter{"tensor_instructions", "sm__inst_executed_pipe_tensor.sum"},
    Counter{"counted_ns", "gpu__time_duration.sum"},
};

// Every parameter structure of these interfaces begins with its size.
template <typename Parameters>
Parameters sized(std::size_t size) {
  Parameters parameters{};
  parameters.structSize = size;
  return parameters;
}
#define INLINE_PROF_SIZED(type) sized<type>(type##_STRUCT_SIZE)

struct CuptiFunctions {
  DynamicLibrary driver{"libcuda.so.1"};
  DynamicLibrary library{"libcupti.so.13", "libcupti.so.12"};
  decltype(cuCtxGetCurrent)* current_context = nullptr;
  decltype(cuptiGetResultString)* result_string = nullptr;
  decltype(cuptiProfilerInitialize)* initialize = nullptr;
  decltype(cuptiDeviceGetChipName)* chip_name = nullptr;
  decltype(cuptiProfilerHostInitialize)* host_begin = nullptr;
  decltype(cuptiProfilerHostDeinitialize)* host_end = nullptr;
  decltype(cuptiProfilerHostConfigAddMetrics)* add_metrics = nullptr;
  decltype(cuptiProfilerHostGetConfigImageSize)* config_size = nullptr;
  decltype(cuptiProfilerHostGetConfigImage)* config_image = nullptr;
  decltype(cuptiProfilerHostEvaluateToGpuValues)* evaluate = nullptr;
  decltype(cuptiRangeProfilerEnable)* enable = nullptr;
  decltype(cuptiRangeProfilerDisable)* disable = nullptr;
  decltype(cuptiRangeProfilerGetCounterDataSize)* data_size = nullptr;
  decltype(cuptiRangeProfilerCounterDataImageInitialize)* begin_data = nullptr;
  decltype(cuptiRangeProfilerSetConfig)* set_config = nullptr;
  decltype(cuptiRangeProfilerStart)* start = nullptr;
  decltype(cuptiRangeProfilerStop)* stop = nullptr;
  decltype(cuptiRangeProfilerPushRange)* push = nullptr;
  decltype(cuptiRangeProfilerPopRange)* pop = nullptr;
  decltype(cuptiRangeProfilerDecodeData)* decode = nullptr;

  CuptiFunctions() {
    driver.find(current_context, "cuCtxGetCurrent");
    library.find(result_string, "cuptiGetResultString");
    library.find(initialize, "cuptiProfilerInitialize");
    library.find(chip_name, "cuptiDeviceGetChipName");
    library.find(host_begin, "cuptiProfilerHostInitialize");
    library.find(host_end, "cuptiProfilerHostDeinitialize");
    library.find(add_metrics, "cuptiProfilerHostConfigAddMetrics");
    library.find(config_size, "cuptiProfilerHostGetConfigImageSize");
    library.find(config_image, "cuptiProfilerHostGetConfigImage");
    library.find(evaluate, "cuptiProfilerHostEvaluateToGpuValues");
    library.find(enable, "cuptiRangeProfilerEnable");
    library.find(disable, "cuptiRangeProfilerDisable");
    library.find(data_size, "cuptiRangeProfilerGetCounterDataSize");
    library.find(begin_data, "cuptiRangeProfilerCounterDataImageInitialize");
    library.find(set_config, "cuptiRangeProfilerSetConfig");
    library.find(start, "cuptiRangeProfilerStart");
    library.find(stop, "cuptiRangeProfilerStop");
    library.find(push, "cuptiRangeProfilerPushRange");
    library.find(pop, "cuptiRangeProfilerPopRange");
    library.find(decode, "cuptiRangeProfilerDecodeData");
  }

  void require(CUptiResult result, const char* what) const {
    if (result == CUPTI_SUCCESS) return;
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
      throw Skipped(
          "the driver lets only administrators read counters (ERR_NVGPUCTRPERM): run as one, or "
          "load "
          "the nvidia module with NVreg_RestrictProfilingToAdminUsers=0");
    }
    const char* words = nullptr;
    if (result_string(result, &words) != CUPTI_SUCCESS || words == nullptr) words = "no text";
    throw Skipped(fmt::format("{}: {} ({})", what, words, static_cast<int>(result)));
  }
};

}  // namespace

const std::vector<std::string_view>& counter_columns() {
  static const std::vector<std::string_view> columns = [] {
    std::vector<std::string_view> names;
    names.reserve(kCounters.size());
    for (const Counter& counter : kCounters)
      names.push_back(counter.column);
    return names;
  }();
  return columns;
}

struct RangeCounters::Session {
  CuptiFunctions cupti;
  CUpti_Profiler_Host_Object* host = nullptr;
  std::vector<const char*> metrics;
  std::vector<std::uint8_t> config;

  explicit Session(int device) {
    metrics.reserve(kCounters.size());
    for (const Counter& counter : kCounters)
      metrics.push_back(counter.metric);
    auto profiler = INLINE_PROF_SIZED(CUpti_Profiler_Initialize_Params);
    cupti.require(cupti.initialize(&profiler), "cuptiProfilerInitialize");
    auto chip = INLINE_PROF_SIZED(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::size_t>(device);
    cupti.require(cupti.chip_name(&chip), "cuptiDeviceGetChipName");
    auto begun = INLINE_PROF_SIZED(CUpti_Profiler_Host_Initialize_Params);
    begun.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    begun.pChipName = chip.pChipName;
    cupti.require(cupti.host_begin(&begun), "cuptiProfilerHostInitialize");
    host = begun.pHostObject;
    try {
      configure();
    } catch (const Skipped&) {
      end();
      throw;
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { end(); }

  [[nodiscard]] std::vector<double> values(std::vector<std::uint8_t>& data) const {
    std::vector<double> found(metrics.size());
    auto evaluation = INLINE_PROF_SIZED(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    evaluation.pHostObject = host;
    evaluation.pCounterDataImage = data.data();
    evaluation.counterDataImageSize = data.size();
    evaluation.rangeIndex = 0;
    evaluation.ppMetricNames = const_cast<const char**>(metrics.data());
    evaluation.numMetrics = metrics.size();
    evaluation.pMetricValues = found.data();
    cupti.require(cupti.evaluate(&evaluation), "cuptiProfilerHostEvaluateToGpuValues");
    return found;
  }

 private:
  void configure() {
    auto added = INLINE_PROF_SIZED(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    added.pHostObject = host;
    added.ppMetricNames = metrics.data();
    added.numMetrics = metrics.size();
    cupti.require(cupti.add_metrics(&added), "cuptiProfilerHostConfigAddMetrics");
    auto size = INLINE_PROF_SIZED(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host;
    cupti.require(cupti.config_size(&size), "cuptiProfilerHostGetConfigImageSize");
    config.resize(size.configImageSize);
    auto image = INLINE_PROF_SIZED(CUpti_Profiler_Host_GetConfigImage_Params);
    image.pHostObject = host;
    image.configImageSize = config.size();
    image.pConfigImage = config.data();
    cupti.require(cupti.config_image(&image), "cuptiProfilerHostGetConfigImage");
  }

  void end() {
    auto ended = INLINE_PROF_SIZED(CUpti_Profiler_Host_Deinitialize_Params);
    ended.pHostObject = host;
    static_cast<void>(cupti.host_end(&ended));
  }
};

namespace {

// From enabling to disabling: between works the GPU is as if nobody counted.
class Counting {
 public:
  explicit Counting(const CuptiFunctions& cupti) : cupti_(cupti) {
    auto enabled = INLINE_PROF_SIZED(CUpti_RangeProfiler_Enable_Params);
    if (cupti_.current_context(&enabled.ctx) != CUDA_SUCCESS)
      throw Skipped("no context to count in");
    cupti_.require(cupti_.enable(&enabled), "cuptiRangeProfilerEnable");
    profiler_ = enabled.pRangeProfilerObject;
  }
  ~Counting() {
    auto disabled = INLINE_PROF_SIZED(CUpti_RangeProfiler_Disable_Params);
    disabled.pRangeProfilerObject = profiler_;
    static_cast<void>(cupti_.disable(&disabled));
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  // Room for one range.
  [[nodiscard]] std::vector<std::uint8_t> room_for(std::vector<const char*>& metrics) const {
    auto size = INLINE_PROF_SIZED(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = metrics.data();
    size.numMetrics = metrics.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    cupti_.require(cupti_.data_size(&size), "cuptiRangeProfilerGetCounterDataSize");
    std::vector<std::uint8_t> data(size.counterDataSize);
    auto begun = INLINE_PROF_SIZED(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    begun.pRangeProfilerObject = profiler_;
    begun.counterDataSize = data.size();
    begun.pCounterData = data.data();
    cupti_.require(cupti_.begin_data(&begun), "cuptiRangeProfilerCounterDataImageInitialize");
    return data;
  }

  // The whole work is one range, and is run by us once for each pass.
  void set_config(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& data) const {
    auto set = INLINE_PROF_SIZED(CUpti_RangeProfiler_SetConfig_Params);
    set.pRangeProfilerObject = profiler_;
    set.configSize = config.size();
    set.pConfig = config.data();
    set.counterDataImageSize = data.size();
    set.pCounterDataImage = data.data();
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    cupti_.require(cupti_.set_config(&set), "cuptiRangeProfilerSetConfig");
  }

  // True after the last pass.
  [[nodiscard]] bool pass(const Work& work, cudaStream_t stream) const {
    auto started = INLINE_PROF_SIZED(CUpti_RangeProfiler_Start_Params);
    started.pRangeProfilerObject = profiler_;
    cupti_.require(cupti_.start(&started), "cuptiRangeProfilerStart");
    auto pushed = INLINE_PROF_SIZED(CUpti_RangeProfiler_PushRange_Params);
    pushed.pRangeProfilerObject = profiler_;
    pushed.pRangeName = "work";
    cupti_.require(cupti_.push(&pushed), "cuptiRangeProfilerPushRange");
    work.run(stream);
    check(cudaStreamSynchronize(stream), "a run that is counted");
    auto popped = INLINE_PROF_SIZED(CUpti_RangeProfiler_PopRange_Params);
    popped.pRangeProfilerObject = profiler_;
    cupti_.require(cupti_.pop(&popped), "cuptiRangeProfilerPopRange");
    auto stopped = INLINE_PROF_SIZED(CUpti_RangeProfiler_Stop_Params);
    stopped.pRangeProfilerObject = profiler_;
    cupti_.require(cupti_.stop(&stopped), "cuptiRangeProfilerStop");
    return stopped.isAllPassSubmitted != 0;
  }

  void decode() const {
    auto decoded = INLINE_PROF_SIZED(CUpti_RangeProfiler_DecodeData_Params);
    decoded.pRangeProfilerObject = profiler_;
    cupti_.require(cupti_.decode(&decoded), "cuptiRangeProfilerDecodeData");
    if (decoded.numOfRangeDropped > 0) throw Skipped("CUPTI dropped the range that was counted");
  }

 private:
  const CuptiFunctions& cupti_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

#undef INLINE_PROF_SIZED

constexpr int kMostPasses = 16;

}  // namespace

RangeCounters::RangeCounters(const Gpu& gpu)
    : gpu_(gpu), session_(std::make_unique<Session>(gpu.device())) {
  // What the privileges allow is only said here.
  const Counting tried(session_->cupti);
}

RangeCounters::~RangeCounters() = default;

std::vector<double> RangeCounters::count(const Work& work) {
  const Counting counting(session_->cupti);
  std::vector<std::uint8_t> data = counting.room_for(session_->metrics);
  counting.set_config(session_->config, data);
  int passes = 0;
  while (!counting.pass(work, gpu_.stream())) {
    if (++passes == kMostPasses)
      throw Skipped(fmt::format("counters need more than {} passes", kMostPasses));
  }
  counting.decode();
  return session_->values(data);
}

}  // namespace inline_prof::measure
