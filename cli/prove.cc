// reshardcheck prove: plans the reshard of every tensor and judges the plan without moving a byte.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/command.h"
#include "cli/input.h"
#include "core/layout/json.h"
#include "core/layout/notation.h"
#include "core/plan/planner.h"
#include "core/plan/prover.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

struct ProveCommand {
  std::vector<std::string> arguments;
  std::string planner;  // as typed; empty: what each tensor's path says
  bool json = false;
  bool quiet = false;
};

/// What was planned for one tensor, and what the prover says of it.
struct ProvedPlan {
  PlannerKind planner = PlannerKind::direct;
  std::int64_t transfers = 0;
  Proof proof;
};

/// Plans and proofs by geometry: the thousands of tensors of a model have a few dozen, each is planned once.
class Prover {
 public:
  explicit Prover(const Topology& topology) : topology_(topology) {}

  const ProvedPlan& prove_tensor(const TensorCase& tensor, PlannerKind planner) {
    TensorCase geometry = tensor;
    geometry.name.clear();
    geometry.dtype = DType::u8;
    const auto [entry, is_new] = known_.try_emplace({to_text(geometry), planner});
    if (is_new) {
      const Plan plan = make_plan(planner, tensor.source, tensor.target, topology_);
      entry->second = {planner, static_cast<std::int64_t>(plan.transfers.size()),
                       prove(plan, tensor.source, tensor.target, topology_)};
    }
    return entry->second;
  }

 private:
  Topology topology_;
  std::map<std::tuple<std::string, PlannerKind>, ProvedPlan> known_;
};

/// Bytes across domains against the least that any plan can move: "1.00" is as good as it gets.
std::string ratio_text(const Proof& proof) {
  const std::int64_t moved = proof.moved.across_domains;
  if (proof.across_domains_bound == 0) return moved == 0 ? "1.00" : "-";
  return fmt::format("{:.2f}", static_cast<double>(moved) / static_cast<double>(proof.across_domains_bound));
}

ordered_json plan_json(const std::string& text, const TensorCase& tensor, const ProvedPlan& plan) {
  const std::int64_t width = width_bytes(tensor.dtype);
  const Proof& proof = plan.proof;
  ordered_json result{{"case", text},
                      {"tensor", tensor.name},
                      {"planner", name(plan.planner)},
                      {"proved", proof.holds()},
                      {"transfers", plan.transfers},
                      {"messages", proof.messages},
                      {"local_bytes", proof.moved.local * width},
                      {"within_domains_bytes", proof.moved.within_domains * width},
                      {"across_domains_bytes", proof.moved.across_domains * width},
                      {"across_domains_bound_bytes", proof.across_domains_bound * width},
                      {"largest_send_bytes", proof.largest_send_elements * width},
                      {"largest_receive_bytes", proof.largest_receive_elements * width},
                      {"violations", ordered_json::array()}};
  for (const Violation& each : proof.violations) {
    result["violations"].push_back({{"kind", name(each.kind)}, {"text", each.text}});
  }
  return result;
}

class Report {
 public:
  Report(Console& console, const ProveCommand& command) : console_(console), command_(command), table_(columns()) {
    if (!command.json && !command.quiet) console.out.line(table_.header());
  }

  void add(const std::string& text, const TensorCase& tensor, const ProvedPlan& plan) {
    ++plans_;
    if (!plan.proof.holds()) ++failures_;
    if (command_.json) {
      console_.out.line(json_line(plan_json(text, tensor, plan)));
      return;
    }
    if (command_.quiet && plan.proof.holds()) return;
    print_row(tensor, plan);
    for (const Violation& each : plan.proof.violations) {
      console_.out.line(fmt::format("      {}: {}", name(each.kind), each.text));
    }
  }

  ExitCode finish() {
    if (!command_.json && !command_.quiet) {
      console_.out.line(fmt::format("{} of {} proved", plans_ - failures_, count_of(plans_, "plan")));
    }
    return failures_ == 0 ? ExitCode::clean : ExitCode::findings;
  }

