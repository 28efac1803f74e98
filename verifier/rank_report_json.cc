#include "verifier/rank_report_json.h"

#include <nlohmann/json.hpp>

#include "core/layout/json.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

json to_json(const Call& call) { return json::array({call.pass, call.refit}); }
Call call_of(const json& value) { return {value.at(0).get<int>(), value.at(1).get<int>()}; }

json to_json(const DataReport& report) {
  json places = json::array();
  for (const WrongPlace& place : report.places) {
    places.push_back({place.tensor, place.local_offset, place.local_index, place.global_index, to_json(place.call),
                      place.expected, place.got, place.passes_seen});
  }
  return {{"places", std::move(places)}, {"wrong_elements", report.wrong_elements}};
}

DataReport data_of(const json& value) {
  DataReport report;
  report.wrong_elements = value.at("wrong_elements").get<std::int64_t>();
  for (const json& each : value.at("places")) {
    WrongPlace place;
    place.tensor = each.at(0).get<std::size_t>();
    place.local_offset = each.at(1).get<std::int64_t>();
    place.local_index = each.at(2).get<Shape>();
    place.global_index = each.at(3).get<std::int64_t>();
    place.call = call_of(each.at(4));
    place.expected = each.at(5).get<std::uint64_t>();
    place.got = each.at(6).get<std::array<std::uint64_t, max_passes>>();
    place.passes_seen = each.at(7).get<int>();
    report.places.push_back(std::move(place));
  }
  return report;
}

json to_json(const RankReport& report) {
  json value{{"rank", report.rank},
             {"idle", report.idle},
             {"outcome", {report.outcome.kind, report.outcome.comm, report.outcome.reason}},
             {"call", to_json(report.call)},
             {"threw", report.threw},
             {"exception", report.exception},
             {"touched", report.touched},
             {"definition", to_json(report.definition)},
             {"naive", to_json(report.naive)},
             {"naive_disagreement", report.naive_disagreement},
             {"gather_broadcast", to_json(report.gather_broadcast)},
             {"gather_broadcast_failure", report.gather_broadcast_failure},
             {"served", json::array()}};
  if (report.stray) {
    const StrayWrite& stray = *report.stray;
    value["stray"] = {stray.tensor, stray.side, stray.offset_bytes, stray.footprint_bytes, to_json(stray.call)};
  }
  if (report.source_change) {
    const SourceChange& change = *report.source_change;
    value["source_change"] = {change.tensor, change.local_index, to_json(change.call), change.expected, change.got};
  }
  if (report.close_failure) value["close_failure"] = {report.close_failure->threw, report.close_failure->reason};
  for (const Served& served : report.served) {
    value["served"].push_back({served.tensor, served.source, served.target, served.elements});
  }
  return value;
}

RankReport report_of(const json& value) {
  RankReport report;
  report.rank = value.at("rank").get<Rank>();
  report.idle = value.at("idle").get<bool>();
  const json& outcome = value.at("outcome");
  report.outcome = {outcome.at(0).get<OutcomeKind>(), outcome.at(1).get<CommStatus>(),
                    outcome.at(2).get<std::string>()};
  report.call = call_of(value.at("call"));
  report.threw = value.at("threw").get<bool>();
  report.exception = value.at("exception").get<std::string>();
  report.touched = value.at("touched").get<bool>();
  report.definition = data_of(value.at("definition"));
  report.naive = data_of(value.at("naive"));
  report.naive_disagreement = value.at("naive_disagreement").get<std::string>();
  report.gather_broadcast = data_of(value.at("gather_broadcast"));
  report.gather_broadcast_failure = value.at("gather_broadcast_failure").get<std::string>();
  if (const auto stray = value.find("stray"); stray != value.end()) {
    report.stray =
        StrayWrite{stray->at(0).get<std::size_t>(), stray->at(1).get<Side>(), stray->at(2).get<std::int64_t>(),
                   stray->at(3).get<std::int64_t>(), call_of(stray->at(4))};
  }
  if (const auto change = value.find("source_change"); change != value.end()) {
    report.source_change =
        SourceChange{change->at(0).get<std::size_t>(), change->at(1).get<Shape>(), call_of(change->at(2)),
                     change->at(3).get<std::uint64_t>(), change->at(4).get<std::uint64_t>()};
  }
  if (const auto failure = value.find("close_failure"); failure != value.end()) {
    report.close_failure = CloseFailure{failure->at(0).get<bool>(), failure->at(1).get<std::string>()};
  }
  for (const json& served : value.at("served")) {
    report.served.push_back({served.at(0).get<std::size_t>(), served.at(1).get<Rank>(), served.at(2).get<Rank>(),
                             served.at(3).get<std::int64_t>()});
  }
  return report;
}

}  // namespace

std::string pack_reports(std::span<const RankReport> reports) {
  json packed = json::array();
  for (const RankReport& report : reports) packed.push_back(to_json(report));
  return json_line(packed);
}

Result<std::vector<RankReport>> unpack_reports(std::string_view text) {
  std::vector<RankReport> reports;
  try {
    for (const json& each : json::parse(text)) reports.push_back(report_of(each));
  } catch (const json::exception& problem) {
    return Error{std::string("not the reports of ranks: ") + problem.what()};
  }
  return reports;
}

}  // namespace reshardcheck
