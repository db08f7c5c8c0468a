#include "run/loader_list.hpp"

namespace inline_prof::run {

ListedLibrary library_in(std::string_view line) {
  constexpr std::string_view arrow_mark = " => ";
  const auto arrow = line.find(arrow_mark);
  if (arrow == std::string_view::npos) return {};
  const auto begin = line.find_first_not_of(" \t");
  const std::string_view place = line.substr(arrow + arrow_mark.size());
  return {.name = std::string(line.substr(begin, arrow - begin)),
          .place = std::string(place.substr(0, place.find(" (")))};
}

}  // namespace inline_prof::run
