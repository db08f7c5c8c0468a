#include "join/rows/communicator.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <string_view>

namespace inline_prof::join {
namespace {

// A word or a number, whichever the file has.
std::string attribute_text(const read::Op& op, std::string_view name) {
  if (const auto text = op.get<std::string>(name)) return *text;
  if (const auto number = op.get<std::int64_t>(name)) return fmt::format("{}", *number);
  return {};
}

}  // namespace

bool is_collective(const read::Event& event) {
  return event.op && event.op->kind == op_kind_name(OpKind::kCollective);
}

std::string communicator_of(const read::Op& op) {
  const std::string comm = attribute_text(op, "comm");
  const std::string sequence = attribute_text(op, "sequence");
  return comm.empty() || sequence.empty() ? "" : fmt::format("{} {}", comm, sequence);
}

}  // namespace inline_prof::join
