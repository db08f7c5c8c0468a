// Profiles joined on the toy machine, with their times as they are.
#pragma once

#include "join/join.hpp"
#include "profile_builder.hpp"

#include <utility>
#include <vector>

namespace inline_prof::test {

inline join::Analysis joined_together(std::vector<read::Profile> profiles) {
  join::JoinOptions options;
  options.machine = toy_machine();  // 1 MB in 10 us
  options.models = model::Models::kRoofline;
  options.event_bias.kind = join::BiasSetting::Kind::kOff;
  return join::join_profiles(std::move(profiles), {}, options);
}

inline join::Analysis joined(read::Profile profile) {
  return joined_together({std::move(profile)});
}

}  // namespace inline_prof::test
