#include "model/published/seer/block_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace inline_prof::model::seer {
namespace {

// k^2 C.
double filter_volume(const read::SeerLayer& layer) {
  const auto width = static_cast<double>(layer.filter_width);
  return width * width * static_cast<double>(layer.in_channels);
}

const Tree* need_tree(const Parameters& parameters, std::string name) {
  const Tree* tree = parameters.find_tree(name);
  if (tree == nullptr) throw std::invalid_argument(fmt::format("no tree {}", name));
  return tree;
}

}  // namespace

KernelType type_from_class(double value) {
  if (value == 0.0) return KernelType::kCompute;
  if (value == 1.0) return KernelType::kDram;
  if (value == 2.0) return KernelType::kUnderUtilised;
  throw std::invalid_argument(fmt::format("a tree of types answers {:g}, not 0, 1 or 2", value));
}

double instruction_variable(Algorithm algorithm, const read::SeerLayer& layer) {
  if (is_winograd(algorithm)) return std::ceil(static_cast<double>(layer.in_channels) / 8.0);
  return filter_volume(layer);
}

double read_scale(Algorithm algorithm, const read::SeerLayer& layer) {
  return is_winograd(algorithm) ? static_cast<double>(layer.in_channels) : filter_volume(layer);
}

std::array<double, 10> traffic_features(const read::SeerLayer& layer, double blocks) {
  const double volume = filter_volume(layer);
  const auto out_channels = static_cast<double>(layer.out_channels);
  const auto out_width = static_cast<double>(layer.out_width);
  return {static_cast<double>(layer.in_channels),
          static_cast<double>(layer.in_width),
          out_channels,
          out_width,
          static_cast<double>(layer.filter_width),
          static_cast<double>(layer.stride),
          blocks,
          volume,
          volume * out_channels,
          out_width * out_width * volume};
}

BlockModel::BlockModel(const Parameters& parameters, const Variant& variant)
    : variant_(&variant),
      instructions_(parameters.find(variant.name, "flop", 2)),
      compute_(parameters.find(variant.name, "compute", 2)),
      dram_(parameters.find(variant.name, "dram", 2)),
      resource_(parameters.find(variant.name, "resource", 4)),
      any_(parameters.find(variant.name, "any", 4)),
      type_(need_tree(parameters, fmt::format("ctree_{}", variant.name))),
      reads_(need_tree(parameters, fmt::format("rtree_dread_{}", variant.name))),
      writes_(need_tree(parameters, fmt::format("rtree_dwrite_{}", variant.name))) {
  if (instructions_ == nullptr) {
    throw std::invalid_argument(fmt::format("no coefficients flop of {}", variant.name));
  }
  const bool has_all = compute_ != nullptr && dram_ != nullptr && resource_ != nullptr;
  if (!has_all && any_ == nullptr) {
    throw std::invalid_argument(
        fmt::format("{} needs the coefficients compute, dram and resource, or any", variant.name));
  }
}

BlockPrediction BlockModel::predict(const read::SeerLayer& layer, double blocks,
                                    double resident_blocks) const {
  const auto features = traffic_features(layer, blocks);
  const std::span<const double> view(features);
  const auto traffic = is_winograd(variant_->algorithm) ? view.first(6) : view;

  BlockPrediction p;
  p.resident_blocks = resident_blocks;
  p.blocks = blocks;
  p.waves = std::ceil(blocks / resident_blocks);
  p.tail = (blocks - (p.waves - 1) * resident_blocks) / resident_blocks;
  p.type = type_from_class(type_->evaluate(view.first(7)));
  p.instructions =
      (*instructions_)[0] * instruction_variable(variant_->algorithm, layer) + (*instructions_)[1];
  p.read_ratio = reads_->evaluate(traffic);
  p.reads = p.read_ratio * read_scale(variant_->algorithm, layer);
  p.writes = writes_->evaluate(traffic);

  const double issued = p.waves * resident_blocks * p.instructions;  // G B I
  const auto under_utilised = [&](const std::vector<double>& u) {
    return blocks * (u[0] * p.reads + u[3] * p.writes) + u[1] * issued + u[2];
  };
  if (compute_ != nullptr) {
    p.compute_ms = p.waves * ((*compute_)[0] * resident_blocks * p.instructions + (*compute_)[1]);
  }
  if (dram_ != nullptr) p.dram_ms = (*dram_)[0] * blocks * (p.reads + p.writes) + (*dram_)[1];
  if (resource_ != nullptr) p.resource_ms = under_utilised(*resource_);

  const std::optional<double>& selected = p.type == KernelType::kCompute ? p.compute_ms
                                          : p.type == KernelType::kDram  ? p.dram_ms
                                                                         : p.resource_ms;
  p.main_ms = selected ? *selected : under_utilised(*any_);
  return p;
}

}  // namespace inline_prof::model::seer
