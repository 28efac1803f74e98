#include "fuzz/model_drawer.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "fuzz/side_drawer.h"

namespace reshardcheck {
namespace {

/// The sizes of one model, all small. Attention has `heads` query heads and `kv_heads` key and value heads.
struct ModelSizes {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t head_dim = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t experts = 0;
  std::int64_t vocabulary = 0;
};

enum class Parameter : std::uint8_t {
  embedding,
  norm,
  qkv,
  attention_out,
  gate_up,
  down,
  router,
  expert_gate_up,
  expert_down,
  mamba_in,
  mamba_conv,
  scale
};
constexpr std::array all_parameters = {Parameter::embedding,     Parameter::norm,           Parameter::qkv,
                                       Parameter::attention_out, Parameter::gate_up,        Parameter::down,
                                       Parameter::router,        Parameter::expert_gate_up, Parameter::expert_down,
                                       Parameter::mamba_in,      Parameter::mamba_conv,     Parameter::scale};

std::string_view name(Parameter parameter) {
  constexpr std::string_view names[] = {"embedding",    "norm",          "qkv",          "o_proj",
                                        "gate_up",      "down",          "router",       "experts.gate_up",
                                        "experts.down", "mamba.in_proj", "mamba.conv1d", "scale"};
  return names[static_cast<std::size_t>(parameter)];
}

/// A mesh of two axes: the outer one replicates dense parameters (data) and deals out whole experts (expert), the
/// inner one cuts matrices (tensor parallel).
struct Parallelism {
  std::int64_t outer = 1;
  std::int64_t tensor = 1;
};

class ModelDrawer {
 public:
  ModelDrawer(Choices& choices, const GeneratorOptions& options, const RankGroups& groups)
      : choices_(choices), options_(options), groups_(groups) {
    sizes_.hidden = choices.between(2, 6);
    sizes_.intermediate = choices.between(2, 6);
    sizes_.head_dim = choices.between(1, 2);
    sizes_.kv_heads = choices.between(1, 2);
    sizes_.heads = sizes_.kv_heads * choices.between(1, 3);
    sizes_.experts = choices.between(2, 6);
    sizes_.vocabulary = choices.between(3, 12);
    source_ = draw_parallelism(std::ssize(groups.source));
    target_ = draw_parallelism(std::ssize(groups.target));
    dtype_ = choices.pick(std::span<const DType>(options.dtypes));
  }

  TensorDraft draw(Parameter parameter, std::int64_t number) {
    TensorDraft tensor;
    tensor.name =
        number == 0 ? std::string(name(parameter)) : std::string(name(parameter)) + "." + std::to_string(number);
    tensor.dtype = dtype_;
    tensor.source = {{source_.outer, source_.tensor}, groups_.source, {Placement::replicate(), Placement::replicate()}};
    tensor.target = {{target_.outer, target_.tensor}, groups_.target, {Placement::replicate(), Placement::replicate()}};
    shape_and_place(parameter, tensor);
    keep_allowed_rules(tensor.source);
    keep_allowed_rules(tensor.target);
    const bool bulk = parameter == Parameter::gate_up || parameter == Parameter::down ||
                      parameter == Parameter::expert_gate_up || parameter == Parameter::expert_down;
    if (options_.gather_broadcast > 0 && choices_.chance(bulk ? 5 : 70)) tensor.path = Path::gather_broadcast;
    return tensor;
  }

 private:
  Parallelism draw_parallelism(std::int64_t ranks) {
    const std::vector<std::int64_t> extents = draw_extents(choices_, ranks, 2);
    return extents.size() == 2 ? Parallelism{extents[0], extents[1]} : Parallelism{1, extents[0]};
  }

