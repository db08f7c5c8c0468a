// Makes the calls of a recording (tests/data/recordings) again, on the driver API: kernels of the
// same names, graphs of as many, streams, copies and waits.
//
//   host_recording FILE [--pause=US] [--streams-are-devices] [--in-graphs=KERNEL]
//
// Sleeps for US microseconds after each thousand calls, where the run's time matters.  A number of
// a stream may stand for the default stream of the device of this number.  Graphs are of a kernel
// of their own, unless one of the recording's is named by its number. Prints "host ok" if every
// call succeeded.
#include "host.hpp"
#include "launch_recording.hpp"

#include <algorithm>
#include <climits>

namespace {

using inline_prof::schedule::test::RecordedCall;
using inline_prof::schedule::test::Recording;

class Replay {
 public:
  Replay(const Recording& recording, bool streams_are_devices, std::size_t in_graphs)
      : streams_are_devices_(streams_are_devices), in_graphs_(in_graphs) {
    for (const std::string& name : recording.kernels)  // some were cut to the same text
      names_.push_back(name + "_" + std::to_string(names_.size()));
    names_.emplace_back("node");
    go_to_device(0);
    for (const std::uint32_t nodes : recording.graphs)
      graphs_.push_back(graph_of(nodes));
    CHECK(cuMemAlloc(&memory_, kBytes));
    CHECK(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    if (!streams_are_devices_) stream_ = stream(0);
  }

  void call(const RecordedCall& call) {
    switch (call.kind) {
      case '@':
        if (streams_are_devices_) {
          go_to_device(call.number);
        } else {
          stream_ = stream(call.number);
        }
        break;
      case 'k':
        host::launch(kernels_.at(call.number), stream_, 16, 128);
        break;
      case 'g':
        CHECK(cuGraphLaunch(graphs_.at(call.number), stream_));
        break;
      case 'h':
        CHECK(cuMemcpyHtoDAsync(memory_, numbers_, kBytes, stream_));
        break;
      case 'd':
        CHECK(cuMemcpyDtoHAsync(numbers_, memory_, kBytes, stream_));
        break;
      case 'D':
        CHECK(cuMemcpyDtoH(numbers_, memory_, kBytes));
        break;
      case 's':
        CHECK(cuStreamSynchronize(stream_));
        break;
      case 'e':
        CHECK(cuEventSynchronize(event_));
        break;
      case 'c':
        CHECK(cuCtxSynchronize());
        break;
      default:  // marks and allocations
        break;
    }
  }

 private:
  static constexpr std::size_t kBytes = 64;

  void go_to_device(std::size_t number) {
    host::open_context(static_cast<int>(number));
    if (kernels_of_.size() <= number) kernels_of_.push_back(host::load_kernels(names_));
    kernels_ = kernels_of_[number];
  }

  CUstream stream(std::size_t number) {
    while (streams_.size() <= number)
      streams_.push_back(host::open_stream());
    return streams_[number];
  }

  CUgraphExec graph_of(std::size_t nodes) {
    CUstream stream = this->stream(0);
    return host::instantiated(host::captured(stream, [&] {
      for (std::size_t i = 0; i < nodes; ++i)
        host::launch(kernels_[std::min(in_graphs_, kernels_.size() - 1)], stream, 16, 128);
    }));
  }

  bool streams_are_devices_;
  std::size_t in_graphs_;
  std::vector<std::string> names_{};
  std::vector<std::vector<CUfunction>> kernels_of_{};  // by device
  std::vector<CUfunction> kernels_{};
  std::vector<CUgraphExec> graphs_{};
  std::vector<CUstream> streams_{};
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr memory_ = 0;
  unsigned char numbers_[kBytes] = {};
};

}  // namespace

int main(int argc, char** argv) {
  host::Arguments arguments(argc, argv);
  const auto pause_us = static_cast<useconds_t>(arguments.number("--pause", 0));
  const bool streams_are_devices = arguments.has("--streams-are-devices");
  const auto in_graphs = static_cast<std::size_t>(arguments.number("--in-graphs", INT_MAX));
  if (arguments.left().size() != 1) host::fail("expected a recording", 2);
  const Recording recording = inline_prof::schedule::test::read_recording(arguments.left().front());
  Replay replay(recording, streams_are_devices, in_graphs);
  std::size_t calls = 0;
  for (const RecordedCall& call : recording.calls) {
    replay.call(call);
    if (pause_us != 0 && ++calls % 1000 == 0) usleep(pause_us);
  }
  return host::finish();
}
