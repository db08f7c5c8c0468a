#include "model/known_by_name.hpp"

#include "model/families/kernel_family.hpp"
#include "read/torch_trace/operations.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace inline_prof::model {
namespace {

constexpr std::int64_t kMostOfABlock = 4096;  // threads, or work of a thread
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 36;

// The integers that the text begins with, as in "128,4,float".
std::vector<std::int64_t> numbers_at(std::string_view text) {
  std::vector<std::int64_t> found;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    std::int64_t number = 0;
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
      number = std::min<std::int64_t>(number * 10 + (text.front() - '0'), kMostOfABlock);
      text.remove_prefix(1);
    }
    found.push_back(number);
    if (text.empty() || text.front() != ',') break;
    text.remove_prefix(1);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return found;
}

// "CUDAFunctor_add" of "...<4,at::native::CUDAFunctor_add<float>,...": what PyTorch's element-wise
// kernels apply.
std::string_view functor_of(std::string_view arguments) {
  const std::size_t begin = arguments.find("at::native::");
  if (begin == std::string_view::npos) return {};
  std::string_view text = arguments.substr(begin + std::string_view("at::native::").size());
  for (const std::string_view anonymous : {"(anonymous_namespace)::", "(anonymous namespace)::"})
    if (text.starts_with(anonymous)) text.remove_prefix(anonymous.size());
  return text.substr(0, text.find_first_of("<(,:>"));
}

// Before PyTorch 2.4: a thread works on four elements.
constexpr std::string_view kOlderArray = "Array<char*";

// Pointers of PyTorch's "std::array<char*,3ul>" or "at::detail::Array<char*, 3>"; 0 where there is
// none.
int operands_of(std::string_view name) {
  constexpr std::string_view array = "rray<char*,";
  const std::size_t at = name.find(array);
  std::string_view rest = name.substr(std::min(name.size(), at + array.size()));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const auto numbers =
      at == std::string_view::npos ? std::vector<std::int64_t>{} : numbers_at(rest);
  return numbers.empty() ? 0 : static_cast<int>(numbers.front());
}

// Returns the tensors that an element is read from or written to.  An optimizer reads its lists,
// and writes all but the gradients: "TensorListMetadata<4>, FusedAdamMathFunctor<float, 4, ...>".
// Others name how many lists there are, how many they read, and the place of the one that they
// write: "BinaryOpListAlphaFunctor<float, 3, 2, 2>"; norms write none.  0: not known.
int operands_of_lists(std::string_view arguments) {
  const std::size_t at = arguments.find("Functor<");
  if (at == std::string_view::npos) return 0;
  std::string_view functor = arguments.substr(arguments.rfind(' ', at) + 1);
  functor = functor.substr(0, functor.find('>'));
  const auto numbers_behind = [&](std::size_t comma) {
    std::string_view text = functor.substr(std::min(functor.size(), comma + 1));
    if (text.starts_with(' ')) text.remove_prefix(1);
    return comma == std::string_view::npos ? std::vector<std::int64_t>{} : numbers_at(text);
  };
  constexpr std::string_view metadata = "TensorListMetadata<";
  if (functor.find("Adam") != std::string_view::npos ||
      functor.find("Fused") != std::string_view::npos) {
    const std::size_t lists_at = arguments.find(metadata);
    const auto lists = lists_at == std::string_view::npos
                           ? std::vector<std::int64_t>{}
                           : numbers_at(arguments.substr(lists_at + metadata.size()));
    return lists.empty() ? 0 : static_cast<int>(2 * lists.front() - 1);
  }
  const std::size_t last = functor.rfind(',');
  if (last == std::string_view::npos || last == 0) return 0;
  const auto read_and_written = numbers_behind(functor.rfind(',', last - 1));
  const bool is_norm = functor.find("NormFunctor") != std::string_view::npos;
  return read_and_written.size() < 2 ? 0
                                     : static_cast<int>(read_and_written[0]) + (is_norm ? 0 : 1);
}

// A file may say any number: what is larger than a GPU has counts as this, so that products of them
// have room.
std::int64_t product(const std::array<std::int64_t, 3>& sides, std::int64_t most) {
  std::int64_t all = 1;
  for (const std::int64_t side : sides)
    all = std::min(all * std::clamp<std::int64_t>(side, 1, kMostOfABlock * kMostOfABlock), most);
  return all;
}

