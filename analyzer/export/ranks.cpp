#include "export/ranks.hpp"

#include <nlohmann/json.hpp>

namespace inline_prof::exports {
namespace {

using Json = nlohmann::ordered_json;

Json device_json(const join::RankDevice& device) {
  return {{"file", device.file},
          {"host", device.host},
          {"rank", device.rank ? Json(*device.rank) : Json()},
          {"device_id", device.device_id}};
}

}  // namespace

std::string ranks_json(const join::RankComparison& comparison) {
  Json json;
  json["schema"] = "inline_prof_ranks/1";
  json["devices"] = comparison.devices;
  json["events"] = comparison.events;
  json["slow_devices"] = Json::array();
  for (const join::Straggler& slow : comparison.slow_devices)
    json["slow_devices"].push_back({{"device", device_json(slow.device)}, {"ratio", slow.ratio}});
  json["stragglers"] = Json::array();
  for (const join::Straggler& slow : comparison.stragglers) {
    json["stragglers"].push_back({{"device", device_json(slow.device)},
                                  {"layer", slow.layer},
                                  {"event", slow.event},
                                  {"occurrence", slow.occurrence},
                                  {"time_us", slow.time_us},
                                  {"median_us", slow.median_us},
                                  {"ratio", slow.ratio}});
  }
  json["collectives"] = Json::array();
  for (const join::CollectiveSplit& split : comparison.collectives) {
    json["collectives"].push_back(
        {{"layer", split.layer},
         {"event", split.event},
         {"occurrence", split.occurrence},
         {"iterations", split.iterations},
         {"transfer_us", split.transfer_us},
         {"wait_us", split.wait_us},
         {"predicted_us", split.predicted_us ? Json(*split.predicted_us) : Json()},
         {"last", device_json(split.last)}});
  }
  json["unsplit"] = comparison.unsplit;
  json["warnings"] = comparison.warnings;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inline_prof::exports
