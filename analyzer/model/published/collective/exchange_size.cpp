#include "model/published/collective/exchange_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <string>

namespace inline_prof::model::collective {
namespace {

std::int64_t parse_count(std::string_view text, std::string_view whole, std::int64_t least) {
  constexpr std::int64_t most = 1'000'000'000;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < least || value > most) {
    throw std::invalid_argument(fmt::format(
        "expected BATCH,TABLES-TABLES-...,DIM with integers from {} to {}, found \"{}\"", least,
        most, whole));
  }
  return value;
}

}  // namespace

EmbeddingExchange parse_exchange(std::string_view text) {
  const std::size_t first = text.find(',');
  const std::size_t last = text.rfind(',');
  if (first == last) {
    throw std::invalid_argument(
        fmt::format("expected BATCH,TABLES-TABLES-...,DIM, found \"{}\"", text));
  }
  EmbeddingExchange exchange;
  exchange.batch = parse_count(text.substr(0, first), text, 1);
  exchange.dim = parse_count(text.substr(last + 1), text, 1);
  std::string_view tables = text.substr(first + 1, last - first - 1);
  while (true) {
    const std::size_t dash = tables.find('-');
    exchange.tables.push_back(parse_count(tables.substr(0, dash), text, 0));
    if (dash == std::string_view::npos) break;
    tables.remove_prefix(dash + 1);
  }
  return exchange;
}

ExchangeBytes exchange_bytes(const EmbeddingExchange& exchange, std::int64_t ranks) {
  if (ranks < 1) throw std::invalid_argument(fmt::format("expected ranks >= 1, found {}", ranks));
  const std::int64_t all =
      std::accumulate(exchange.tables.begin(), exchange.tables.end(), std::int64_t{0});
  std::int64_t larger = 0;
  std::int64_t both = 0;
  for (const std::int64_t own : exchange.tables) {
    const std::int64_t received = all - own;
    const std::int64_t sent = own * (ranks - 1);
    larger = std::max({larger, received, sent});
    both = std::max(both, received + sent);
  }
  const std::int64_t samples = exchange.batch / ranks;  // of a rank; what is left over is dropped
  const double bytes_per_table =
      static_cast<double>(samples) * static_cast<double>(exchange.dim) * 4;
  return {.sum = bytes_per_table * static_cast<double>(all),
          .max_of_max = bytes_per_table * static_cast<double>(larger),
          .max_of_sum = bytes_per_table * static_cast<double>(both)};
}

}  // namespace inline_prof::model::collective
