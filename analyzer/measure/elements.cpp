#include "measure/case.hpp"
#include "measure/kernels.hpp"

#include <fmt/format.h>

namespace inline_prof::measure {

Element element_of(std::string_view type) {
  if (type == "f32" || type == "tf32") return Element::kF32;
  if (type == "f16") return Element::kF16;
  if (type == "bf16") return Element::kBf16;
  if (type == "f8e4m3") return Element::kF8e4m3;
  throw Skipped(fmt::format("type {} is not measured", type));
}

std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::kF32:
      return 4;
    case Element::kF16:
    case Element::kBf16:
      return 2;
    case Element::kF8e4m3:
      return 1;
  }
  return 0;
}

}  // namespace inline_prof::measure
