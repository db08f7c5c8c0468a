#include "read/torch_trace/operations.hpp"

#include "read/op.hpp"
#include "read/text_lines.hpp"
#include "read/torch_trace/raw_events.hpp"
#include "torch_operator_classes.hpp"

#include <inline_prof/op_kind.hpp>

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace inline_prof::read::torch_trace {
namespace {

using Sizes = std::vector<std::int64_t>;

struct TypeWord {
  std::string_view recorded;  // without "c10::", in small letters
  std::string_view name;      // as in prof.json; empty for a type that it has no word for
  std::int64_t bytes = 0;     // of such a type
};

// c10::ScalarType as the profiler writes it, as a C++ type or by its name.
constexpr std::array<TypeWord, 19> kTypes{{{"bfloat16", "bf16"},
                                           {"half", "f16"},
                                           {"float", "f32"},
                                           {"double", "f64"},
                                           {"float8_e4m3fn", "f8e4m3"},
                                           {"float8_e5m2", "f8e5m2"},
                                           {"int", "i32"},
                                           {"long int", "i64"},
                                           {"long", "i64"},
                                           {"signed char", "i8"},
                                           {"char", "i8"},
                                           {"unsigned char", "", 1},
                                           {"byte", "", 1},
                                           {"bool", "", 1},
                                           {"short", "", 2},
                                           {"short int", "", 2},
                                           {"complex<float>", "", 8},
                                           {"complex<double>", "", 16},
                                           {"float8_e8m0fnu", "", 1}}};

const TypeWord* type_of(std::string_view recorded) {
  if (recorded.starts_with("c10::")) recorded.remove_prefix(5);
  const std::string word = lower(recorded);
  const auto* const it = std::ranges::find(kTypes, word, &TypeWord::recorded);
  return it == kTypes.end() ? nullptr : it;
}

std::int64_t type_bytes(const TypeWord& type) {
  const auto bytes = number_type_bytes(type.name);
  return bytes ? static_cast<std::int64_t>(*bytes) : type.bytes;
}

std::int64_t element_bytes(const Argument& argument) {
  const TypeWord* const type = type_of(argument.type);
  return type == nullptr ? 0 : type_bytes(*type);
}

// A file may say any number: larger ones than a GPU has room for count as these, so that bytes and
// sums of a few of them have room.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
constexpr double kMostSize = static_cast<double>(std::int64_t{1} << 36);
constexpr std::int64_t kMostNumber = 1 << 20;  // of a step, a rim or a window

std::int64_t times(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > kMostElements / b ? kMostElements : a * b;
}

std::int64_t elements_in(const Sizes& sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes)
    elements = times(elements, size);
  return elements;
}

std::int64_t elements(const Argument& argument) {
  std::int64_t sum = 0;
  for (const Sizes& sizes : argument.sizes)
    sum += elements_in(sizes);
  return sum;
}

// Elements that a kernel reads of it: a dimension of stride 0 repeats the same element.
std::int64_t distinct_elements(const Argument& argument) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < argument.sizes.size(); ++i) {
    Sizes own = argument.sizes[i];
    if (i < argument.strides.size() && argument.strides[i].size() == own.size()) {
      for (std::size_t d = 0; d < own.size(); ++d)
        if (argument.strides[i][d] == 0) own[d] = std::min<std::int64_t>(own[d], 1);
    }
    sum += elements_in(own);
  }
  return sum;
}

std::int64_t bytes(const Argument& argument) {
  return distinct_elements(argument) * element_bytes(argument);
}

// Sizes of what an element-wise operator of these tensors writes.
Sizes broadcast(const std::vector<const Argument*>& tensors) {
  Sizes result;
  for (const Argument* tensor : tensors) {
    const Sizes& own = tensor->sizes.front();
    if (own.size() > result.size()) result.insert(result.begin(), own.size() - result.size(), 1);
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::int64_t& size = result[result.size() - own.size() + i];
      if (size == 1) size = own[i];
    }
  }
  return result;
}

std::vector<std::int64_t> numbers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error == std::errc{}) numbers.push_back(std::clamp(number, -kMostNumber, kMostNumber));
    at = error == std::errc{} ? rest : at + 1;
  }
  return numbers;
}

bool is_true(std::string_view value) {
  return value == "True" || value == "true" || value == "1";
}

Op memory(std::string_view what, std::int64_t read_bytes, std::int64_t write_bytes,
          std::int64_t flops = 0, std::int64_t elements = 0) {
  if (read_bytes + write_bytes <= 0) return {};
  Op op = op_of(OpKind::kMemory, {{"read_bytes", read_bytes}, {"write_bytes", write_bytes}});
  if (flops > 0) op.attributes.emplace_back("flops", flops);
  if (elements > 0) op.attributes.emplace_back("elements", elements);
  op.attributes.emplace_back("class", std::string(what));
  return op;
}

// An operator's call beside the kernel that it launched.
class Call {
 public:
  Call(const OperatorCall& call, std::string_view kernel, const LaunchShape& launch)
      : call_(call), kernel_(kernel), launch_(launch) {
    for (const Argument& argument : call.arguments)
      if (argument.is_tensor()) tensors_.push_back(&argument);
  }

  [[nodiscard]] bool launches(std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return kernel_.find(word) != std::string_view::npos;
    });
  }
  // Without namespace.
  [[nodiscard]] std::string_view name() const {
    const std::string_view whole = call_.name;
    const std::size_t colons = whole.rfind("::");
    return colons == std::string_view::npos ? whole : whole.substr(colons + 2);
  }
  [[nodiscard]] bool is_of(std::string_view space) const {
    return std::string_view(call_.name).starts_with(space);
  }
  [[nodiscard]] std::size_t arguments() const { return call_.arguments.size(); }
  [[nodiscard]] std::string_view kernel() const { return kernel_; }
  [[nodiscard]] const LaunchShape& launch() const { return launch_; }
  [[nodiscard]] std::int64_t grid_depth() const { return launch_.grid[2]; }
  [[nodiscard]] const std::vector<const Argument*>& tensors() const { return tensors_; }
  [[nodiscard]] std::int64_t bytes_of(const Argument& argument) const {
    const std::int64_t size =
        argument.type == "TensorList" ? element_bytes_of_kernel(kernel_) : element_bytes(argument);
    return distinct_elements(argument) * size;
  }
  // The first truth value among the arguments; empty if there is none.
  [[nodiscard]] std::string_view first_bool() const {
    const auto found = std::ranges::find_if(call_.arguments, [](const Argument& argument) {
      return argument.value == "True" || argument.value == "False";
    });
    return found == call_.arguments.end() ? std::string_view() : std::string_view(found->value);
  }
  // A tensor that Rule::needs names.
  [[nodiscard]] const Argument& operator[](std::size_t place) const {
    return call_.arguments[place];
  }
  // Null where the argument is no tensor.
  [[nodiscard]] const Argument* tensor(std::size_t place) const {
    return place < call_.arguments.size() && call_.arguments[place].is_tensor()
               ? &call_.arguments[place]
               : nullptr;
  }
  [[nodiscard]] std::string_view value(std::size_t place) const {
    return place < call_.arguments.size() ? std::string_view(call_.arguments[place].value)
                                          : std::string_view();
  }

 private:
  const OperatorCall& call_;
  std::string_view kernel_;
  const LaunchShape& launch_;
  std::vector<const Argument*> tensors_;
};

