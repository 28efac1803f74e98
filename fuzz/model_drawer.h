// Draws a mix that is a small transformer, sharded as training and inference stacks shard it.
//
// Sizes are tiny, but every class of parameter keeps its shape of trouble: vocabularies padded differently on the
// two sides, fused gate/up and QKV in segments, Mamba's unequal in_proj, experts dealt out whole, replicated norms,
// routers and scalars. Weights of the projections go by reshard, most of the rest by gather and broadcast, in one
// refit.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/choices.h"
#include "fuzz/draft.h"
#include "fuzz/generator.h"

namespace reshardcheck {

struct RankGroups {
  std::vector<Rank> source;
  std::vector<Rank> target;
};

/// `count` parameters of one model on the two groups. Rules that `options` does not list are replaced by chunk.
std::vector<TensorDraft> draw_model(Choices& choices, const GeneratorOptions& options, const RankGroups& groups,
                                    std::int64_t count);

}  // namespace reshardcheck
