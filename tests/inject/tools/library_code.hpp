// The addresses of the injected library's code, by which a neighbour knows who calls it.
#pragma once

#include <cstdint>
#include <cstring>
#include <link.h>

struct LibraryCode {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // 0: no such library is loaded

  [[nodiscard]] bool contains(const void* address) const {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    return place >= begin && place < end;
  }
};

inline LibraryCode code_of_library() {
  LibraryCode code;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* found) {
        if (std::strstr(object->dlpi_name, "libinline_prof.so") == nullptr) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          const auto begin = object->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
            *static_cast<LibraryCode*>(found) = {begin, begin + segment.p_memsz};
        }
        return 1;
      },
      &code);
  return code;
}
