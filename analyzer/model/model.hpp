// A model: a row of a table in, or an operation of a profile, and a time out.  One model is one
// folder or file with a class like this, and one row of registry.cpp (docs/how_to_add.md).
#pragma once

#include "model/prediction.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"
#include "read/table.hpp"

#include <inline_prof/op_kind.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::read {
struct LaunchShape;
struct Neighbours;
}  // namespace inline_prof::read

namespace inline_prof::model {

// Which form of a model: what its authors published, to the digit, or ours, fitted to measurements.
enum class Edition { kPublished, kCalibrated };
// The predictions that a report shows: the fitted ones, the published models', or the plain
// roofline's for everything; kAll: the fitted ones, and beside them those of each model.
enum class Models { kCalibrated, kRoofline, kPublished, kAll };
// Which edition of a published model's constants (analyzer/model/published/float8/README.md).
enum class ConstantSet { kOriginal, kMain };

enum class ColumnKind { kInteger, kNumber, kFlag, kText };

// A column that a model reads.  A cell outside [least, most] is refused with its line: most often
// it is right in another unit.
struct Column {
  std::string_view name;
  std::string_view unit;  // "GB/s", "bytes", "us"; "" for a count or a word
  ColumnKind kind = ColumnKind::kInteger;
  double least = 0.0;
  double most = std::numeric_limits<double>::max();
  bool is_required = true;  // else the column, or the cell, may be missing
  std::string_view meaning;
  bool nan_is_missing = false;  // "nan" is a cell without a number, as Octave and R write it
};

// A cell, already checked against its Column.
struct Cell {
  bool is_present = false;
  double number = 0.0;  // kInteger, kNumber; kFlag: 0 or 1
  std::string text;     // kText
};

// The cells of one row, by the names of their columns.  A column that the model does not read is as
// an empty cell: 0, false and "".
class Row {
 public:
  // One cell for each column.
  Row(std::span<const Cell> cells, std::span<const Column> columns)
      : cells_(cells), columns_(columns) {}

  [[nodiscard]] bool has(std::string_view name) const { return cell(name).is_present; }
  [[nodiscard]] double number(std::string_view name, double otherwise = 0) const {
    return has(name) ? cell(name).number : otherwise;
  }
  [[nodiscard]] std::int64_t whole(std::string_view name) const {
    return static_cast<std::int64_t>(number(name));
  }
  [[nodiscard]] bool flag(std::string_view name) const { return number(name) != 0; }
  [[nodiscard]] const std::string& text(std::string_view name) const { return cell(name).text; }
  // Returns the first of these columns that has a cell; the last one if none has.
  [[nodiscard]] std::string_view first_of(std::initializer_list<std::string_view> names) const;

 private:
  [[nodiscard]] const Cell& cell(std::string_view name) const;

  std::span<const Cell> cells_;
  std::span<const Column> columns_;
};

// The place of the column of this name; another name does not compile.
template <std::size_t N>
consteval std::size_t place_of(const std::array<Column, N>& columns, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (columns[i].name == name) return i;
  }
  throw "no column of this name";
}

// A value beside the time: a number, a word, or nothing.
using Part = std::variant<std::monostate, double, std::string>;

inline constexpr std::string_view kRefused = "refused";

struct RowPrediction {
  std::optional<double> time_us;  // empty: no prediction, and `reason` says why
  std::optional<double> lower_us;
  std::optional<double> upper_us;  // the 90 % interval; empty: the model has no error of its own
  std::string_view bound;          // "compute", "memory", "l2", "launch", ...; "" if not known
  std::string_view error;          // published: the exception that the original ends with;
                                   // kRefused: a column does not take the operation's value
  std::string reason;              // why there is no prediction
  std::vector<Part> parts;         // in the order of the model's parts(); may be shorter

  static RowPrediction none(std::string_view error, std::string reason) {
    RowPrediction prediction;
    prediction.error = error;
    prediction.reason = std::move(reason);
    return prediction;
  }
};

// The kernel that computes an operation, as far as it is known.
struct LaunchedKernel {
  std::string_view name;                         // may be empty
  double blocks = 0;                             // 0: not known
  const read::LaunchShape* launch = nullptr;     // null: not known
  const read::Neighbours* neighbours = nullptr;  // null: not known
};

// An operation of a profile.
struct Operation {
  const read::Op& op;
  const read::Machine& machine;  // the one that the model was made for
  LaunchedKernel kernel;
};

// An operation in the words of a model's columns.
struct OperationInputs {
  std::string_view part = {};  // of the prediction, which is the operation's time; "": all of it
  std::string reason = {};     // why the model does not know this operation; "" if it does
  bool is_another = false;     // what it does not know is no operation of its own at all
  std::vector<std::pair<std::string_view, Part>> values = {};  // by column