// Returns how many numbers an element's address is computed from: dimensions count as one where all
// tensors go from one to the next as if they were, and the result lies as the first of them does.
// 0: not known.
std::int64_t dimensions(const Sizes& sizes, const std::vector<const Argument*>& tensors) {
  std::vector<Sizes> strides;
  for (const Argument* tensor : tensors) {
    const Sizes& own = tensor->sizes.front();
    if (tensor->strides.size() != 1 || tensor->strides.front().size() != own.size()) return 0;
    Sizes& all = strides.emplace_back(sizes.size(), 0);
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i] > 1) all[sizes.size() - own.size() + i] = tensor->strides.front()[i];
  }
  std::vector<std::size_t> inner_first;
  for (std::size_t i = sizes.size(); i-- > 0;)
    if (sizes[i] > 1) inner_first.push_back(i);
  if (strides.empty() || inner_first.empty()) return 0;
  std::ranges::stable_sort(inner_first, {}, [&](std::size_t i) { return strides.front()[i]; });
  std::int64_t count = 1;
  for (std::size_t i = 1; i < inner_first.size(); ++i) {
    const std::size_t inner = inner_first[i - 1], outer = inner_first[i];
    if (!std::ranges::all_of(strides, [&](const Sizes& own) {
          return own[outer] == times(own[inner], sizes[inner]);
        }))
      ++count;
  }
  return count;
}

void add_dimensions(Op& op, const Sizes& sizes, const std::vector<const Argument*>& tensors) {
  const std::int64_t count = dimensions(sizes, tensors);
  if (count > 1 && !op.kind.empty()) op.attributes.emplace_back("dimensions", count);
}

// All tensors are read once, and a result of their common size is written.
Op elementwise_as(const Call& call, std::string_view what, std::int64_t result_bytes = 0) {
  std::vector<const Argument*> sized;
  std::int64_t read = 0, largest = 0;
  for (const Argument* tensor : call.tensors()) {
    if (tensor->sizes.size() != 1) continue;
    read += bytes(*tensor);
    if (!tensor->sizes.front().empty() || largest == 0)
      largest = std::max(largest, element_bytes(*tensor));
    sized.push_back(tensor);
  }
  if (sized.empty()) return {};
  const Sizes sizes = broadcast(sized);
  const std::int64_t written = elements_in(sizes);
  Op op =
      memory(what, read, written * (result_bytes != 0 ? result_bytes : largest), written, written);
  // The tensor that is not broadcast tells how the result lies.
  std::ranges::stable_sort(sized, std::greater(), [](const Argument* t) { return elements(*t); });
  add_dimensions(op, sizes, sized);
  return op;
}

Op elementwise(const Call& call) {
  return elementwise_as(call, "elementwise");
}
Op comparison(const Call& call) {
  return elementwise_as(call, "elementwise", 1);
}
// Reads or writes a mask of one byte for each element, too.
Op dropout(const Call& call) {
  const Argument& from = call[0];
  const std::int64_t all = bytes(from), count = elements(from);
  return memory("elementwise", all, all + count, count, count);
}

// Whether neighbours in the result lie far apart in what is read, so that each number of a warp
// comes with a sector of its own.
bool is_transposed_in(const Argument& from, const Argument& to) {
  constexpr std::int64_t warp = 32, sector_bytes = 32;
  if (from.strides.size() != 1 || to.strides.size() != 1 || to.sizes.size() != 1 ||
      from.strides[0].size() != to.sizes[0].size() || to.strides[0].size() != to.sizes[0].size())
    return false;
  for (std::size_t i = 0; i < to.sizes[0].size(); ++i) {
    if (to.strides[0][i] == 1 && to.sizes[0][i] >= warp)
      return from.strides[0][i] * element_bytes(from) >= sector_bytes;
  }
  return false;
}

// An operator over lists launches several kernels, each with a block for every chunk of a tensor.
// A copy does not read what it writes; an optimizer writes all lists but the gradients, a norm
// none.
Op lists_as(const Call& call, std::string_view what) {
  constexpr std::int64_t chunk = 65'536;
  const Argument* const list = call.tensor(0);
  if (list == nullptr || list->type != "TensorList" || !call.launches({"multi_tensor_apply"}))
    return {};
  std::int64_t all = 0;
  for (const Argument* tensor : call.tensors())
    all += call.bytes_of(*tensor);
  const std::int64_t count = std::max<std::int64_t>(1, elements(*list)),
                     blocks = call.launch().grid[0],
                     own = blocks < 1 ? count : std::min(count, times(blocks, chunk)),
                     first = call.bytes_of(*list) / count, sum = all / count;
  const std::int64_t read = what == "copy" ? sum - first : sum,
                     written = what == "optimizer"                            ? sum - first
                               : call.launches({"NormFunctor", "MaxFunctor"}) ? 0
                                                                              : first;
  return memory(what, own * read, own * written, 0, own);
}
Op over_lists(const Call& call) {
  return lists_as(call, "lists");
}
Op fused_optimizer(const Call& call) {
  return lists_as(call, "optimizer");
}

// Writes the first tensor, or list of them.
Op copy(const Call& call) {
  if (call.launches({"multi_tensor_apply"})) return lists_as(call, "copy");
  const Argument* const to = call.tensor(0);
  const Argument* const from = call.tensor(1);
  if (to == nullptr || from == nullptr) return {};
  const std::int64_t written =
      to->type == "TensorList" ? call.bytes_of(*to) : elements(*to) * element_bytes(*to);
  Op op = memory(is_transposed_in(*from, *to) ? "transpose" : "copy", call.bytes_of(*from), written,
                 0, elements(*to));
  if (to->sizes.size() == 1 && from->sizes.size() == 1 &&
      from->sizes.front().size() <= to->sizes.front().size())
    add_dimensions(op, to->sizes.front(), {to, from});
  return op;
}

Op concatenation(const Call& call) {
  std::int64_t all = 0, all_elements = 0;
  for (const Argument* tensor : call.tensors()) {
    all += call.bytes_of(*tensor);
    all_elements += elements(*tensor);
  }
  return memory("copy", all, all, 0, all_elements);
}

Op fill(const Call& call) {
  const Argument& to = call[0];
  return memory("fill", 0, elements(to) * element_bytes(to));
}

Op reduction(const Call& call) {
  const Argument& from = call[0];
  if (from.type == "TensorList") return over_lists(call);
  return memory("reduction", bytes(from), element_bytes(from), elements(from), elements(from));
}

Op scan(const Call& call) {
  const Argument& from = call[0];
  return memory("scan", bytes(from), bytes(from), elements(from), elements(from));
}

// Reads of each row the element that its target names.
Op nll_loss(const Call& call) {
  const Argument& from = call[0];
  const Argument& target = call[1];
  const std::int64_t rows = elements(target);
  return memory("loss", bytes(target) + rows * element_bytes(from), element_bytes(from), rows,
                rows);
}
Op nll_loss_backward(const Call& call) {
  const Argument& target = call[2];
  const std::int64_t rows = elements(target);
  return memory("loss", bytes(target), rows * element_bytes(*call.tensors()[0]), rows, rows);
}

Op row_wise(const Call& call, OpKind kind, std::int64_t columns, bool is_backward) {
  const Argument& from = call[0];
  const std::string type(number_type_of(from));
  if (type.empty() || columns < 1) return {};
  return op_of(kind, {{"rows", elements(from) / columns},
                      {"cols", columns},
                      {"type", type},
                      {"pass", std::string(is_backward ? "backward" : "forward")}});
}

template <std::size_t kDimensionAt>
Op softmax(const Call& call) {
  const Argument& from = call[0];
  const auto dimension = numbers_in(call.value(kDimensionAt));
  if (from.sizes.empty() || from.sizes.front().empty()) return {};
  const Sizes& sizes = from.sizes.front();
  const auto rank = static_cast<std::int64_t>(sizes.size());
  std::int64_t at = dimension.empty() ? rank - 1 : dimension.front();
  if (at < 0) at += rank;
  if (at < 0 || at >= rank) return {};
  return row_wise(call, OpKind::kSoftmax, sizes[static_cast<std::size_t>(at)], kDimensionAt == 2);
}

