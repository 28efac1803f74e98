#include "verifier/verdict_json.h"

#include <nlohmann/json.hpp>

namespace reshardcheck {

using nlohmann::json;

json verdict_to_json(const Verdict& verdict) {
  json value{{"verdict", name(verdict.kind)},
             {"detail", verdict.detail},
             {"oracle", verdict.oracle},
             {"wrong_elements", verdict.wrong_elements}};
  json& wrong = value["wrong"] = json::array();
  for (const WrongElement& element : verdict.wrong) {
    json each{{"tensor", element.tensor},           {"rank", element.rank},
              {"local_index", element.local_index}, {"global_index", element.global_index},
              {"expected", element.expected},       {"got", element.got}};
    if (element.origin) {
      each["origin"] = {
          {"tensor", element.origin->tensor}, {"index", element.origin->index}, {"padding", element.origin->padding}};
    }
    wrong.push_back(std::move(each));
  }
  return value;
}

Result<Verdict> verdict_from_json(const json& value) {
  Verdict verdict;
  try {
    const std::optional<VerdictKind> kind = parse_verdict_kind(value.at("verdict").get<std::string>());
    if (!kind) return Error{"no verdict is called '" + value.at("verdict").get<std::string>() + "'"};
    verdict.kind = *kind;
    verdict.detail = value.at("detail").get<std::string>();
    verdict.oracle = value.at("oracle").get<std::string>();
    verdict.wrong_elements = value.at("wrong_elements").get<std::int64_t>();
    for (const json& each : value.at("wrong")) {
      if (verdict.wrong.size() == Verdict::max_wrong) break;
      WrongElement element;
      element.tensor = each.at("tensor").get<std::size_t>();
      element.rank = each.at("rank").get<Rank>();
      element.local_index = each.at("local_index").get<Shape>();
      element.global_index = each.at("global_index").get<Shape>();
      element.expected = each.at("expected").get<std::uint64_t>();
      element.got = each.at("got").get<std::uint64_t>();
      if (const auto origin = each.find("origin"); origin != each.end()) {
        element.origin = Origin{origin->at("tensor").get<std::size_t>(), origin->at("index").get<Shape>(),
                                origin->at("padding").get<bool>()};
      }
      verdict.wrong.push_back(std::move(element));
    }
  } catch (const json::exception& problem) {
    return Error{std::string("no verdict: ") + problem.what()};
  }
  return verdict;
}

}  // namespace reshardcheck
