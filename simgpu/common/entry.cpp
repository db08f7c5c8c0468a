#include "common/entry.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace simgpu {
namespace {

// O_APPEND and one write per line: three libraries and several threads share the file.
int log_descriptor() {
  static const int descriptor = [] {
    const auto& file = process_settings().settings.log_file;
    if (file.empty()) return -1;
    return open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  return descriptor;
}

// Calls seen by each rule, in the order of the rules.
std::vector<std::atomic<std::uint64_t>>& rule_calls() {
  static auto* const calls =
      new std::vector<std::atomic<std::uint64_t>>(process_settings().settings.fail_rules.size());
  return *calls;
}

}  // namespace

void write_log(std::string line) {
  const int log = log_descriptor();
  if (log < 0) return;
  line += '\n';
  // A lost line is a failed test, which is what a full disk deserves.
  [[maybe_unused]] const auto written = write(log, line.data(), line.size());
}

Entry::Entry(const char* function, int failure) : function_(function), failure_(failure) {
  const auto& rules = process_settings().settings.fail_rules;
  for (std::size_t i = 0; i < rules.size() && rule_ == nullptr; ++i) {
    if (rules[i].function == function || rules[i].function == base_name(function)) {
      rule_ = &rules[i];
      calls_ = &rule_calls()[i];
    }
  }
  watched_ = rule_ != nullptr || log_descriptor() >= 0;
}

int Entry::begin_watched() const {
  write_log(function_);
  if (rule_ == nullptr) return 0;
  const auto call = calls_->fetch_add(1, std::memory_order_relaxed);
  if (call < rule_->after || call - rule_->after >= rule_->count) return 0;
  while (rule_->hangs)
    pause();
  return rule_->code.value_or(failure_);
}

bool fail_rules_are_known(const LibraryNames& names) {
  Dl_info self{};
  if (dladdr(names.symbol, &self) == 0) return false;
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const std::string file = self.dli_fname;
  bool good = true;
  for (const auto& rule : process_settings().settings.fail_rules) {
    if (!rule.function.starts_with(names.prefix) ||
        (names.but_not != nullptr && rule.function.starts_with(names.but_not))) {
      continue;
    }
    const std::string versioned = rule.function + "_v2";
    if (dlsym(library, rule.function.c_str()) == nullptr &&
        dlsym(library, versioned.c_str()) == nullptr) {
      std::fprintf(
          stderr, "simgpu: SIMGPU_FAIL=%s: expected a function of the simulated %s\n",
          rule.function.c_str(),
          names.called != nullptr ? names.called : file.substr(file.rfind('/') + 1).c_str());
      good = false;
    }
  }
  dlclose(library);
  return good;
}

}  // namespace simgpu