// The sizes that are normalised are those of the weight, else the last one.
Op norm(const Call& call) {
  const Argument& from = call[0];
  if (from.sizes.empty() || from.sizes.front().empty()) return {};
  const Argument* const weight = call.tensor(2);
  const std::int64_t columns =
      weight != nullptr && elements(*weight) > 0 ? elements(*weight) : from.sizes.front().back();
  return row_wise(call, OpKind::kNorm, columns, false);
}
Op norm_backward(const Call& call) {
  const Argument& from = call[1];
  if (from.sizes.empty() || from.sizes.front().empty()) return {};
  if (call.launches({"GammaBeta", "gamma_beta"}))
    return memory("norm", bytes(*call.tensors()[0]) + bytes(from),
                  element_bytes(from) * from.sizes.front().back(), 2 * elements(from));
  return row_wise(call, OpKind::kNorm, from.sizes.front().back(), true);
}

// vLLM's: the sum of input and residual is written over the residual, its norm over the input.
Op norm_in_place(const Call& call) {
  const Argument& input = call[0];
  const Argument& residual = call[1];
  const std::int64_t both = bytes(input) + bytes(residual);
  return memory("norm", both, both, 4 * elements(input), elements(input));
}

// Kernels around a norm that compute a few numbers for each channel.
bool is_of_channels(const Call& call, const Argument& image) {
  if (call.launches({"update_stats", "FusedParams", "GammaBeta", "reduce_statistics"})) return true;
  constexpr std::int64_t most_of_a_thread = 16;
  const auto& [grid, block] = std::tie(call.launch().grid, call.launch().block);
  return call.launches({"elementwise_kernel"}) && grid[0] > 0 &&
         times(times(grid[0], block[0]), most_of_a_thread) < elements(image);
}
Op of_channels(const Argument& image) {
  const Sizes& sizes = image.sizes.front();
  const std::int64_t count = sizes.size() < 2 ? 1 : times(sizes[0], sizes[1]);
  constexpr std::int64_t read_bytes = 16, written_bytes = 8;  // four numbers become two
  return memory("norm", read_bytes * count, written_bytes * count, 0, count);
}

// Kernels that only gather the mean and the variance write next to nothing.
Op batch_norm(const Call& call) {
  const Argument& from = call[0];
  if (is_of_channels(call, from)) return of_channels(from);
  const bool is_statistics = call.launches({"collect_statistics", "RowwiseMoments"});
  return memory("norm", bytes(from), is_statistics ? 0 : bytes(from), 8 * elements(from),
                elements(from));
}
Op batch_norm_backward(const Call& call) {
  const Argument& gradient = call[0];
  const Argument& from = call[1];
  if (is_of_channels(call, from)) return of_channels(from);
  const bool is_sum = call.launches({"backward_reduce", "InternalGradients"});
  return memory("norm", bytes(gradient) + bytes(from), is_sum ? 0 : bytes(from), 8 * elements(from),
                elements(from));
}

// vLLM's: changes query and key in place, each token's by its row of the table.
Op rotary_embedding(const Call& call) {
  const Argument& positions = call[0];
  const Argument& query = call[1];
  const Argument* const key = call.tensor(2);
  const std::int64_t changed = bytes(query) + (key == nullptr ? 0 : bytes(*key));
  const std::int64_t both = elements(query) + (key == nullptr ? 0 : elements(*key));
  const Argument* const table = call.tensors().back();
  const std::int64_t row =
      table->sizes.front().empty() ? 0 : table->sizes.front().back() * element_bytes(*table);
  return memory("elementwise", changed + bytes(positions) + times(elements(positions), row),
                changed, 3 * both, both);
}

// vLLM's: keys and values go to their places in a cache, whose type may be a smaller one.
Op cache_write(const Call& call) {
  if (call.tensors().size() < 4) return {};
  const Argument& key = *call.tensors()[0];
  const Argument& value = *call.tensors()[1];
  const std::int64_t count = elements(key) + elements(value);
  return memory("copy", bytes(key) + bytes(value), count * element_bytes(*call.tensors()[2]), 0,
                count);
}

// vLLM's operators that write their first tensor, or change it in place.
Op second_to_first(const Call& call) {
  if (call.tensors().size() < 2) return {};
  const Argument& to = *call.tensors()[0];
  const Argument& from = *call.tensors()[1];
  return memory("elementwise", bytes(from), bytes(to), elements(from), elements(from));
}

// Elements that the index names are read and written.
template <std::size_t kTable, std::size_t kIndex>
Op gather_rows(const Call& call) {
  const Argument& table = call[kTable];
  const Argument& index = call[kIndex];
  if (table.sizes.size() != 1) return {};
  const Sizes& sizes = table.sizes.front();
  const std::int64_t row = sizes.size() < 2 ? 1 : elements_in({sizes.begin() + 1, sizes.end()});
  const std::int64_t picked = times(elements(index), row);
  const std::int64_t moved = picked * element_bytes(table);
  return memory("gather", moved + bytes(index), moved, 0, picked);
}

// The indices are a list, one for each leading dimension, and name together.
Op index(const Call& call) {
  const Argument& table = call[0];
  const Argument* const indices = call.tensor(1);
  // PyTorch 2.11 records no sizes of indices; this kernel has a block for each of them.
  const bool is_by_grid = indices == nullptr && call.launches({"vectorized_gather_kernel"});
  if ((indices == nullptr && !is_by_grid) || table.sizes.size() != 1) return {};
  const Sizes& sizes = table.sizes.front();
  const std::size_t named = std::min(is_by_grid ? 1 : indices->sizes.size(), sizes.size());
  std::int64_t picked = is_by_grid ? call.launch().grid[0] : 0,
               listed = is_by_grid ? picked : elements(*indices);
  for (std::size_t i = 0; indices != nullptr && i < indices->sizes.size(); ++i)
    picked = std::max(picked, elements_in(indices->sizes[i]));
  const std::int64_t row =
      elements_in({sizes.begin() + static_cast<std::ptrdiff_t>(named), sizes.end()});
  const std::int64_t read = times(picked, row);
  const std::int64_t moved = read * element_bytes(table);
  constexpr std::int64_t index_bytes = 8;
  return memory("gather", moved + times(listed, index_bytes), moved, 0, read);
}

// Adds up the rows that the indices name, in as many bags as there are offsets.
Op embedding_bag(const Call& call) {
  const Argument* const offsets = call.tensor(2);
  Op rows = gather_rows<0, 1>(call);
  if (offsets == nullptr || rows.kind.empty()) return rows;
  const std::int64_t read = rows.get<std::int64_t>("read_bytes").value_or(0),
                     written = rows.get<std::int64_t>("write_bytes").value_or(0),
                     of_each = written / std::max<std::int64_t>(1, elements(call[1]));
  return memory("gather", read, times(elements(*offsets), of_each), 0,
                rows.get<std::int64_t>("elements").value_or(0));
}

// Kernels that put indices in order, and find where each begins.
Op in_order(const Call& call, std::int64_t count) {
  constexpr std::int64_t key = 8, place = 8;  // bytes
  if (call.launches({"Onesweep"}))
    return memory("sort", count * (key + place), count * (key + place), 0, count);
  if (call.launches({"RadixSort", "unique_by_key", "partial_segment", "partials_per_segment",
                     "DeviceScan", "DeviceCompact", "krn_partial"}))
    return memory("sort", count * key, 0, 0, count);
  return {};
}

