// reshardcheck explain: who owns what, and what moves where. Runs nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/region_grid.h"
#include "cli/svg_picture.h"
#include "cli/text_picture.h"
#include "core/layout/json.h"
#include "core/layout/notation.h"
#include "core/plan/planner.h"
#include "core/plan/prover.h"
#include "fuzz/corpus.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

struct ExplainCommand {
  std::vector<std::string> arguments;
  std::string svg;
  std::int64_t rows = 32;
  bool json = false;
};

ordered_json side_json(const Layout& layout) { return {{"ranks", owners_to_json(layout)}}; }

ordered_json explain_json(const Case& value) {
  ordered_json tensors = ordered_json::array();
  for (const TensorCase& tensor : value.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", name(tensor.dtype)},
                       {"shape", tensor.shape()},
                       {"path", name(tensor.path)},
                       {"source", side_json(tensor.source)},
                       {"target", side_json(tensor.target)}});
  }
  return {{"case", to_text(value)}, {"tensors", std::move(tensors)}};
}

std::string owned_text(const Layout& layout, std::size_t mesh_index) {
  constexpr std::size_t width = 60;
  if (layout.owned_elements(mesh_index) == 0) return "nothing";
  std::string result;
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    result += (dim == 0 ? "" : " x ") + layout.piece(mesh_index, dim).owned.text();
  }
  return layout.dims() == 0 ? "the element" : shortened(result, width);
}

std::string coordinate_text(const Mesh& mesh, std::size_t mesh_index) {
  std::vector<std::int64_t> coordinate;
  for (std::size_t axis = 0; axis < mesh.axes(); ++axis) coordinate.push_back(mesh.coordinate(mesh_index, axis));
  return fmt::format("({})", fmt::join(coordinate, ","));
}

std::string side_table(std::string_view side, const Layout& layout, std::int64_t most_rows) {
  using enum Table::Align;
  const auto ranks = static_cast<std::int64_t>(layout.mesh().size());
  const bool replicated = layout.replica_count() > 1;
  std::vector<Table::Column> columns{{"  rank", right, 6}, {"coordinate"}, {"local shape"}, {"owns"}};
  if (replicated) columns.push_back({"held by"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(ranks, most_rows)); ++i) {
    const Shape local = layout.local_shape(i);
    rows.push_back({std::to_string(layout.mesh().ranks()[i]), coordinate_text(layout.mesh(), i),
                    local.empty() ? "()" : fmt::format("{}", fmt::join(local, "x")), owned_text(layout, i),
                    replicated ? shard_label(layout, layout.shard_of(i)) : ""});
  }
  std::string result = fmt::format("\n  {}  {}\n", side, layout.text());
  result += Table::whole(std::move(columns), rows);
  if (ranks > most_rows) result += fmt::format("    and {} more ranks\n", ranks - most_rows);
  return result;
}

std::string moves(const TensorCase& tensor, const Options& options, std::int64_t most_rows) {
  const Topology topology = Topology::of(options);
  const PlannerKind planner = planner_for(tensor.path, PlannerKind::replica_aware);
  const Plan plan = make_plan(planner, tensor.source, tensor.target, topology);
  const Proof proof = prove(plan, tensor.source, tensor.target, topology);
  const int width = width_bytes(tensor.dtype);
  const auto transfers = static_cast<std::int64_t>(plan.transfers.size());
  std::string result = fmt::format(
      "\n  moves ({} plan): {}, {}; {} stay on their rank, {} within domains, {} across domains\n", name(planner),
      count_of(transfers, "transfer"), count_of(proof.messages, "message"), human_bytes(proof.moved.local * width),
      human_bytes(proof.moved.within_domains * width), human_bytes(proof.moved.across_domains * width));
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(transfers, most_rows)); ++i) {
    result += fmt::format("    {}\n", to_text(plan, plan.transfers[i]));
  }
  if (transfers > most_rows) result += fmt::format("    and {} more\n", transfers - most_rows);
  return result;
}

std::string explain_text(const Case& value, std::int64_t most_rows) {
  const std::string text = to_text(value);
  std::string result = fmt::format("{}\n{}, {} ranks, {}\n", text, count_of(std::ssize(value.tensors), "tensor"),
                                   value.world_ranks(), count_of(value.total_elements(), "element"));
  for (const TensorCase& tensor : value.tensors) {
    if (to_text(tensor) != text) result += fmt::format("\n{}\n", to_text(tensor));
    result += "\n" + text_picture(tensor);
    result += side_table("source", tensor.source, most_rows) + side_table("target", tensor.target, most_rows);
    result += moves(tensor, value.options, most_rows);
  }
  return result;
}

ExitCode explain(Console& console, const ExplainCommand& command) {
  const Result<std::vector<InputCase>> cases = read_input(command.arguments);
  if (!cases) return fail(console, ExitCode::usage, cases.error().reason, input_hint(command.arguments));
  if (!command.svg.empty() && cases->size() != 1) {
    return fail(console, ExitCode::usage, fmt::format("--svg draws one case, not {}", cases->size()));
  }
  for (std::size_t i = 0; i < cases->size() && !console.out.closed(); ++i) {
    const Case& value = (*cases)[i].value;
    if (command.json) {
      console.out.line(json_line(explain_json(value)));
    } else {
      console.out.print((i == 0 ? "" : "\n") + explain_text(value, command.rows));
    }
  }
  if (command.svg.empty()) return ExitCode::clean;
  const Status written = write_file_whole(command.svg, svg_picture(cases->front().value));
  if (!written) return fail(console, ExitCode::environment, written.error().reason);
  return ExitCode::clean;
}

}  // namespace

Action add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "Show who owns what and what moves where");
  const auto options = std::make_shared<ExplainCommand>();
  command->add_option("case", options->arguments, "Case text, JSON, a file of cases, or - for standard input")
      ->required()
      ->type_name("CASE|FILE");
  command->add_option("--svg", options->svg, "Also draw the case into this file")->type_name("FILE");
  add_number(*command, {"--rows", "Ranks and transfers listed before 'and N more' (default 32)", 1}, options->rows);
  command->add_flag("--json", options->json, "Print the owners as one JSON object a case");
  command->footer(std::string(notation_help) +
                  "Examples:\n"
                  "  reshardcheck explain 'f32[5,3] 2x2@0 S(0),S(0) -> 2x2@4 R,R'\n"
                  "  reshardcheck explain 'bf16[10,8] 2@0 S(0,segments=6|2|2) -> 4@2 S(1)' --svg qkv.svg");
  return [options](Console& console) { return explain(console, *options); };
}

}  // namespace reshardcheck::cli
