// The entry of every fuzz target.
#include "property.hpp"
#include "schedule/error.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inline_prof;
  try {
    fuzz::check({reinterpret_cast<const char*>(data), size});
  } catch (const read::InputError&) {
  } catch (const schedule::ScheduleError&) {
  }
  return 0;
}