// Rows of the gradient are added to those that were looked up.
Op embedding_backward(const Call& call) {
  const Argument& gradient = call[0];
  const Argument& indices = call[1];
  if (!call.launches(
          {"embedding_backward", "compute_grad_weight", "sum_and_scatter", "EmbeddingBag_acc"}))
    return in_order(call, elements(indices));
  return memory("scatter", bytes(gradient) + bytes(indices), bytes(gradient), elements(gradient),
                elements(gradient));
}

// The last dimensions become as long as the second argument says.
Op upsampling(const Call& call) {
  const Argument& from = call[0];
  const std::vector<std::int64_t> sides = numbers_in(call.value(1));
  if (sides.empty() || from.sizes.front().size() < sides.size()) return {};
  Sizes sizes = from.sizes.front();
  std::copy(sides.rbegin(), sides.rend(), sizes.rbegin());
  const std::int64_t out = elements_in(sizes);
  return memory("elementwise", bytes(from), out * element_bytes(from), out, out);
}

// The gradient, the sides of the result, and the sizes of what is written.
Op upsampling_backward(const Call& call) {
  const Argument& gradient = call[0];
  const std::vector<std::int64_t> sizes = numbers_in(call.value(2));
  if (sizes.empty()) return {};
  return memory("elementwise", bytes(gradient), elements_in(sizes) * element_bytes(gradient),
                elements(gradient), elements(gradient));
}

Op gather(const Call& call) {
  const Argument& table = call[0];
  const Argument& index = call[2];
  const std::int64_t moved = elements(index) * element_bytes(table);
  return memory("gather", moved + bytes(index), moved);
}

bool is_transposed(const Argument& matrix) {
  if (matrix.strides.empty()) return false;
  const Sizes& strides = matrix.strides.front();
  return strides.size() >= 2 && strides[strides.size() - 1] != 1 &&
         strides[strides.size() - 2] == 1;
}

// Kernels of a library, and of PyTorch's own where there is no better one.
bool is_product_kernel(const Call& call) {
  return call.launches(
      {"gemm", "gemv", "gemmk1", "nvjet", "cutlass", "xmma", "dot_kernel", "Cijk_"});
}

template <std::size_t kFirst, std::size_t kSecond>
Op product(const Call& call) {
  const Argument& a = call[kFirst];
  const Argument& b = call[kSecond];
  if (a.sizes.size() != 1 || b.sizes.size() != 1) return {};
  Sizes left = a.sizes.front(), right = b.sizes.front();
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const std::string_view type_a = number_type_of(a), type_b = number_type_of(b);
  if (left.size() < 2 || right.size() < 2 || type_a.empty() || type_b.empty()) return {};
  if (call.launches({"splitKreduce", "splitK_reduce", "epilogue::impl::globalKernel"})) {
    const std::int64_t out = times(left[left.size() - 2], right.back()) * 4;
    return memory("reduction", 2 * out, out / 4 * element_bytes(a));
  }
  if (!is_product_kernel(call)) return {};
  std::optional<std::int64_t> batch;
  if (left.size() == 3) batch = left.front();
  Op op = gemm_of({.m = left[left.size() - 2], .n = right.back(), .k = left.back(), .batch = batch},
                  type_a, type_b);
  if (is_transposed(a)) op.attributes.emplace_back("trans_a", true);
  if (is_transposed(b)) op.attributes.emplace_back("trans_b", true);
  return op;
}

// Products of as many groups as the second operand has matrices, or as there are offsets: there the
// groups share the sum's terms.
Op grouped_product(const Call& call) {
  const Argument& a = call[0];
  const Argument& b = call[1];
  const Argument& ends = call[2];
  const std::string type(number_type_of(a));
  if (type.empty() || a.sizes.front().size() != 2 || b.sizes.front().size() < 2) return {};
  const Sizes &left = a.sizes.front(), &right = b.sizes.front();
  const std::int64_t groups = std::max<std::int64_t>(1, elements(ends));
  if (call.launches({"prepare_grouped"})) return memory("elementwise", groups * 8, groups * 64);
  const bool shares_terms = right.size() == 2;
  return op_of(OpKind::kGroupedGemm,
               {{"groups", groups},
                {"m_total", shares_terms ? times(left[0], groups) : left[0]},
                {"n", right.back()},
                {"k", shares_terms ? std::max<std::int64_t>(1, left[1] / groups) : left[1]},
                {"a_type", type},
                {"b_type", type},
                {"c_type", type}});
}

// cuDNN's recurrent layers: the products of a step, those of all steps at once, and what stands
// between.  The tiles of a product tell which it is.
Op recurrent(const Call& call) {
  const bool is_backward = call.name().ends_with("backward");
  const Argument& input = call[0];
  const Argument& hidden = call[4];
  const auto mode = numbers_in(call.value(is_backward ? 10 : 6));
  const std::string type(number_type_of(input));
  if (type.empty() || mode.empty() || hidden.sizes.front().size() != 3 ||
      input.sizes.front().size() < 2)
    return {};
  constexpr std::int64_t lstm = 2, gru = 3;
  const std::int64_t gates = mode[0] == lstm  ? 4
                             : mode[0] == gru ? 3
                                              : 1,
                     batch = hidden.sizes.front()[1], size = hidden.sizes.front()[2],
                     all_gates = times(gates, size), own = times(batch, size),
                     rows = elements(input) / std::max<std::int64_t>(1, input.sizes.front().back());
  const std::int64_t width = element_bytes(input);
  if (call.launches({"elementWise"}))
    return memory("elementwise", (2 * gates + 1) * own * width, (gates + 1) * own * width, 0,
                  gates * own);
  const auto tile = tile_in(call.kernel());
  if (!is_product_kernel(call) || !tile) return {};
  const double blocks = static_cast<double>(times(call.launch().grid[0], call.launch().grid[1])) *
                        tile->first * tile->second;
  std::vector<GemmSides> sides;
  if (is_backward) {
    sides = {{.m = batch, .n = size, .k = all_gates},
             {.m = rows, .n = size, .k = all_gates},
             {.m = all_gates, .n = size, .k = rows}};
  } else {
    sides = {{.m = batch, .n = all_gates, .k = size}, {.m = rows, .n = all_gates, .k = size}};
  }
  const auto distance = [&](const GemmSides& one) {
    return std::abs(std::log(static_cast<double>(std::max<std::int64_t>(1, times(one.m, one.n))) /
                             std::max(1.0, blocks)));
  };
  return gemm_of(*std::ranges::min_element(sides, {}, distance), type, type);
}

// The operators' arguments differ in where they say that attention is causal: as a truth value,
// which is flash-attention's first one in all its versions, or as the kind of a mask, 0 for none.
bool is_causal(const Call& call) {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 8> places{{
      {"_efficient_attention_forward", 9},
      {"_efficient_attention_backward", 14},
      {"_scaled_dot_product_efficient_attention_backward", 12},
      {"_scaled_dot_product_efficient_attention", 6},
      {"_scaled_dot_product_cudnn_attention_backward", 14},
      {"_scaled_dot_product_flash_attention_backward", 11},
      {"_flash_attention_backward", 11},
      {"_flash_attention_forward", 8},
  }};
  const std::string_view name = call.name();
  if (call.is_of("flash_attn") || name.starts_with("FlashAttn")) return is_true(call.first_bool());
  std::size_t at = 4;
  if (name == "_cudnn_attention_forward") at = 10;
  // PyTorch 2.5 put the mask and the sums of the exponentials before dropout.
  if (name == "_scaled_dot_product_cudnn_attention") at = call.arguments() > 7 ? 6 : 4;
  for (const auto& [operation, place] : places)
    if (name == operation) at = place;
  const std::string_view value = call.value(at);
  return is_true(value) || value == "2";
}

