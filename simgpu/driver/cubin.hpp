// What stands in a compiled image (ELF of a cubin, or a fat binary that holds one): kernels with
// their parameters, registers and shared memory, and variables.  The format is not documented by
// the vendor; the records read here are those that the binary tools print (CUDA Binary
// Utilities 13.0, cuobjdump -elf, "EIATTR_...").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace simgpu {

struct CubinKernel {
  std::string name;
  std::vector<std::size_t> parameter_bytes;
  int registers = 0;            // 0: not said
  int static_shared_bytes = 0;  // without what the system keeps for itself
  int max_threads = 1024;
};

struct Cubin {
  std::vector<CubinKernel> kernels;
  std::vector<std::pair<std::string, std::size_t>> variables;  // name, bytes
};

[[nodiscard]] bool looks_like_cubin(const void* image);

// Empty if there is no ELF in it that can be read: another machine, a compressed part.
[[nodiscard]] std::optional<Cubin> read_cubin(const void* image);

}  // namespace simgpu