// {least, most} elements of a block; zeros where the name does not tell.
std::pair<std::int64_t, std::int64_t> elements_of_a_block(BlockElements block,
                                                          const std::vector<std::int64_t>& numbers,
                                                          std::int64_t threads) {
  switch (block) {
    case BlockElements::kThreadsTimesWork:
      if (numbers.size() < 2) return {};
      return {numbers[0] * numbers[1], numbers[0] * numbers[1]};
    case BlockElements::kVectors:  // four numbers a thread in PyTorch 2.0, up to sixteen since
      return {4 * threads, std::max<std::int64_t>(8, numbers.empty() ? 8 : numbers[0]) * threads};
    case BlockElements::kFour:
      return {4 * threads, 4 * threads};
    case BlockElements::kChunk:  // more than half of all chunks are whole in parameters of layers
      return {40'000, 65'536};
    case BlockElements::kThreads:
      return {(threads + 1) / 2, threads};
    case BlockElements::kOne:  // at least one in each block
      return {1, threads};
    case BlockElements::kUnknown:
      break;
  }
  return {};
}

}  // namespace

std::optional<KnownByName> known_by_name(std::string_view name, const read::LaunchShape& launch) {
  const KernelFamily* const family = kernel_family(name);
  if (family == nullptr) return std::nullopt;
  KnownByName known;
  known.operation = family->operation;
  const std::string_view arguments = name.substr(name.find(family->word) + family->word.size());
  const std::vector<std::int64_t> numbers = numbers_at(arguments);
  if (const std::string_view functor = functor_of(arguments);
      !functor.empty() && family->block != BlockElements::kUnknown)
    known.operation.append(" ").append(functor);
  known.operands = family->block == BlockElements::kChunk ? operands_of_lists(arguments)
                                                          : operands_of(arguments);
  known.element_bytes = read::torch_trace::element_bytes_of_kernel(arguments);
  if (known.element_bytes == 0 && family->block == BlockElements::kVectors && !numbers.empty() &&
      numbers[0] > 0) {
    known.element_bytes = 16 / numbers[0];  // vectors of 16 bytes
  }
  const std::int64_t blocks = product(launch.grid, kMostBlocks);
  const bool is_older = name.find(kOlderArray) != std::string_view::npos;
  const auto [least, most] = elements_of_a_block(
      is_older && family->block == BlockElements::kVectors ? BlockElements::kFour : family->block,
      numbers, product(launch.block, kMostOfABlock));
  const bool is_of_other_lists = family->block == BlockElements::kChunk && known.operands == 0;
  if (most > 0 && launch.grid[0] > 0 && !is_of_other_lists) {
    known.least_elements = (blocks - 1) * least + 1;
    known.most_elements = blocks * most;
  }
  return known;
}

std::optional<std::pair<read::Op, read::Op>> movements_by_name(const KnownByName& known) {
  if (known.most_elements == 0 || known.element_bytes == 0) return std::nullopt;
  const auto movement = [&](std::int64_t elements, int operands) {
    const std::int64_t bytes = elements * known.element_bytes;
    return read::Op{
        std::string(op_kind_name(OpKind::kMemory)),
        "",
        {{"read_bytes", bytes * (operands - 1)}, {"write_bytes", bytes}, {"elements", elements}}};
  };
  // A copy, or two tensors that become one, where the name does not say how many.
  const int least = known.operands > 0 ? known.operands : 2;
  const int most = known.operands > 0 ? known.operands : 3;
  return std::pair(movement(known.least_elements, least), movement(known.most_elements, most));
}

std::string known_by_name_text(const KnownByName& known, const read::Machine* machine) {
  std::string text = known.operation;
  if (known.element_bytes > 0) text += fmt::format(" of {}-byte numbers", known.element_bytes);
  if (known.most_elements == 0) return text;
  const bool is_close = known.is_close();
  text += fmt::format(", {}{} elements", is_close ? "" : "at most ", known.most_elements);
  if (machine == nullptr || known.element_bytes == 0 || known.operands == 0) return text;
  const double bytes = static_cast<double>(known.most_elements) *
                       static_cast<double>(known.element_bytes) * known.operands;
  const double us = std::max(bytes / (machine->reached_gb_per_s() * 1e3), machine->launch_floor_us);
  return text + fmt::format(", bound {}{:.2f} us", is_close ? "" : "at most ", us);
}

}  // namespace inline_prof::model