// Places of heads and lengths among the sizes, and how many arguments stand before query and key,
// as in a backward pass the gradient.
template <std::size_t kHeads, std::size_t kLength, std::size_t kBefore = 0>
Op attention(const Call& call) {
  const Argument& query = call[kBefore];
  const Argument& key = call[kBefore + 1];
  if (query.sizes.size() != 1 || key.sizes.size() != 1) return {};
  Sizes q = query.sizes.front(), k = key.sizes.front();
  const std::string type(number_type_of(query));
  if (q.size() == 3 && k.size() == 3) {
    // Sequences one behind the other, with a list of where each begins: as if all were equally
    // long.
    const auto starts = std::ranges::find_if(call.tensors(), [](const Argument* tensor) {
      return tensor->type == "int" && tensor->sizes.size() == 1 && tensor->sizes[0].size() == 1;
    });
    const std::int64_t sequences = starts == call.tensors().end() ? 0 : elements(**starts) - 1;
    if (sequences < 1) return {};
    for (Sizes* const sizes : {&q, &k}) {
      sizes->insert(sizes->begin(), sequences);
      (*sizes)[1] /= sequences;
    }
  }
  // A cache in pages has another first dimension.
  if (q.size() != 4 || k.size() != 4 || q[0] != k[0] || type.empty()) return {};
  if (call.launches({"prepare_varlen"})) return {};
  constexpr bool is_backward = kBefore > 0;
  if (call.launches({"splitkv_combine", "FwdCombine"}))
    return memory("reduction", 2 * bytes(query), bytes(query));
  if (is_backward && call.launches({"dot_do_o", "BwdPreprocess"}))
    return memory("reduction", 2 * bytes(query), 0);
  if (is_backward && call.launches({"convert_dq", "ConvertdQ"}))
    return memory("cast", 2 * bytes(query), bytes(query));
  return op_of(OpKind::kAttention, {{"batch", q[0]},
                                    {"heads", q[kHeads]},
                                    {"kv_heads", k[kHeads]},
                                    {"q_len", q[kLength]},
                                    {"kv_len", k[kLength]},
                                    {"head_dim", q[3]},
                                    {"causal", is_causal(call)},
                                    {"type", type},
                                    {"pass", std::string(is_backward ? "backward" : "forward")}});
}

Attribute one_or_two(const std::vector<std::int64_t>& sides) {
  if (sides.size() == 2 && sides[0] == sides[1]) return sides[0];
  return sides;
}

Op convolution_of(const Call& call, const Argument& image, const Argument& filter,
                  std::size_t stride_at, std::size_t pad_at, std::size_t dilation_at,
                  std::string_view direction) {
  if (image.sizes.size() != 1 || filter.sizes.size() != 1) return {};
  Sizes x = image.sizes.front(), w = filter.sizes.front();
  const std::string type(number_type_of(image));
  auto stride = numbers_in(call.value(stride_at)), pad = numbers_in(call.value(pad_at)),
       dilation = numbers_in(call.value(dilation_at));
  if (x.size() == 3 && w.size() == 3) {  // of a line: an image of one row
    for (Sizes* const sizes : {&x, &w})
      sizes->insert(sizes->begin() + 2, 1);
    if (stride.size() == 1) stride.insert(stride.begin(), 1);
    if (pad.size() == 1) pad.insert(pad.begin(), 0);
    if (dilation.size() == 1) dilation.insert(dilation.begin(), 1);
  }
  if (x.size() == 5 && w.size() == 5 && stride.size() == 3 && pad.size() == 3 && stride[0] > 0 &&
      (dilation.size() != 3 || dilation[0] == 1)) {
    // A convolution of volumes: as of one image for each place in the depth, with the channels of
    // all that the filter covers there.
    x[0] = times(x[0], std::max<std::int64_t>(0, x[2] + 2 * pad[0] - w[2]) / stride[0] + 1);
    x[1] = times(x[1], w[2]);
    w[1] = times(w[1], w[2]);
    for (Sizes* const sizes : {&x, &w})
      sizes->erase(sizes->begin() + 2);
    for (auto* const numbers : {&stride, &pad, &dilation})
      if (!numbers->empty()) numbers->erase(numbers->begin());
  }
  if (x.size() != 4 || w.size() != 4 || type.empty() || x[1] < 1 || w[1] < 1) return {};
  if (stride.size() != 2 || pad.size() != 2) return {};
  const auto side = [&](std::size_t i) {
    const std::int64_t reach = (dilation.size() == 2 ? dilation[i] : 1) * (w[2 + i] - 1) + 1;
    return stride[i] < 1 ? 0 : (x[2 + i] + 2 * pad[i] - reach) / stride[i] + 1;
  };
  const std::int64_t size = element_bytes(image);
  const std::int64_t out = elements_in({x[0], w[0], side(0), side(1)}) * size;
  if (call.launches({"nchwToNhwc", "nchwAddPaddingToNhwc"})) {
    // The image or the filter: the grid's depth is the number of images, or of filters.  Channels
    // are filled up to a vector of 16 bytes.
    const Argument& moved = call.grid_depth() == w[0] && w[0] != x[0] ? filter : image;
    const std::int64_t channels = moved.sizes.front()[1], vector = 16 / size;
    const std::int64_t padded =
        elements(moved) / channels * ((channels + vector - 1) / vector * vector);
    return memory("copy", bytes(moved), padded * size, 0, padded);
  }
  if (call.launches({"nhwcToNchw", "nhwcAddPaddingToNchw"}))
    return memory("copy", out, out, 0, out / size);
  // Kernels that prepare a convolution, or end a part of it, have no sizes of their own on record.
  if (call.launches({"winogradForward", "winogradWgrad", "generateWinograd", "im2col",
                     "reduce_wgrad", "scalePackedTensor", "ffsetsKernel", "precompute", "fft2d",
                     "flip_filter", "kernel_offset"}))
    return {};
  if (call.launches({"elementwise"})) return memory("elementwise", out, out, out / size);
  if (call.launches({"reduce_kernel"})) return memory("reduction", out, w[0] * size, out / size);
  // Winograd's products, one for each point of a tile: 6 x 6 for 4 x 4 results, 4 x 4 for 2 x 2.
  const std::int64_t tile = call.grid_depth() == 36 ? 4 : call.grid_depth() == 16 ? 2 : 0;
  if (tile > 0 && w[2] == 3 && w[3] == 3 && call.launches({"_sgemm_"}) &&
      !call.launches({"convolve"})) {
    const std::int64_t tiles = times((side(0) + tile - 1) / tile, (side(1) + tile - 1) / tile);
    return gemm_of({.m = w[0], .n = times(x[0], tiles), .k = w[1], .batch = call.grid_depth()},
                   type, type);
  }
  Op op = op_of(OpKind::kConv, {{"n", x[0]},
                                {"c", x[1]},
                                {"h", x[2]},
                                {"w", x[3]},
                                {"k", w[0]},
                                {"r", w[2]},
                                {"s", w[3]},
                                {"stride", one_or_two(stride)},
                                {"pad", one_or_two(pad)}});
  if (dilation.size() == 2) op.attributes.emplace_back("dilation", one_or_two(dilation));
  if (w[1] > 0 && x[1] > w[1]) op.attributes.emplace_back("groups", x[1] / w[1]);
  op.attributes.emplace_back("type", type);
  op.attributes.emplace_back("direction", std::string(direction));
  return op;
}
template <std::size_t kStride, std::size_t kPad, std::size_t kDilation>
Op convolution(const Call& call) {
  return convolution_of(call, call[0], call[1], kStride, kPad, kDilation, "forward");
}
// input, weight, padding, output_padding, stride, dilation, groups: the gradient of the image of
// another convolution, whose result is the input.
Op transposed_convolution(const Call& call) {
  const Argument& input = call[0];
  const Argument& filter = call[1];
  const auto pad = numbers_in(call.value(2)), more = numbers_in(call.value(3)),
             stride = numbers_in(call.value(4)), dilation = numbers_in(call.value(5)),
             groups = numbers_in(call.value(6));
  if (groups.empty() || input.sizes.size() != 1 || input.sizes.front().size() != 4 ||
      filter.sizes.front().size() != 4 ||
      std::min({pad.size(), more.size(), stride.size(), dilation.size()}) < 2)
    return {};
  Argument image = input;
  Sizes& sizes = image.sizes.front();
  const Sizes& w = filter.sizes.front();
  sizes[1] = times(w[1], groups[0]);
  for (std::size_t i = 0; i < 2; ++i)
    sizes[2 + i] =
        (sizes[2 + i] - 1) * stride[i] - 2 * pad[i] + dilation[i] * (w[2 + i] - 1) + more[i] + 1;
  return convolution_of(call, image, filter, 4, 2, 5, "backward_data");
}
// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups.  A transposed one has the gradient as its image.
Op convolution_backward(const Call& call) {
  const bool is_of_filter = call.launches({"wgrad", "Wgrad", "backward_filter", "grad_weight"}),
             is_transposed = is_true(call.value(7));
  return convolution_of(call, call[is_transposed ? 0 : 1], call[2], 4, 5, 6,
                        is_of_filter    ? "backward_filter"
                        : is_transposed ? "forward"
                                        : "backward_data");
}

