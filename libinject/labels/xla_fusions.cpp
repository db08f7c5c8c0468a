#include "labels/xla_fusions.hpp"

#include "sys/locked.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inline_prof::labels {
namespace {

constexpr std::string_view kModuleTitle = "XlaModule:#";
constexpr std::string_view kInstructionTitle = "Thunk:#";

// Half of the fusions that are kept.  4096: a step of a hundred layers has some 2000.
constexpr std::size_t kMostFusions = 4096;

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The text between `begin` and the next `end`; empty if there is none.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  const std::size_t length = text.find(end);
  return length == std::string_view::npos ? std::string_view{} : text.substr(0, length);
}

// Cuts off and returns what comes before `mark`, or everything.
std::string_view cut_at(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + mark.size());
  return before;
}

// --- the text of a computation

// The number with which the text begins; 0 if there is none.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct Array {
  std::string_view type;
  std::vector<std::int64_t> sides;

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t product = 1;
    for (const std::int64_t side : sides)
      product *= side;
    return product;
  }
  [[nodiscard]] std::int64_t bytes() const {
    const std::size_t digit = type.find_first_of("0123456789");
    if (digit == std::string_view::npos) return elements();  // pred
    return (elements() * number_in(type.substr(digit)) + 7) / 8;
  }
};

std::vector<std::int64_t> numbers(std::string_view list) {
  std::vector<std::int64_t> all;
  while (!list.empty())
    all.push_back(number_in(cut_at(list, ",")));
  return all;
}

// The arrays of a shape: one, or those of a tuple, as in "(f32[8,128]{1,0}, s32[])".
std::vector<Array> arrays_of(std::string_view shape) {
  std::vector<Array> all;
  for (std::size_t open = shape.find('['); open != std::string_view::npos;
       open = shape.find('[', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && std::isalnum(static_cast<unsigned char>(shape[begin - 1])) != 0)
      --begin;
    const std::size_t close = std::min(shape.find(']', open), shape.size());
    all.push_back(
        {shape.substr(begin, open - begin), numbers(shape.substr(open + 1, close - open - 1))});
  }
  return all;
}

