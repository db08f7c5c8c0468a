// Changes a JSON text where it means something: values that are valid and hostile, members that
// come again, go, or change places.  libFuzzer's own changes of bytes break a text at once, and
// hardly reach the code behind the parser.
#include "mutator.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace inline_prof::fuzz;
using nlohmann::json;

json hostile_value(Random& random) {
  static const json values = json::parse(R"([0, -1, 1, -0.0, 0.5, 9007199254740992,
      9007199254740993, 2147483648, -2147483649, 4294967296, 9223372036854775807,
      -9223372036854775808, 18446744073709551615, 1e308, -1e308, 5e-324, 1e-300, null, true, false,
      [], {}, "", [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],
      "\u0000\u001b[2J\n", "../../../../etc/passwd", "%n%s"])");
  const std::size_t which = below(random, values.size() + 2);
  if (which < values.size()) return values[which];
  if (which == values.size()) return std::string(1 + below(random, 2000), 'a');
  return json(std::vector<double>(1 + below(random, 300), 1e300));
}

// Every value of the document, its root first.
void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (json& member : value)
    collect(member, all);
}

void change(json& document, Random& random) {
  std::vector<json*> all;
  collect(document, all);
  json& chosen = *all[below(random, all.size())];
  switch (below(random, 7)) {
    case 0:
    case 1:
      chosen = hostile_value(random);
      return;
    case 2: {  // another value of the document
      json other = *all[below(random, all.size())];
      chosen = std::move(other);
      return;
    }
    case 3:  // a member goes
      if (chosen.is_structured() && !chosen.empty()) {
        auto member = chosen.begin();
        std::advance(member, static_cast<std::ptrdiff_t>(below(random, chosen.size())));
        chosen.erase(member);
      }
      return;
    case 4:  // elements come again
      if (chosen.is_array() && !chosen.empty() && chosen.size() < 500) {
        const json element = chosen[below(random, chosen.size())];
        for (std::size_t i = 1 + below(random, 100); i > 0; --i)
          chosen.push_back(element);
      }
      return;
    case 5:  // a name that nobody knows
      if (chosen.is_object()) chosen["unknown" + std::to_string(random())] = hostile_value(random);
      return;
    default:  // a value under a known name elsewhere
      if (chosen.is_object()) {
        json& target = *all[below(random, all.size())];
        if (target.is_object() && &target != &chosen && !chosen.empty()) {
          auto member = chosen.begin();
          std::advance(member, static_cast<std::ptrdiff_t>(below(random, chosen.size())));
          const std::string key = member.key();
          json value = member.value();
          target[key] = std::move(value);
        }
      }
      return;
  }
}

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t room,
                                    unsigned seed) {
  Random random(seed + 1);
  const std::string text(reinterpret_cast<const char*>(data), size);
  json document = json::parse(text, nullptr, false, true);
  // A text that is broken already, and one time in four any other, is libFuzzer's to change.
  if (document.is_discarded() || below(random, 4) == 0) return LLVMFuzzerMutate(data, size, room);
  for (std::size_t i = 1 + below(random, 4); i > 0; --i)
    change(document, random);
  return give(document.dump(-1, ' ', false, json::error_handler_t::replace), data, size, room);
}