// self, kernel_size, stride, padding; behind the gradient when it is the backward pass.  The
// indices of 8 bytes say where each maximum stood.
Op max_pooling_of(const Call& call, std::size_t image_at, std::string_view what) {
  constexpr std::int64_t index_bytes = 8;
  const Argument& image = call[image_at];
  const auto sides = numbers_in(call.value(image_at + 1)),
             strides = numbers_in(call.value(image_at + 2)),
             pads = numbers_in(call.value(image_at + 3));
  if (image.sizes.size() != 1 || image.sizes.front().size() != 4 || sides.empty()) return {};
  const Sizes& x = image.sizes.front();
  const std::int64_t side = sides.front(), stride = strides.empty() ? side : strides.front(),
                     pad = pads.empty() ? 0 : pads.front();
  const bool is_square = x[2] == x[3] && sides.back() == side &&
                         (strides.empty() || strides.back() == stride) &&
                         (pads.empty() || pads.back() == pad);
  if (!is_square || stride < 1 || x[2] + 2 * pad < side) return {};
  const std::int64_t out_side = (x[2] + 2 * pad - side) / stride + 1,
                     out = elements_in({x[0], x[1], out_side, out_side}),
                     small = out * (element_bytes(image) + index_bytes);
  const bool is_backward = what == "max_pooling_backward";
  Op op = is_backward ? memory(what, small, bytes(image)) : memory(what, bytes(image), small);
  const std::vector<std::pair<std::string, Attribute>> sides_and_steps{
      {"n", x[0]}, {"c", x[1]}, {"h", x[2]},        {"w", x[3]},
      {"r", side}, {"s", side}, {"stride", stride}, {"pad", pad}};
  op.attributes.insert(op.attributes.end(), sides_and_steps.begin(), sides_and_steps.end());
  if (const std::string type(number_type_of(image)); !type.empty())
    op.attributes.emplace_back("type", type);
  return op;
}

// Windows of the last two or three dimensions, by their sides, steps and rims.  Where a trace has
// no values of arguments, a step of two.
Op pooling(const Call& call) {
  if (Op op =
          call.name() == "max_pool2d_with_indices" ? max_pooling_of(call, 0, "max_pooling") : Op{};
      !op.kind.empty())
    return op;
  const Argument& from = call[0];
  if (from.sizes.front().size() < 3 || call.launches({"upsample"})) return {};
  Sizes sizes = from.sizes.front();
  const bool is_adaptive = call.name().find("adaptive") != std::string_view::npos;
  const auto window = numbers_in(call.value(1)), steps = numbers_in(call.value(2)),
             rims = numbers_in(call.value(3));
  const std::size_t count = call.name().find("3d") != std::string_view::npos ? 3 : 2;
  for (std::size_t i = 0; i < count && sizes.size() > count; ++i) {
    const auto of = [&](const std::vector<std::int64_t>& values, std::int64_t otherwise) {
      return values.empty() ? otherwise : values[std::min(i, values.size() - 1)];
    };
    std::int64_t& side = sizes[sizes.size() - count + i];
    const std::int64_t reach = of(window, is_adaptive ? 1 : 2);
    const std::int64_t step = std::max<std::int64_t>(1, of(steps, reach));
    const std::int64_t out = (side + 2 * of(rims, 0) - reach) / step + 1;
    side = std::max<std::int64_t>(1, is_adaptive ? reach : out);
  }
  const std::int64_t out = elements_in(sizes);
  constexpr std::int64_t index_bytes = 8;
  const bool has_indices = call.name().find("max") != std::string_view::npos;
  return memory("pooling", bytes(from),
                out * (element_bytes(from) + (has_indices ? index_bytes : 0)), out, elements(from));
}

// The gradient and the indices, which are the last tensor, are read; the image is not.
Op pooling_backward(const Call& call) {
  if (Op op = call.name() == "max_pool2d_with_indices_backward"
                  ? max_pooling_of(call, 1, "max_pooling_backward")
                  : Op{};
      !op.kind.empty())
    return op;
  const Argument& gradient = call[0];
  const Argument& to = call[1];
  const std::int64_t indices = call.tensors().size() > 2 ? bytes(*call.tensors().back()) : 0;
  return memory("pooling", bytes(gradient) + indices, bytes(to), elements(gradient), elements(to));
}

// Several passes over keys and values; the number of passes is the kernel's, so this is one.
Op sort(const Call& call) {
  const Argument& from = call[0];
  return memory("sort", bytes(from), bytes(from));
}

Op scatter(const Call& call) {
  if (const Argument* const indices = call.tensor(1); indices != nullptr) {
    if (Op order = in_order(call, elements(*indices)); !order.kind.empty()) return order;
  }
  std::int64_t rest = 0;
  for (std::size_t i = 1; i < call.tensors().size(); ++i)
    rest += bytes(*call.tensors()[i]);
  return memory("scatter", rest, rest);
}

// One kernel of the compiler's: `triton_poi_fused_add_relu_0`.  What it writes stands last.
Op fused(const Call& call) {
  if (call.tensors().empty()) return {};
  std::int64_t all = 0, most = 0;
  for (const Argument* tensor : call.tensors()) {
    all += bytes(*tensor);
    most = std::max(most, elements(*tensor));
  }
  const std::int64_t written = bytes(*call.tensors().back());
  return memory("fused", all - written, written, most, most);
}

