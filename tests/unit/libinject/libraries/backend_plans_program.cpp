// Prints a line for each convolution that the injected library reads from a graph, by the library
// that is loaded, the vendor's or the simulated one. Neither needs a GPU for it.
#include "cudnn_graph.hpp"
#include "libraries/backend_plans.hpp"

#include <dlfcn.h>
#include <iostream>
#include <variant>

namespace {

using cudnn_graph::Descriptor;
using cudnn_graph::Direction;
using cudnn_graph::Shape;
namespace record = inline_prof::record;

struct Words {
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const std::string& text) const { return text; }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "(something else)";
  }
};

// The library's own: the program's address of it is its jump table's.
void* set_attribute() {
  Dl_info library{};
  void* known = nullptr;
  void* loaded = dlopen("libcudnn.so.9", RTLD_NOW);
  if (loaded != nullptr) known = dlsym(loaded, "cudnnBackendSetAttribute");
  return known != nullptr && dladdr(known, &library) != 0 ? known : nullptr;
}

void show(const Direction& direction, const Shape& shape) {
  namespace libraries = inline_prof::libraries;
  const Descriptor how = cudnn_graph::convolution_settings();
  const Descriptor operation = cudnn_graph::convolution(direction, shape);
  cudnnBackendDescriptor_t given = how.raw();
  libraries::note_descriptors_set(set_attribute(), operation.raw(), direction.convolution, &given,
                                  1);
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = operation.raw();
  graph.child(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  libraries::note_descriptors_set(set_attribute(), graph.raw(), CUDNN_ATTR_OPERATIONGRAPH_OPS, &raw,
                                  1);
  const auto op = libraries::operation_of_plan(graph.raw());
  std::cout << direction.name << ", groups " << shape.groups << ':';
  if (!op) std::cout << " no operation";
  for (const auto& [name, value] : op ? op->attributes : decltype(op->attributes){})
    std::cout << ' ' << name << ' ' << std::visit(Words{}, value);
  std::cout << '\n';
  // Another descriptor may get the address.
  libraries::forget_descriptor(operation.raw());
  libraries::forget_descriptor(graph.raw());
}

}  // namespace

int main() {
  try {
    std::cout << "cuDNN " << cudnnGetVersion() << '\n';
    for (const Direction& direction : cudnn_graph::kDirections) {
      show(direction, Shape{});
      show(direction, Shape{.groups = 2});
    }
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << '\n';
    return 1;
  }
  return 0;
}
