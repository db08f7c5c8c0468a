// Descriptors of the backend API: typed attributes, checked when the descriptor is finalized.
//
// Where documentation is silent, this follows what cuDNN 9.19 does on a machine without a GPU,
// where it makes and reads descriptors as on one (reference.md, "cuDNN").
#pragma once

#include "cudnn/vendor_cudnn.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace simgpu {

struct BackendDescriptor;
using DescriptorPointer = std::shared_ptr<const BackendDescriptor>;

struct BackendAttribute {
  cudnnBackendAttributeType_t type;
  std::int64_t count;
  std::vector<char> values;                 // of all types but descriptors
  std::vector<DescriptorPointer> children;  // of descriptors
};

struct BackendDescriptor {
  cudnnBackendDescriptorType_t type;
  bool is_finalized = false;
  std::map<int, BackendAttribute> attributes;

  [[nodiscard]] const BackendAttribute* find(cudnnBackendAttributeName_t name) const;

  // The first value; the attribute must be there.
  template <typename Value>
  [[nodiscard]] Value value(cudnnBackendAttributeName_t name) const {
    Value result{};
    std::memcpy(&result, find(name)->values.data(), sizeof result);
    return result;
  }
  [[nodiscard]] std::vector<std::int64_t> integers(cudnnBackendAttributeName_t name) const;
  [[nodiscard]] const BackendDescriptor& child(cudnnBackendAttributeName_t name) const {
    return *find(name)->children.front();
  }

  template <typename Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t value_type,
           const std::vector<Value>& values) {
    BackendAttribute attribute{value_type, static_cast<std::int64_t>(values.size()), {}, {}};
    attribute.values.resize(values.size() * sizeof(Value));
    std::memcpy(attribute.values.data(), values.data(), attribute.values.size());
    attributes[name] = std::move(attribute);
  }
};

// A program's handle.  The descriptor lives as long as another one refers to it.
struct BackendHandle {
  std::shared_ptr<BackendDescriptor> descriptor;
};

// One row per attribute that a descriptor type has.
struct AttributeRule {
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t max_count;
  enum Use { kRequired, kOptional, kReadOnly } use;
};
[[nodiscard]] const AttributeRule* find_rule(cudnnBackendDescriptorType_t owner,
                                             cudnnBackendAttributeName_t name);
[[nodiscard]] bool is_known(cudnnBackendDescriptorType_t type);
// Fails if a required attribute is not set, or a child not finalized.
void check_attributes(const BackendDescriptor& descriptor);

// Bytes of a value; 0 for descriptors and unknown types.
[[nodiscard]] std::size_t size_of(cudnnBackendAttributeType_t type);

// Checks the descriptor by its type, and sets the attributes that only the library sets.
void finalize(BackendDescriptor& descriptor);

}  // namespace simgpu