// A function of someone's own (apex, Megatron, Transformer Engine), whose kernel tells what it does
// with its first tensor: a row's norm or softmax, or the product with its only matrix.
Op function_by_kernel(const Call& call) {
  constexpr std::size_t most_tensors = 6;  // more are the arguments of whole models
  const Argument* const from = call.tensor(0);
  if (from == nullptr || from->sizes.size() != 1 || from->sizes.front().size() < 2 ||
      call.tensors().size() > most_tensors || call.name().find("ackward") != std::string_view::npos)
    return {};
  const std::int64_t columns = from->sizes.front().back();
  if (call.launches({"softmax"})) return row_wise(call, OpKind::kSoftmax, columns, false);
  if (call.launches(
          {"ayer_norm", "ayerNorm", "ayernorm", "ln_fwd", "rms_norm", "RMSNorm", "rmsnorm"}))
    return row_wise(call, OpKind::kNorm, columns, false);
  const Argument* weights = nullptr;
  for (const Argument* tensor : call.tensors()) {
    if (tensor == from || tensor->sizes.size() != 1 || tensor->sizes.front().size() < 2) continue;
    if (weights != nullptr) return {};
    weights = tensor;
  }
  const std::string type(number_type_of(*from));
  if (weights == nullptr || weights->sizes.front().size() != 2 || columns < 1 ||
      weights->sizes.front()[1] != columns || type.empty() || weights->type != from->type ||
      !is_product_kernel(call))
    return {};
  Op op = gemm_of({.m = elements(*from) / columns, .n = weights->sizes.front()[0], .k = columns},
                  type, type);
  op.attributes.emplace_back("trans_b", true);
  return op;
}

struct Rule {
  std::string_view name;  // a class of operators.json
  Op (*make)(const Call&);
  std::string_view needs{};  // places of tensors without which it says nothing, a digit each
};

constexpr auto kRules = std::to_array<Rule>({
    {"elementwise", elementwise},
    {"comparison", comparison},
    {"dropout", dropout, "0"},
    {"copy", concatenation},
    {"copy_into", copy},
    {"fill", fill, "0"},
    {"random", fill, "0"},
    {"reduction", reduction, "0"},
    {"scan", scan, "0"},
    {"softmax", softmax<1>, "0"},
    {"softmax_backward", softmax<2>, "0"},
    {"loss", elementwise},
    {"nll_loss", nll_loss, "01"},
    {"nll_loss_backward", nll_loss_backward, "2"},
    {"norm", norm, "0"},
    {"norm_backward", norm_backward, "1"},
    {"norm_in_place", norm_in_place, "01"},
    {"group_norm", batch_norm, "0"},
    {"batch_norm", batch_norm, "0"},
    {"batch_norm_backward", batch_norm_backward, "01"},
    {"index_select", gather_rows<0, 2>, "02"},
    {"embedding", gather_rows<0, 1>, "01"},
    {"gather", gather, "02"},
    {"index", index, "0"},
    {"index_put", scatter, "0"},
    {"scatter_add", scatter, "0"},
    {"scatter", scatter, "0"},
    {"sort", sort, "0"},
    {"embedding_bag", embedding_bag, "01"},
    {"embedding_backward", embedding_backward, "01"},
    {"pooling", pooling, "0"},
    {"pooling_backward", pooling_backward, "01"},
    {"upsampling", upsampling, "0"},
    {"upsampling_backward", upsampling_backward, "0"},
    {"fused_optimizer", fused_optimizer},
    // [batch, heads, length, size of a head], and [batch, length, heads, size of a head].
    {"attention", attention<1, 2>, "01"},
    {"attention_backward", attention<1, 2, 1>, "12"},
    {"attention_by_length", attention<2, 1>, "01"},
    {"attention_by_length_backward", attention<2, 1, 1>, "12"},
    // input, weight, padding, stride, dilation, groups.
    {"cudnn_convolution", convolution<3, 2, 4>, "01"},
    // input, weight, bias, stride, padding, dilation, transposed, output_padding, groups.
    {"convolution", convolution<3, 4, 5>, "01"},
    {"transposed_convolution", transposed_convolution, "01"},
    // input, weight, kernel_size, bias, stride, padding, dilation.
    {"depthwise_convolution", convolution<4, 5, 6>, "01"},
    {"convolution_backward", convolution_backward, "12"},
    {"product", product<0, 1>, "01"},
    {"product_with_bias", product<1, 2>, "12"},
    {"grouped_product", grouped_product, "012"},
    {"recurrent", recurrent, "04"},
    {"gated", second_to_first},
    {"second_to_first", second_to_first},
    {"rotary_embedding", rotary_embedding, "01"},
    {"cache_write", cache_write},
    {"fused", fused},
    {"lists", over_lists},
});

// By the operator's name, without namespace and the underscore of one that works in place.
const std::unordered_map<std::string, const Rule*>& rules_by_name() {
  static const auto rules = [] {
    std::unordered_map<std::string, const Rule*> by_name;
    simdjson::ondemand::parser parser;
    const simdjson::padded_string text(kOperatorClasses);
    simdjson::ondemand::document document = parser.iterate(text);
    for (auto row : document.get_object()) {
      const auto* const rule =
          std::ranges::find(kRules, std::string_view(row.unescaped_key()), &Rule::name);
      if (rule == kRules.end()) continue;  // of the Python package alone
      for (auto name : row.value().get_array())
        by_name.emplace(std::string_view(name.get_string()), rule);
    }
    return by_name;
  }();
  return rules;
}

const Rule* rule_of(std::string_view name) {
  static constexpr Rule fused_kernel{"fused", fused}, lists{"lists", over_lists};
  if (name.starts_with("triton_tem_")) return nullptr;  // a product or attention, by a template
  if (name.starts_with("triton_")) return &fused_kernel;
  const auto& rules = rules_by_name();
  if (const auto whole = rules.find(std::string(name)); whole != rules.end()) return whole->second;
  if (const std::size_t colons = name.rfind("::"); colons != std::string_view::npos) {
    static constexpr std::array<std::string_view, 6> spaces{
        "aten", "fsdp", "_C", "_C_cache_ops", "flash_attn", "sgl_kernel"};
    if (std::find(spaces.begin(), spaces.end(), name.substr(0, colons)) == spaces.end())
      return nullptr;
    name.remove_prefix(colons + 2);
  }
  auto it = rules.find(std::string(name));
  if (it == rules.end() && name.ends_with('_'))
    it = rules.find(std::string(name.substr(0, name.size() - 1)));
  if (it != rules.end()) return it->second;
  return name.starts_with("_foreach_") ? &lists : nullptr;
}

std::int64_t size_in(double size) {
  return static_cast<std::int64_t>(std::clamp(size, 0.0, kMostSize));
}

// The innermost operator of x.to(type) is a copy between two types.
bool is_cast(const OperatorCall& call) {
  return call.name == "aten::copy_" && call.arguments.size() > 1 && call.arguments[0].is_tensor() &&
         call.arguments[1].is_tensor() && call.arguments[0].type != call.arguments[1].type;
}

// Lists of numbers, of one tensor or of several.
std::vector<Sizes> sizes_in(simdjson::ondemand::value value) {
  std::vector<Sizes> all;
  Sizes own;
  bool is_list_of_lists = false;
  for (auto element : simdjson::ondemand::array(value.get_array())) {
    simdjson::ondemand::json_type type{};
    if (element.type().get(type) != simdjson::SUCCESS) break;
    if (type == simdjson::ondemand::json_type::array) {
      is_list_of_lists = true;
      Sizes inner;
      for (auto number : element.get_array())
        inner.push_back(size_in(number.get_double()));
      all.push_back(std::move(inner));
    } else {
      own.push_back(size_in(element.get_double()));
    }
  }
  if (!is_list_of_lists) all.push_back(std::move(own));
  return all;
}

std::string text_in(simdjson::ondemand::value value) {
  simdjson::ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return {};
  if (type == simdjson::ondemand::json_type::string)
    return std::string(std::string_view(value.get_string()));
  return std::string(std::string_view(value.raw_json_token()));
}

