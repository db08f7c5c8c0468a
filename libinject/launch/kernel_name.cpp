#include "launch/kernel_name.hpp"

#include "sys/large_stack.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace inline_prof::launch {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

// Returns the start of the parameter list: the first '(' outside <> that opens no part of the name.
std::size_t end_of_name(std::string_view text) {
  int angles = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (text.substr(i).starts_with("operator()")) {
      i += 9;
    } else if (text[i] == '<') {
      ++angles;
    } else if (text[i] == '>' && (i == 0 || text[i - 1] != '-')) {
      --angles;
    } else if (text[i] == '(' && angles == 0) {
      return i;
    }
  }
  return text.size();
}

// Only template instances have a return type: everything before the last blank outside <> and ().
std::size_t begin_of_name(std::string_view name) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (c == ' ' && depth == 0) begin = i + 1;
  }
  return begin;
}

}  // namespace

std::string readable_kernel_name(std::string_view mangled) {
  std::string name(mangled);
  if (mangled.starts_with("_Z")) {
    int status = 0;
    char* text = nullptr;
    // It takes some 100 bytes of stack for each letter.
    sys::on_large_stack(
        [&] { text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status); });
    const std::unique_ptr<char, decltype(&std::free)> demangled(text, &std::free);
    if (status == 0 && demangled) {
      const std::string_view whole(demangled.get());
      const std::string_view without_parameters = whole.substr(0, end_of_name(whole));
      name = without_parameters.substr(begin_of_name(without_parameters));
    }
  }
  std::string readable;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != ' ') {
      readable.push_back(name[i]);
    } else if (!readable.empty() && readable.back() != ',' && readable.back() != '>') {
      readable.push_back('_');  // "unsigned int"; after a comma and in "> >" the blank just goes
    }
  }
  return readable.empty() ? "kernel_without_a_name" : readable;
}

}  // namespace inline_prof::launch
