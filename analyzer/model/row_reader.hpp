// Takes the columns that a model reads out of a table, and checks every cell.
#pragma once

#include "model/model.hpp"
#include "read/table.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::model {

class RowReader {
 public:
  // `constants` are values of columns that the table does not have, by the column's name.
  // Throws read::InputError if a required column is in neither.  Table and inputs must outlive the
  // reader.
  RowReader(const read::Table& table, std::span<const Column> inputs,
            const std::map<std::string, std::string>& constants = {});

  // Returns the row, until the next call.  Throws read::InputError "FILE: line 7, column m:
  // expected ...".
  [[nodiscard]] Row read(std::size_t row);
  // Returns the cells of the row that was read last.
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

 private:
  void read_cell(std::size_t row, std::size_t input);

  const read::Table* table_;
  std::span<const Column> inputs_;
  std::vector<std::optional<std::size_t>> columns_;  // of the table; empty: a constant, or nothing
  std::vector<Cell> cells_;
};

// Predicts a row of these inputs exactly as one of a table that has them as columns.  What the
// model does not read is left out; what it lacks or refuses is the reason why there is no
// prediction, in words for a user: "without num_sm", "bag_size: expected an integer from 0 to 1e6,
// found -1".
[[nodiscard]] RowPrediction predict_inputs(const Model& model, const OperationInputs& inputs);

// "an integer from 1 to 65536", "a number of GB/s >= 1": what `column` may hold.
[[nodiscard]] std::string expectation(const Column& column);

// Refuses a table whose column `gpu` or `machine` names another machine in some row: times of one
// GPU say nothing about another.  Throws read::InputError.
void check_same_machine(const read::Table& table, const read::Machine& machine);

// Returns a sentence about rows that are a copy of an earlier one, which would count twice; "" if
// there is none.
[[nodiscard]] std::string repeated_rows(const read::Table& table);

}  // namespace inline_prof::model
