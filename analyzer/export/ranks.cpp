#include "export/ranks.hpp"

#include "export/json_values.hpp"

namespace inline_prof::exports {
namespace {

Json device_json(const join::RankDevice& device) {
  return {{"file", device.file},
          {"host", device.host},
          {"rank", or_null(device.rank)},
          {"device_id", device.device_id}};
}

Json pattern_json(const join::RankPattern& pattern) {
  Json json{{"dimension", pattern.dimension},
            {"value", pattern.value},
            {"devices", pattern.devices},
            {"ratio", or_null(pattern.ratio)},
            {"events", Json::array()}};
  for (const join::RankPattern::Event& event : pattern.events) {
    json["events"].push_back({{"layer", event.layer},
                              {"event", event.event},
                              {"occurrence", event.occurrence},
                              {"devices", event.devices},
                              {"slow_devices", event.slow_devices},
                              {"time_us", event.time_us},
                              {"median_us", event.median_us},
                              {"ratio", event.ratio}});
  }
  return json;
}

}  // namespace

std::string ranks_json(const join::RankComparison& comparison) {
  Json json;
  json["schema"] = "inline_prof_ranks/1";
  json["phase"] = or_null(comparison.phase);
  json["devices"] = comparison.devices;
  json["events"] = comparison.events;
  json["patterns"] = Json::array();
  for (const join::RankPattern& pattern : comparison.patterns)
    json["patterns"].push_back(pattern_json(pattern));
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
    json["collectives"].push_back({{"layer", split.layer},
                                   {"event", split.event},
                                   {"occurrence", split.occurrence},
                                   {"iterations", split.iterations},
                                   {"transfer_us", split.transfer_us},
                                   {"wait_us", split.wait_us},
                                   {"predicted_us", or_null(split.predicted_us)},
                                   {"last", device_json(split.last)}});
  }
  json["unsplit"] = comparison.unsplit;
  json["warnings"] = comparison.warnings;
  return document(json);
}

}  // namespace inline_prof::exports