std::array<std::int64_t, 3> three(simdjson::ondemand::value value) {
  std::array<std::int64_t, 3> sides{};
  std::size_t i = 0;
  for (auto side : value.get_array()) {
    if (i < sides.size()) sides[i] = side.get_int64();
    ++i;
  }
  return sides;
}

}  // namespace

std::int64_t element_bytes_of_kernel(std::string_view name) {
  constexpr std::string_view opaque = "OpaqueType<";
  if (const std::size_t at = name.find(opaque); at != std::string_view::npos) {
    std::int64_t size = 0;
    std::from_chars(name.data() + at + opaque.size(), name.data() + name.size(), size);
    return size;
  }
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> words{{{"BFloat16", 2},
                                                                                   {"bfloat16", 2},
                                                                                   {"Half", 2},
                                                                                   {"half", 2},
                                                                                   {"double", 8},
                                                                                   {"float", 4},
                                                                                   {"long", 8},
                                                                                   {"int", 4},
                                                                                   {"bool", 1}}};
  for (const auto& [word, size] : words)
    if (name.find(word) != std::string_view::npos) return size;
  return 0;
}

LaunchShape launch_shape(std::string_view args) {
  LaunchShape shape;
  each_argument(args, [&](const std::string& key, simdjson::ondemand::value value) {
    if (key == "grid") {
      shape.grid = three(value);
    } else if (key == "block") {
      shape.block = three(value);
    } else if (key == "registers per thread") {
      shape.registers = value.get_int64();
    } else if (key == "shared memory") {
      shape.static_shared_bytes = value.get_int64();
    }
  });
  return shape;
}

Op gemm_of(const GemmSides& sides, std::string_view a_type, std::string_view b_type) {
  Op op = op_of(OpKind::kGemm, {{"m", sides.m}, {"n", sides.n}, {"k", sides.k}});
  if (sides.batch) op.attributes.emplace_back("batch", *sides.batch);
  op.attributes.emplace_back("a_type", std::string(a_type));
  op.attributes.emplace_back("b_type", std::string(b_type));
  op.attributes.emplace_back("c_type", std::string(a_type));
  return op;
}

std::string_view number_type_of(const Argument& argument) {
  const TypeWord* const type = type_of(argument.type);
  return type == nullptr ? std::string_view() : type->name;
}

bool Argument::is_tensor() const {
  if (type == "TensorList") return !sizes.empty() && !(sizes.size() == 1 && sizes.front().empty());
  return !sizes.empty() && type_of(type) != nullptr;
}

OperatorCall operator_call(std::string_view name, std::string_view text) {
  OperatorCall call;
  call.name = name;
  const auto argument = [&](std::size_t i) -> Argument& {
    if (call.arguments.size() <= i) call.arguments.resize(i + 1);
    return call.arguments[i];
  };
  each_argument(text, [&](const std::string& key, simdjson::ondemand::value value) {
    const bool is_sizes = key == "Input Dims" || key == "Input dims";
    const bool is_strides = key == "Input Strides", is_type = key == "Input type";
    if (!is_sizes && !is_strides && !is_type && key != "Concrete Inputs") return;
    std::size_t i = 0;
    for (auto element : simdjson::ondemand::array(value.get_array())) {
      simdjson::ondemand::value each = element.value();
      Argument& own = argument(i++);
      if (is_sizes || is_strides) {
        (is_sizes ? own.sizes : own.strides) = sizes_in(each);
      } else {
        (is_type ? own.type : own.value) = text_in(each);
      }
    }
  });
  return call;
}

Op operation_of(const OperatorCall& call, std::string_view kernel_name, const LaunchShape& launch) {
  Op op;
  const Call own(call, kernel_name, launch);
  const Rule* const rule = rule_of(call.name);
  const bool is_of_pytorch = call.name.starts_with("aten::") || call.name.starts_with("triton_");
  if (rule == nullptr && !is_of_pytorch) op = function_by_kernel(own);
  if (rule != nullptr && std::ranges::all_of(rule->needs, [&](char place) {
        return own.tensor(static_cast<std::size_t>(place - '0')) != nullptr;
      }))
    op = rule->make(own);
  if (op.kind.empty()) op = op_of(OpKind::kOperator);
  op.source = is_cast(call) ? "aten::_to_copy" : call.name;
  return op;
}

std::optional<Op> collective_of(std::string_view name, std::string_view text,
                                std::optional<std::int64_t> world_size) {
  std::string what, type_name, annotated_type;
  std::int64_t sent = -1, received = -1, ranks = -1, elements_annotated = -1;
  each_argument(text, [&](const std::string& key, simdjson::ondemand::value value) {
    if (key == "Collective name") {
      what = text_in(value);
    } else if (key == "dtype") {
      type_name = text_in(value);
    } else if (key == "In msg nelems") {
      sent = value.get_int64();
    } else if (key == "Out msg nelems") {
      received = value.get_int64();
    } else if (key == "Group size") {
      ranks = value.get_int64();
    } else if (key == "Input Dims") {
      std::int64_t sum = 0, most = 0;
      for (auto element : simdjson::ondemand::array(value.get_array())) {
        for (const Sizes& sizes : sizes_in(element.value())) {
          if (sizes.empty()) continue;
          sum += elements_in(sizes);
          most = std::max(most, elements_in(sizes));
        }
      }
      // An operator has its output among its inputs; an annotation has the tensors of a call.
      elements_annotated = name.find("::") == name.npos ? sum : most;
    } else if (key == "Input type") {
      for (auto element : simdjson::ondemand::array(value.get_array()))
        if (annotated_type.empty()) annotated_type = text_in(element.value());
    }
  });
  if (what.empty()) {
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    what = name.substr(name.find_first_not_of(':', colon));
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> collectives{{
      {"multimem_all_reduce", "all_reduce"},
      {"one_shot_all_reduce", "all_reduce"},
      {"two_shot_all_reduce", "all_reduce"},
      {"allreduce", "all_reduce"},
      {"all_reduce", "all_reduce"},
      {"_allgather_base", "all_gather"},
      {"_all_gather_base", "all_gather"},
      {"allgather", "all_gather"},
      {"all_gather", "all_gather"},
      {"reduce_scatter", "reduce_scatter"},
      {"_reduce_scatter_base", "reduce_scatter"},
      {"all_to_all", "all_to_all"},
      {"all_to_allv", "all_to_all"},
      {"alltoall", "all_to_all"},
      {"broadcast", "broadcast"},
      {"reduce", "reduce"},
      {"send", "send"},
      {"recv", "recv"},
      {"barrier", "all_reduce"},
  }};
  const std::string word = lower(what);
  const auto* const known =
      std::find_if(collectives.begin(), collectives.end(),
                   [&](const auto& row) { return word.starts_with(row.first); });
  const TypeWord* const type = type_of(type_name.empty() ? annotated_type : type_name);
  const std::int64_t count =
      std::min(kMostElements, sent >= 0 ? std::max(sent, received) : elements_annotated);
  const bool is_known = known != collectives.end() && type != nullptr && count >= 1;
  Op op = op_of(is_known ? OpKind::kCollective : OpKind::kOperator);
  op.source = name;
  if (!is_known) return op;
  op.attributes = {
      {"op", std::string(known->second)}, {"count", count}, {"bytes", count * type_bytes(*type)}};
  if (ranks < 1) ranks = world_size.value_or(-1);
  if (ranks >= 1) op.attributes.emplace_back("ranks", ranks);
  if (!type->name.empty()) op.attributes.emplace_back("type", std::string(type->name));
  return op;
}

}  // namespace inline_prof::read::torch_trace