// The place behind the bracket that closes the one with which `text` begins.
std::size_t end_of_brackets(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

struct Instruction {
  bool is_root = false;
  std::string_view name;
  std::vector<Array> results;
  std::string_view opcode;
  std::vector<std::string_view> operands;
  std::string_view attributes;
};

// "ROOT add.1 = f32[8]{0} add(a, b), metadata={...}"
Instruction instruction_of(std::string_view line) {
  Instruction found;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  found.is_root = line.starts_with("ROOT ");
  if (found.is_root) line.remove_prefix(5);
  found.name = cut_at(line, " = ");
  const std::size_t shape =
      line.starts_with('(') ? end_of_brackets(line) : std::min(line.find(' '), line.size());
  found.results = arrays_of(line.substr(0, shape));
  line.remove_prefix(std::min(shape + 1, line.size()));
  found.opcode = line.substr(0, line.find('('));
  line.remove_prefix(found.opcode.size());
  const std::size_t end = end_of_brackets(line);
  found.attributes = line.substr(end);
  std::string_view operands = line.substr(0, end);
  if (operands.size() >= 2) operands = operands.substr(1, operands.size() - 2);
  while (!operands.empty()) {
    std::string_view operand = cut_at(operands, ", ");
    // Every fifth one has "/*index=5*/" in front.
    const std::size_t comment = operand.find("*/");
    found.operands.push_back(operand.substr(comment == std::string_view::npos ? 0 : comment + 2));
  }
  return found;
}

struct HloValue {
  Array array;
  std::int64_t bytes = 0;      // written if it is a result
  std::string_view parameter;  // whose memory it is; empty: not a parameter's
};

struct HloParameter {
  std::int64_t bytes = 0;
  std::int64_t picked_bytes = 0;  // by slices and gathers
  bool is_read_whole = false;
};

// Adds up what a fusion reads and writes: each parameter and each result once, of slices and
// gathers what they pick, of updates in place what they put in.
class FusionReader {
 public:
  void add(const Instruction& line) {
    if (line.results.empty() && line.opcode != "tuple") return;
    HloValue value;
    for (const Array& array : line.results) {
      value.bytes += array.bytes();
      elements_ = std::max(elements_, array.elements());
    }
    if (!line.results.empty()) value.array = line.results.front();
    if (line.opcode == "parameter") {
      value.parameter = line.name;
      parameters_[line.name].bytes = value.bytes;
    } else if (line.opcode == "bitcast" && line.operands.size() == 1) {
      const HloValue& same = values_[line.operands[0]];
      value.parameter = same.parameter;
      value.bytes = same.bytes;
    } else {
      use_operands(line, value);
    }
    if (line.opcode == "dot" && line.operands.size() == 2) add_dot(line);
    if (line.is_root) {
      written_ = value.bytes;
      result_ = value.array.type;
    }
    values_[line.name] = std::move(value);
  }

  [[nodiscard]] record::Op op(std::string_view name) const {
    // Fusions alike have numbers behind their names.
    const std::string_view alike = name.substr(0, name.find_last_not_of("_0123456789") + 1);
    record::Op op{.kind = {}, .attributes = {}, .source = std::string("xla::").append(alike)};
    if (!product_.empty()) {
      op.kind = op_kind_name(OpKind::kGemm);
      op.attributes = product_;
      op.attributes.emplace_back("c_type", number_type(result_));
      return op;
    }
    std::int64_t read = 0;
    for (const auto& [parameter, use] : parameters_)
      read += use.is_read_whole ? use.bytes : std::min(use.bytes, use.picked_bytes);
    const bool reduces = name.find("reduce") != std::string_view::npos;
    op.kind = op_kind_name(OpKind::kMemory);
    op.attributes = {{"read_bytes", read},
                     {"write_bytes", written_},
                     {"flops", elements_},
                     {"class", std::string(reduces ? "fused reduction" : "fused")}};
    return op;
  }

 private:
  void use_operands(const Instruction& line, HloValue& value) {
    constexpr std::array<std::string_view, 3> picks{"gather", "dynamic-slice", "slice"};
    constexpr std::array<std::string_view, 2> updates{"scatter", "dynamic-update-slice"};
    const bool updates_first = is_one_of(updates, line.opcode) && line.operands.size() > 2;
    for (std::size_t i = 0; i < line.operands.size(); ++i) {
      const auto parameter = parameters_.find(values_[line.operands[i]].parameter);
      if (parameter == parameters_.end() || (i == 0 && updates_first)) continue;
      if (i == 0 && is_one_of(picks, line.opcode)) {
        parameter->second.picked_bytes += value.bytes;
      } else {
        parameter->second.is_read_whole = true;
      }
    }
    if (updates_first)
      value.bytes =
          values_[line.operands[line.opcode == "scatter" ? line.operands.size() - 1 : 1]].bytes;
    if (line.opcode != "tuple") return;
    value.bytes = 0;
    for (const std::string_view operand : line.operands)
      value.bytes += values_[operand].bytes;
  }

  static std::string number_type(std::string_view type) {
    if (type.starts_with("f8e4m3")) return "f8e4m3";
    if (type.starts_with("f8e5m2")) return "f8e5m2";
    std::string name(type);
    if (name.starts_with('s')) name[0] = 'i';
    return name;
  }

  void add_dot(const Instruction& line) {
    const Array& a = values_[line.operands[0]].array;
    const Array& b = values_[line.operands[1]].array;
    const auto sides = [&](const char* which) {
      return numbers(between(line.attributes, std::string(which) + "={", "}"));
    };
    const auto product = [](const Array& of, const std::vector<std::int64_t>& which) {
      std::int64_t all = 1;
      for (const std::int64_t i : which)
        all *= i < static_cast<std::int64_t>(of.sides.size())
                   ? of.sides[static_cast<std::size_t>(i)]
                   : 1;
      return std::max<std::int64_t>(all, 1);
    };
    const auto of_a = sides("lhs_contracting_dims");
    const auto of_b = sides("rhs_contracting_dims");
    const std::int64_t batch = product(a, sides("lhs_batch_dims"));
    const std::int64_t k = product(a, of_a);
    const auto is_last = [](const Array& of, const std::vector<std::int64_t>& which) {
      return !which.empty() && which.back() + 1 == static_cast<std::int64_t>(of.sides.size());
    };
    // XLA's usual precision of products in single precision is TF32.
    const bool is_exact =
        line.attributes.find("operand_precision={highest") != std::string_view::npos ||
        line.attributes.find("algorithm=dot_f32_f32_f32") != std::string_view::npos;
    product_ = {{"m", a.elements() / batch / k},
                {"n", b.elements() / batch / k},
                {"k", k},
                {"batch", batch},
                {"a_type", number_type(a.type)},
                {"b_type", number_type(b.type)},
                {"compute_type", std::string(a.type != "f32" || is_exact ? "f32" : "tf32")},
                {"trans_a", !is_last(a, of_a)},
                {"trans_b", is_last(b, of_b)}};
  }

  std::unordered_map<std::string_view, HloValue> values_;
  std::unordered_map<std::string_view, HloParameter> parameters_;
  std::vector<std::pair<std::string, record::OpValue>> product_;
  std::int64_t written_ = 0;
  std::int64_t elements_ = 0;
  std::string_view result_;
};

record::Op op_of_computation(std::string_view text, std::string_view name) {
  FusionReader reader;
  cut_at(text, "{\n");
  while (!text.empty()) {
    const std::string_view line = cut_at(text, "\n");
    if (line.find(" = ") != std::string_view::npos) reader.add(instruction_of(line));
  }
  return reader.op(name);
}

// --- all modules

// The names in an operation's path, without the operation's own: "jit(step)/jvp()/add".  An
// operation of no path, such as the copy of an argument, has the module's name.
std::string layer_of(std::string_view op_name, std::string_view module) {
  const std::size_t end = op_name.rfind('/');
  std::string layer(end == std::string_view::npos ? module.substr(0, module.find(','))
                                                  : op_name.substr(0, end));
  std::replace(layer.begin(), layer.end(), '/', '.');
  return layer;
}

// The last texts that a thread has registered.
struct Registering {
  std::string module;
  std::string fusion;  // its kernel's name; empty: no fusion
  std::string op_name;
  bool is_instruction_next = false;
};

using Fusions = std::unordered_map<std::string, XlaWork>;

struct XlaBook {
  std::unordered_map<std::thread::id, Registering> threads;
  // By module and kernel.  Tuning compiles thousands of modules that are never seen again, so the
  // older half is dropped when the newer one is full.
  Fusions fusions;
  Fusions older;
};

// The part of a module's title that no other module has.
std::string_view module_in(std::string_view title) {
  return between(title, "hlo_module=", "#");
}

void note_instruction(Registering& now, std::string_view text) {
  const std::string_view name = cut_at(text, " = ");
  now.fusion.clear();
  if (text.find(" fusion(") == std::string_view::npos) return;
  now.fusion = name;
  std::replace_if(
      now.fusion.begin(), now.fusion.end(), [](unsigned char c) { return std::isalnum(c) == 0; },
      '_');
  now.op_name = between(text, "op_name=\"", "\"");
}

}  // namespace