  void add(std::string_view column, Part value) { values.emplace_back(column, std::move(value)); }
  // Nothing is added where the operation does not have the attribute.
  void add_size(std::string_view column, const read::Op& op, std::string_view attribute);
  void add_text(std::string_view column, const read::Op& op, std::string_view attribute);
};

// A model, made for a machine and with its parameters.
struct Model {
  std::span<const Column> inputs;                        // that a row has to hold
  std::span<const std::string_view> parts = {};          // each becomes a column predicted_<name>
  std::function<RowPrediction(const Row&)> of_row = {};  // may throw what predict() catches
  std::vector<std::string> warnings = {};  // about the parameters, for the user, a sentence each
  // Returns nothing where the attributes say too little, or describe what the model does not know.
  std::function<std::optional<Prediction>(const Operation&)> of_operation = {};

  // Never a NaN or an infinity: what cannot be said is empty, with a reason.  NoAnswer and
  // std::invalid_argument are such reasons.
  [[nodiscard]] RowPrediction predict(const Row& row) const;
  [[nodiscard]] std::optional<Prediction> predict_operation(const Operation& operation) const {
    return of_operation ? of_operation(operation) : std::nullopt;
  }
  // Returns the row's cells and the prediction's parts, several lines without an end of line.
  [[nodiscard]] std::string explain(const Row& row) const;
};

// Thrown where a model has no answer: how the original ends, "" where there is none, and why.
struct NoAnswer {
  std::string_view error;
  std::string reason;
};

// The command line's choices beside the table.
struct ModelOptions {
  Edition edition = Edition::kPublished;
  ConstantSet constants = ConstantSet::kOriginal;
  std::optional<read::Machine> machine;
  std::filesystem::path params;                 // empty: none given
  std::map<std::string, std::string> settings;  // --set NAME=VALUE, names of ModelEntry::settings
  std::string input_name;  // the table's file, for models that look at its name
};

// A choice that holds for all rows.
struct Setting {
  std::string_view name;
  std::string_view otherwise;  // the value where nothing is set; "" if that is something special
  std::string_view meaning;
};

// The answer of a model that is judged by measures of its own.
struct Judgement {
  std::vector<std::string> columns;
  std::vector<std::vector<Part>> rows;
};

enum class Need { kNone, kOptional, kRequired };

// Which of a model's shipped sets of parameters an operation needs.
struct ParameterKey {
  std::string key = {};  // of the set MODEL_MACHINE_KEY; "" for MODEL_MACHINE
  // If no machine with the same compute units has the set: that of the machine most like it in
  // products of this type.  "": none.
  std::string type_of_relatives = {};
  std::map<std::string, std::string> settings = {};  // ModelOptions::settings
};

// A model as the programs know it before they make one.
struct ModelEntry {
  std::string_view name = {};
  std::string_view summary = {};        // one line
  std::vector<Edition> editions = {};   // the first one is meant where nothing is said
  std::span<const Column> inputs = {};  // of the first mode, for `prof-model list NAME`
  Need machine = Need::kNone;           // kNone: columns of the row say what the GPU can do
  Need params = Need::kNone;
  std::string_view params_meaning = {};  // what --params takes, e.g. "a table of measured products"
  std::string_view shares_params = {};   // the model whose parameters are its own, too
  bool has_constant_sets = false;        // whether --constants means something
  bool has_own_machine = false;          // in the published edition, whatever `machine` says
  std::vector<Setting> settings = {};
  // Throws read::InputError for files, std::invalid_argument for what the command line asks.
  std::function<Model(const ModelOptions& options)> make = {};
  // For models that have tests of their own: empty if these tables are none of them, and are judged
  // as any model's.  Throws as make().
  std::optional<Judgement> (*judge)(const ModelOptions& options,
                                    std::span<const read::Table> tables) = nullptr;
  // The kinds that it covers: by predict_operation() in the edition that is ours, in the published
  // one by predict() of a row of `inputs_of`.
  std::vector<OpKind> operations = {};
  // The first key that a set is shipped for decides; empty: the set without a key.
  std::function<std::vector<ParameterKey>(const Operation& operation)> parameter_keys = {};
  // The inputs of a row that stands for the operation, which is one of `operations`: those that the
  // operation, its kernel and the machine say.
  OperationInputs (*inputs_of)(const Operation& operation) = nullptr;
  bool operation_needs_inputs = false;  // true: in both editions, there is no predict_operation()
};

// Returns the value of a setting: what --set said, else `otherwise`.
[[nodiscard]] std::string setting(const ModelOptions& options, const std::string& name,
                                  const std::string& otherwise);

[[nodiscard]] constexpr std::string_view edition_name(Edition edition) {
  return edition == Edition::kPublished ? "published" : "calibrated";
}

}  // namespace inline_prof::model
