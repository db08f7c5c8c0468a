#include "read/json_tree.hpp"

namespace inline_prof::read {
namespace {

using base::JsonError;

std::string byte_found(char byte) {
  const bool is_printable = byte > ' ' && byte < 0x7f;
  return is_printable ? fmt::format("{}", byte)
                      : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(byte));
}

std::string complaint(std::string_view text, const JsonError& error) {
  switch (error.kind) {
    case JsonError::Kind::kEndsEarly:
      return fmt::format("byte {}: not valid JSON: the file ends too early", text.size() + 1);
    case JsonError::Kind::kNumber:
      return error.pointer + ": the number is too large for a 64-bit floating-point value";
    case JsonError::Kind::kTwice:
      return error.pointer + ": appears twice in its object";
    case JsonError::Kind::kTooDeep:
      return fmt::format("{}: nested deeper than {} levels", error.pointer,
                         base::JsonRules().max_depth);
    case JsonError::Kind::kTooMany:
    case JsonError::Kind::kSyntax:
      break;
  }
  return fmt::format("byte {}: not valid JSON: found {}, expected {}", error.end,
                     byte_found(text[error.end - 1]), error.expected);
}

}  // namespace

base::JsonValue parse_json(std::string_view text, const std::string& label) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw InputError(fmt::format("{}: byte 1: empty, expected JSON", label));
  try {
    return base::parse_json(text);
  } catch (const JsonError& error) {
    throw InputError(fmt::format("{}: {}", label, complaint(text, error)));
  }
}

double duration_us(const TreeNode& node) {
  const double time = node.number();
  if (!(time >= 0) || time > 1e16) node.fail("expected a time from 0 to 1e16 us");
  return time;
}

}  // namespace inline_prof::read
