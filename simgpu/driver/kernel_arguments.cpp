#include "driver/kernel_arguments.hpp"

#include "driver/context.hpp"

namespace simgpu {

KernelArguments::KernelArguments(const Kernel& kernel, void* const* parameters,
                                 void* const* extra) {
  if (extra != nullptr) {
    copy_packed(extra);
    return;
  }
  if (parameters != nullptr && kernel.parameter_bytes) {
    for (const std::size_t bytes : *kernel.parameter_bytes) {
      const auto* value = static_cast<const char*>(parameters[values_.size()]);
      values_.emplace_back(value, value + bytes);
    }
  }
  for (auto& value : values_)
    pointers_.push_back(value.data());
  pointers_.push_back(nullptr);  // a kernel without parameters still has an array
}

void KernelArguments::copy_packed(void* const* extra) {
  is_packed_ = true;
  const char* source = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) source = static_cast<const char*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      buffer_bytes_ = *static_cast<const std::size_t*>(extra[1]);
    }
  }
  if (source != nullptr) buffer_.assign(source, source + buffer_bytes_);
  extra_ = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
            &buffer_bytes_, CU_LAUNCH_PARAM_END};
}

}  // namespace simgpu
