// The device an example runs on, and copies to and from it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

namespace example {

// Makes the device the current one; returns its name.
std::string select_device(int device_id);

// The project's simulated GPU runs no kernels: results are not computed there.  To be asked once
// the runtime has been called.
bool is_simulated();

// Waits for the copy, and for all that the stream held before it.
void copy_on(cudaStream_t stream, const void* from, void* to, std::size_t bytes);

template <typename T>
void upload(cudaStream_t stream, const std::vector<T>& from, T* to) {
  copy_on(stream, from.data(), to, from.size() * sizeof(T));
}

}  // namespace example
