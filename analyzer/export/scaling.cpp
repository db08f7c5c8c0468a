#include "export/scaling.hpp"

#include "export/json_values.hpp"

namespace inline_prof::exports {

std::string scaling_json(std::span<const join::ScalingPoint> points, std::size_t most_layers) {
  Json json;
  json["schema"] = "inline_prof_scaling/1";
  json["times"] = Json::array();
  for (const join::ScalingTime& time : join::scaling_times(points, most_layers)) {
    json["times"].push_back({{"run", time.point->run},
                             {"gpus", time.point->gpus},
                             {"layer", time.layer ? Json(*time.layer) : Json()},
                             {"mean_us", time.times.mean_us},
                             {"slowest_us", time.times.slowest_us}});
  }
  return document(json);
}

}  // namespace inline_prof::exports