bool begins_xla_module(std::string_view text) {
  return text.starts_with(kModuleTitle);
}

bool note_xla_text(std::string_view text) {
  const bool is_module = begins_xla_module(text);
  const bool is_title = text.starts_with(kInstructionTitle);
  const sys::Locked<XlaBook> book;
  const auto known = book->threads.find(std::this_thread::get_id());
  if (known == book->threads.end() && !is_module) return false;
  Registering& now = book->threads[std::this_thread::get_id()];
  const bool is_instruction = std::exchange(now.is_instruction_next, is_title);
  if (is_module) {
    now = {.module = std::string(module_in(text)), .fusion = {}, .op_name = {}};
  } else if (is_instruction) {
    note_instruction(now, text);
  } else if (text.starts_with('\n') && !now.fusion.empty() && !text.ends_with('\n')) {
    if (book->fusions.size() == kMostFusions) book->older = std::exchange(book->fusions, {});
    book->fusions[now.module + '\n' + now.fusion] = {layer_of(now.op_name, now.module),
                                                     op_of_computation(text, now.fusion)};
    now.fusion.clear();
  }
  return is_instruction || text.starts_with('\n');
}

std::optional<XlaWork> xla_work(std::string_view layer, std::string_view kernel) {
  const std::size_t at = layer.find(kModuleTitle);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view around = layer.substr(0, at);
  layer.remove_prefix(at);
  const std::string_view module = module_in(layer);
  // The title lacks what all instructions of the module have in common.
  std::string op_name(between(layer, "#prefix=", ",hlo_module="));
  const std::string_view name = between(layer, "Thunk:#name=", ",hlo_op=");
  if (!op_name.empty() && !name.empty()) op_name += '/';
  op_name += name;
  XlaWork work{.layer = layer_of(op_name, module), .op = {}};
  const sys::Locked<XlaBook> book;
  const std::string key = std::string(module).append("\n").append(kernel);
  for (const Fusions* const fusions : {&book->older, &book->fusions}) {
    const auto found = fusions->find(key);
    if (found != fusions->end()) work = found->second;
  }
  work.layer.insert(0, around);
  return work;
}

}  // namespace inline_prof::labels