 private:
  static std::vector<Table::Column> columns() {
    using enum Table::Align;
    return {{"verdict", left, 8}, {"planner", left, 16}, {"transfers", right, 9}, {"messages", right, 8},
            {"local", right, 10}, {"within", right, 10}, {"across", right, 10},   {"bound", right, 10},
            {"ratio", right, 5},  {"tensor", left, 0}};
  }

  void print_row(const TensorCase& tensor, const ProvedPlan& plan) {
    constexpr std::size_t tensor_width = 72;
    const std::int64_t width = width_bytes(tensor.dtype);
    const Proof& proof = plan.proof;
    console_.out.line(
        table_.row({proof.holds() ? "PROVED" : "REFUTED", std::string(name(plan.planner)),
                    std::to_string(plan.transfers), std::to_string(proof.messages),
                    human_bytes(proof.moved.local * width), human_bytes(proof.moved.within_domains * width),
                    human_bytes(proof.moved.across_domains * width), human_bytes(proof.across_domains_bound * width),
                    ratio_text(proof), shortened(to_text(tensor), tensor_width)}));
  }

  Console& console_;
  const ProveCommand& command_;
  Table table_;
  std::int64_t plans_ = 0;
  std::int64_t failures_ = 0;
};

/// The planners that were asked for; empty when each tensor's path is to decide.
Result<std::vector<PlannerKind>> planners(const std::string& typed) {
  if (typed.empty()) return std::vector<PlannerKind>{};
  if (typed == "all") return std::vector<PlannerKind>(std::begin(all_planners), std::end(all_planners));
  if (const std::optional<PlannerKind> planner = parse_planner(typed)) return std::vector<PlannerKind>{*planner};
  return Error{fmt::format("no planner '{}'; known: direct replica_aware gather_broadcast all", typed)};
}

ExitCode prove_cases(Console& console, const ProveCommand& command) {
  const Result<std::vector<PlannerKind>> asked = planners(command.planner);
  if (!asked) return fail(console, ExitCode::usage, asked.error().reason);
  const Result<std::vector<InputCase>> cases = read_input(command.arguments);
  if (!cases) return fail(console, ExitCode::usage, cases.error().reason, input_hint(command.arguments));
  Report report(console, command);
  for (const InputCase& input : *cases) {
    Prover prover(Topology::of(input.value.options));
    const std::string text = command.json ? to_text(input.value) : "";
    for (const TensorCase& tensor : input.value.tensors) {
      std::vector<PlannerKind> kinds = *asked;
      if (kinds.empty()) kinds = {planner_for(tensor.path, PlannerKind::replica_aware)};
      for (const PlannerKind kind : kinds) report.add(text, tensor, prover.prove_tensor(tensor, kind));
      if (console.out.closed()) return report.finish();
    }
  }
  return report.finish();
}

}  // namespace

Action add_prove(CLI::App& app) {
  CLI::App* command = app.add_subcommand("prove", "Plan a reshard and prove the plan, without data");
  const auto options = std::make_shared<ProveCommand>();
  command->add_option("case", options->arguments, "Case text, JSON, a file of cases, or - for standard input")
      ->required()
      ->type_name("CASE|FILE");
  command
      ->add_option("--planner", options->planner,
                   "direct, replica_aware, gather_broadcast or all (default: as each tensor's path says)")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "Print one JSON object a plan");
  command->add_flag("--quiet", options->quiet, "Print refuted plans only");
  command->footer(
      "Proved: every target element is written exactly once, from a rank that holds it; sends and receives pair up;\n"
      "no rank waits in a circle; traffic is not below its bound. 'within' and 'across' count bytes inside and\n"
      "between domains (option domain=N of a case); 'ratio' is across over the least that any plan can move.\n"
      "Examples:\n"
      "  reshardcheck prove 'bf16[4096,4096] 8@0 S(0) -> 2x4@8 R,S(1) | domain=4' --planner all\n"
      "  reshardcheck prove golden/m2n_matrix.cases --quiet");
  return [options](Console& console) { return prove_cases(console, *options); };
}

}  // namespace reshardcheck::cli
