#include "model/families/kernel_family.hpp"

#include "kernel_families_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::model {
namespace {

FamilyForm form_of(const std::string& word) {
  static const std::map<std::string, FamilyForm> forms{{"movement", FamilyForm::kMovement},
                                                       {"product", FamilyForm::kProduct},
                                                       {"tiles", FamilyForm::kTiles}};
  return forms.at(word);
}

BlockElements block_of(const std::string& word) {
  static const std::map<std::string, BlockElements> blocks{
      {"unknown", BlockElements::kUnknown},
      {"threads_times_work", BlockElements::kThreadsTimesWork},
      {"vectors", BlockElements::kVectors},
      {"four", BlockElements::kFour},
      {"chunk", BlockElements::kChunk},
      {"threads", BlockElements::kThreads},
      {"one", BlockElements::kOne}};
  return blocks.at(word);
}

std::vector<KernelFamily> read_families() {
  const auto file = nlohmann::json::parse(kKernelFamilies);
  // The families' words stand in these.
  static const auto remedies = file.at("remedies").get<std::map<std::string, std::string>>();
  static const auto rows = file.at("families").get<std::vector<std::vector<std::string>>>();
  std::vector<KernelFamily> families;
  families.reserve(rows.size());
  for (const std::vector<std::string>& row : rows) {
    KernelFamily family{.word = row.at(0), .name = row.at(1), .operation = row.at(2)};
    if (row.size() > 3) family.form = form_of(row[3]);
    if (row.size() > 4) family.block = block_of(row[4]);
    if (row.size() > 5) family.remedy = remedies.at(row[5]);
    families.push_back(family);
  }
  return families;
}

}  // namespace

std::span<const KernelFamily> kernel_families() {
  static const std::vector<KernelFamily> families = read_families();
  return families;
}

const KernelFamily* kernel_family(std::string_view kernel_name) {
  const auto families = kernel_families();
  const auto found = std::ranges::find_if(families, [&](const KernelFamily& family) {
    return kernel_name.find(family.word) != std::string_view::npos;
  });
  return found == families.end() ? nullptr : &*found;
}

}  // namespace inline_prof::model
