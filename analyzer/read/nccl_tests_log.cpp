#include "read/nccl_tests_log.hpp"

#include "read/json_tree.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace inline_prof::read {
namespace {

// The places of the words of one half of a row.
struct HalfPlaces {
  std::size_t time = 0;
  std::size_t algorithm_bandwidth = 0;
  std::size_t bus_bandwidth = 0;
  std::size_t wrong = 0;
};

// The places of a row's words, from the line that names them.
struct Places {
  std::size_t type = 2;
  std::optional<std::size_t> operation;  // redop
  std::vector<HalfPlaces> halves;
  std::size_t words = 0;
};

// The names that nccl-tests has used for a half's last column.
bool is_wrong_column(std::string_view name) {
  return name == "#wrong" || name == "wrong" || name == "error";
}

std::optional<Places> places_of(const std::vector<std::string_view>& names) {
  Places places;
  places.words = names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "type") places.type = i;
    if (names[i] == "redop") places.operation = i;
    if (names[i] == "time" || names[i] == "cputime") {
      places.halves.push_back(
          {.time = i, .algorithm_bandwidth = 0, .bus_bandwidth = 0, .wrong = 0});
    }
    if (places.halves.empty()) continue;
    HalfPlaces& half = places.halves.back();
    if (names[i] == "algbw") half.algorithm_bandwidth = i;
    if (names[i] == "busbw") half.bus_bandwidth = i;
    if (is_wrong_column(names[i])) half.wrong = i;
  }
  const bool is_whole =
      !places.halves.empty() && std::ranges::all_of(places.halves, [](const HalfPlaces& half) {
        return half.algorithm_bandwidth > 0 && half.bus_bandwidth > 0;
      });
  return is_whole ? std::optional(places) : std::nullopt;
}

class LogParser {
 public:
  explicit LogParser(const std::string& label) : label_(label) {}

  void take(const TextLine& line) {
    if (line.text.starts_with('#')) {
      take_comment(line);
    } else if (!line.text.empty()) {
      const auto found = words(line.text);
      if (!found.empty() && std::isdigit(static_cast<unsigned char>(found[0][0])) != 0) {
        take_row(line.number, found);
      }
      // Everything else is the launcher's: mpirun's messages, echoed commands.
    }
  }

  [[nodiscard]] std::vector<NcclTest> tests() && { return std::move(tests_); }

 private:
  NcclTest& begin_test() {
    places_.reset();
    return tests_.emplace_back();
  }

  void take_comment(const TextLine& line) {
    const auto found = words(line.text.substr(1));
    if (found.empty()) return;
    const auto starts_with = [&](std::initializer_list<std::string_view> start) {
      return found.size() >= start.size() && std::equal(start.begin(), start.end(), found.begin());
    };
    if (starts_with({"Collective", "test", "starting:"}) && found.size() > 3) {
      std::string_view name = found[3];
      if (name.ends_with("_perf")) name.remove_suffix(5);
      begin_test().name = name;
    } else if (starts_with({"nThread"})) {
      // Versions without a starting line begin a test here.
      if (tests_.empty() || !tests_.back().rows.empty()) begin_test();
    } else if (starts_with({"Rank"})) {
      // "Rank  0 Group  0 Pid 4175036 on cnode3-002 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3"
      const bool has_device = std::ranges::find(found, "device") != found.end();
      if (has_device && !tests_.empty()) ++tests_.back().ranks;
    } else if (starts_with({"size", "count"})) {
      places_ = places_of(found);
      if (!places_) fail_at_line(label_, line.number, "expected columns time, algbw and busbw");
    }
  }

  // The places in a row of `count` words.  Old versions leave redop and root blank where a test has
  // none; what stands behind moves to the left.
  [[nodiscard]] Places places_in(std::size_t line, std::size_t count) const {
    if (!places_) fail_at_line(label_, line, "a row before the line that names the columns");
    Places places = *places_;
    if (count >= places.words) return places;
    const std::size_t missing = places.words - count;
    if (!places.operation || missing > 2) {
      fail_at_line(label_, line,
                   fmt::format("expected {} words in a row, found {}", places.words, count));
    }
    for (HalfPlaces& half : places.halves) {
      half.time -= missing;
      half.algorithm_bandwidth -= missing;
      half.bus_bandwidth -= missing;
      half.wrong -= std::min(half.wrong, missing);
    }
    return places;
  }

  double number_at(std::size_t line, const std::vector<std::string_view>& found, std::size_t place,
                   std::string_view column) const {
    const auto value = number_of(found[place]);
    if (!value || *value < 0) {
      fail_at_cell(label_, line, column,
                   fmt::format("expected a number >= 0, found \"{}\"", found[place]));
    }
    return *value;
  }

  NcclTiming timing_at(std::size_t line, const std::vector<std::string_view>& found,
                       const HalfPlaces& half) const {
    return {.time_us = number_at(line, found, half.time, "time"),
            .algorithm_gb_per_s = number_at(line, found, half.algorithm_bandwidth, "algbw"),
            .bus_gb_per_s = number_at(line, found, half.bus_bandwidth, "busbw"),
            .wrong = half.wrong == 0 ? std::nullopt : number_of(found[half.wrong])};
  }

  void take_row(std::size_t line, const std::vector<std::string_view>& found) {
    if (tests_.empty() || found.size() < 8) return;  // a launcher's line that begins with a digit
    const Places places = places_in(line, found.size());
    NcclRow row;
    row.bytes = number_at(line, found, 0, "size");
    row.type = found[places.type];
    row.out_of_place = timing_at(line, found, places.halves[0]);
    if (places.halves.size() > 1) row.in_place = timing_at(line, found, places.halves[1]);
    tests_.back().rows.push_back(std::move(row));
  }

  const std::string& label_;
  std::optional<Places> places_;
  std::vector<NcclTest> tests_;
};

NcclTiming timing_of(const TreeNode& node) {
  const TreeNode time = node.has("time") ? node.member("time") : node.member("cpu_time");
  NcclTiming timing{.time_us = time.number(),
                    .algorithm_gb_per_s = node.member("alg_bw").number(),
                    .bus_gb_per_s = node.member("bus_bw").number(),
                    .wrong = {}};
  if (!(timing.time_us >= 0)) time.fail("expected a number >= 0");
  if (node.has("nwrong") && !node.member("nwrong").is_null() && !node.member("nwrong").is_text()) {
    timing.wrong = node.member("nwrong").number();
  }
  return timing;
}

std::vector<NcclTest> parse_json_log(const std::string& text, const std::string& label) {
  const base::JsonValue document = parse_json(text, label);
  const TreeNode root(document, label);
  NcclTest test;
  root.member("results").each_element([&](const TreeNode& node) {
    NcclRow row;
    row.bytes = node.member("size").number();
    row.type = node.member("type").text();
    row.out_of_place = timing_of(node.member("out_of_place"));
    if (node.has("in_place")) row.in_place = timing_of(node.member("in_place"));
    test.rows.push_back(std::move(row));
  });
  return {std::move(test)};
}

}  // namespace

std::vector<NcclTest> parse_nccl_tests(const std::string& text, const std::string& label) {
  if (text.starts_with('{')) return parse_json_log(text, label);
  LogParser parser(label);
  for (const TextLine& line : text_lines(text))
    parser.take(line);
  std::vector<NcclTest> tests = std::move(parser).tests();
  if (tests.empty()) {
    throw InputError(
        fmt::format("{}: no line \"# Collective test starting\" or \"# nThread\": not "
                    "a log of nccl-tests",
                    label));
  }
  return tests;
}

}  // namespace inline_prof::read
