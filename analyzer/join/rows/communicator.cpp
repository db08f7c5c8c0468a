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

bool is_point_to_point(const read::Op& op) {
  const std::string name = op.get<std::string>("op").value_or("");
  if (name == "send" || name == "recv" || name == "send_recv") return true;
  // Files of version 0.1 call any group of different calls so.
  return name == "group" && (op.source == "ncclSend" || op.source == "ncclRecv");
}

std::set<std::string> exchanges_of(const read::Profile& profile) {
  std::set<std::string> exchanges;
  for (const read::Event& event : profile.events) {
    if (is_collective(event) && is_point_to_point(*event.op))
      exchanges.insert(attribute_text(*event.op, "comm"));
  }
  exchanges.erase("");
  return exchanges;
}

std::string communicator_of(const read::Op& op) {
  const std::string comm = attribute_text(op, "comm");
  const std::string sequence = attribute_text(op, "sequence");
  return comm.empty() || sequence.empty() ? "" : fmt::format("{} {}", comm, sequence);
}

}  // namespace inline_prof::join