  void shape_and_place(Parameter parameter, TensorDraft& tensor) {
    const ModelSizes& m = sizes_;
    switch (parameter) {
      case Parameter::embedding:  // training pads to a multiple of its own, inference to another
        tensor.shape = {m.vocabulary, m.hidden};
        tensor.source.placements[1] = Placement::padded(0, 4);
        tensor.target.placements[1] = Placement::padded(0, 2);
        break;
      case Parameter::norm:
        tensor.shape = {m.hidden};
        break;
      case Parameter::qkv:
        tensor.shape = {(m.heads + 2 * m.kv_heads) * m.head_dim, m.hidden};
        place_both(tensor,
                   Placement::segments(0, {m.heads * m.head_dim, m.kv_heads * m.head_dim, m.kv_heads * m.head_dim}));
        break;
      case Parameter::attention_out:
        tensor.shape = {m.hidden, m.heads * m.head_dim};
        place_both(tensor, Placement::shard(1));
        break;
      case Parameter::gate_up:
        tensor.shape = {2 * m.intermediate, m.hidden};
        place_both(tensor, Placement::segments(0, {m.intermediate, m.intermediate}));
        break;
      case Parameter::down:
        tensor.shape = {m.hidden, m.intermediate};
        place_both(tensor, Placement::shard(1));
        break;
      case Parameter::router:
        tensor.shape = {m.experts, m.hidden};
        break;
      case Parameter::expert_gate_up:
        tensor.shape = {m.experts, 2 * m.intermediate, m.hidden};
        place_both(tensor, Placement::segments(1, {m.intermediate, m.intermediate}));
        place_experts(tensor);
        break;
      case Parameter::expert_down:
        tensor.shape = {m.experts, m.hidden, m.intermediate};
        place_both(tensor, Placement::shard(2));
        place_experts(tensor);
        break;
      case Parameter::mamba_in:  // z, x, B, C, dt
        tensor.shape = {2 * m.intermediate + 2 * m.head_dim + m.heads, m.hidden};
        place_both(tensor, Placement::segments(0, {m.intermediate, m.intermediate, m.head_dim, m.head_dim, m.heads}));
        break;
      case Parameter::mamba_conv:  // x, B, C
        tensor.shape = {m.intermediate + 2 * m.head_dim, 1, 4};
        place_both(tensor, Placement::segments(0, {m.intermediate, m.head_dim, m.head_dim}));
        break;
      case Parameter::scale:
        tensor.shape = {};
        break;
    }
  }

  static void place_both(TensorDraft& tensor, const Placement& placement) {
    tensor.source.placements[1] = placement;
    tensor.target.placements[1] = placement;
  }

  /// Training deals experts over the outer axis and cuts each over the inner one; inference does the same or gives
  /// whole experts to every rank (both axes on the expert dim).
  void place_experts(TensorDraft& tensor) {
    tensor.source.placements[0] = Placement::shard(0);
    if (choices_.chance(60)) tensor.target.placements[0] = Placement::shard(0);
    if (choices_.chance(30)) tensor.target.placements[1] = Placement::shard(0);
  }

  void keep_allowed_rules(SideDraft& side) const {
    for (Placement& placement : side.placements) {
      const bool allowed =
          std::find(options_.rules.begin(), options_.rules.end(), placement.rule) != options_.rules.end();
      if (placement.is_shard() && !allowed) placement = Placement::shard(placement.dim);
    }
  }

  Choices& choices_;
  const GeneratorOptions& options_;
  const RankGroups& groups_;
  ModelSizes sizes_;
  Parallelism source_;
  Parallelism target_;
  DType dtype_ = DType::u8;
};

}  // namespace

std::vector<TensorDraft> draw_model(Choices& choices, const GeneratorOptions& options, const RankGroups& groups,
                                    std::int64_t count) {
  ModelDrawer drawer(choices, options, groups);
  std::array<std::int64_t, all_parameters.size()> drawn{};
  std::vector<TensorDraft> tensors;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto parameter = static_cast<std::size_t>(choices.below(std::ssize(all_parameters)));
    tensors.push_back(drawer.draw(all_parameters[parameter], drawn[parameter]++));
  }
  return tensors;
}

}  // namespace reshardcheck
