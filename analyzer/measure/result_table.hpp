// A table of measured times that grows while it is measured, and is whole on the disk at any time.
#pragma once

#include "measure/case.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::measure {

// The results of one case, by column; "time_us" among them.
using Cells = std::map<std::string, std::string, std::less<>>;

// Returns the columns behind those that tell the rows apart, in every table.
[[nodiscard]] const std::vector<std::string_view>& measured_columns();

enum class IfThere : std::uint8_t { kRefuse, kReplace, kResume };

class ResultTable {
 public:
  // `columns` tell the rows apart; `more` stand in front of the last measured one.  kResume keeps
  // the rows of an existing file.  Throws read::InputError if the file exists under kRefuse, or has
  // another header.
  ResultTable(std::filesystem::path file, const std::vector<std::string_view>& columns,
              IfThere if_there, const std::vector<std::string_view>& more = {});

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  [[nodiscard]] bool has(const read::Op& op) const;
  void add(const read::Op& op, const Cells& cells);

  // Remembers operations that stopped the GPU in a file beside the table, which kResume reads.
  // Throws std::runtime_error if it cannot be written.
  [[nodiscard]] bool has_stopped_gpu(const read::Op& op) const;
  void add_stopped_gpu(const read::Op& op);

  // Replaces the file by one with all rows, if there are new ones.  Throws std::runtime_error.
  void save();

 private:
  [[nodiscard]] std::vector<std::string> key_of(const read::Op& op) const;
  [[nodiscard]] std::filesystem::path stopped_file() const { return file_.string() + ".stopped"; }

  std::filesystem::path file_;
  std::vector<std::string> columns_;
  std::size_t key_columns_;
  std::vector<std::vector<std::string>> rows_;
  std::set<std::vector<std::string>> keys_;
  std::set<std::string> stopped_gpu_;
  bool is_changed_ = false;
};

// Returns the cell of an attribute: empty if the operation does not have it.  The column
// "operation", of replayed operations, has the whole one.
[[nodiscard]] std::string cell_of(const read::Op& op, std::string_view column);

}  // namespace inline_prof::measure
