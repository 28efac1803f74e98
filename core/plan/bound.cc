// The least that any correct reshard moves across domains.
//
// A domain needs every element that one of its target ranks wants and none of its source ranks holds, and needs it
// once. Distinct target shards share no element, so the sum over the distinct shards of each domain is that bound.
// Written against the layouts alone, with no code of the planners, because it is what their traffic is held against.
#include <algorithm>
#include <array>

#include "core/plan/prover.h"
#include "core/plan/saturating.h"

namespace reshardcheck {
namespace {

struct OwnedInterval {
  Interval interval;
  std::uint32_t piece = 0;
};

/// A source piece and how many elements of a dim it shares with a target piece.
struct Share {
  std::uint32_t source_piece = 0;
  std::int64_t elements = 0;
};

using SharesOfPiece = std::vector<Share>;  // of one target piece, ascending by source piece

std::vector<OwnedInterval> owned_intervals(std::span<const DimPiece> pieces) {
  std::vector<OwnedInterval> owned;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    for (const Interval& interval : pieces[piece].owned.intervals()) {
      owned.push_back({interval, static_cast<std::uint32_t>(piece)});
    }
  }
  std::sort(owned.begin(), owned.end(),
            [](const OwnedInterval& a, const OwnedInterval& b) { return a.interval.begin < b.interval.begin; });
  return owned;
}

/// What a target piece shares with the source pieces. `owned` are all of theirs; they do not overlap.
SharesOfPiece shares_of(const DimPiece& target, std::span<const OwnedInterval> owned) {
  SharesOfPiece shares;
  for (const Interval& wanted : target.owned.intervals()) {
    auto next = std::partition_point(owned.begin(), owned.end(),
                                     [&](const OwnedInterval& each) { return each.interval.end <= wanted.begin; });
    for (; next != owned.end() && next->interval.begin < wanted.end; ++next) {
      const std::int64_t shared =
          std::min(next->interval.end, wanted.end) - std::max(next->interval.begin, wanted.begin);
      shares.push_back({next->piece, shared});
    }
  }
  std::sort(shares.begin(), shares.end(),
            [](const Share& a, const Share& b) { return a.source_piece < b.source_piece; });
  SharesOfPiece merged;
  for (const Share& share : shares) {
    if (!merged.empty() && merged.back().source_piece == share.source_piece) {
      merged.back().elements += share.elements;
    } else {
      merged.push_back(share);
    }
  }
  return merged;
}

/// The domains in which a shard has a replica, ascending, each once.
std::vector<std::vector<std::int64_t>> domains_of_shards(const Layout& layout, const Topology& topology) {
  std::vector<std::vector<std::int64_t>> domains(layout.shards());
  for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
    for (const Rank rank : layout.replicas(shard)) domains[shard].push_back(topology.domain_of(rank));
    std::sort(domains[shard].begin(), domains[shard].end());
    domains[shard].erase(std::unique(domains[shard].begin(), domains[shard].end()), domains[shard].end());
  }
  return domains;
}

class Bound {
 public:
  Bound(const Layout& source, const Layout& target, const Topology& topology)
      : source_(source),
        target_(target),
        source_domains_(domains_of_shards(source, topology)),
        target_domains_(domains_of_shards(target, topology)) {
    std::size_t stride = source.shards();
    for (std::size_t dim = 0; dim < source.dims(); ++dim) {
      const std::vector<OwnedInterval> owned = owned_intervals(source.pieces(dim));
      for (const DimPiece& piece : target.pieces(dim)) shares_[dim].push_back(shares_of(piece, owned));
      stride /= source.pieces(dim).size();
      strides_[dim] = stride;
    }
  }

  std::int64_t elements() {
    std::int64_t total = 0;
    for (std::size_t shard = 0; shard < target_.shards(); ++shard) {
      total = saturating_add(total, lacked_elements(shard, {0, 0, 1}));
    }
    return total;
  }

 private:
  /// A choice of source pieces in the dims before `dim`: the part of the source shard number it fixes, and how
  /// many elements it shares with the target shard so far.
  struct Choice {
    std::size_t dim = 0;
    std::size_t source_shard = 0;
    std::int64_t elements = 1;
  };

  /// Summed over the source shards that extend the choice and the domains of the target shard that lack them.
  std::int64_t lacked_elements(std::size_t target_shard, const Choice& choice) {
    if (choice.dim == source_.dims()) {
      const std::vector<std::int64_t>& wanting = target_domains_[target_shard];
      const std::vector<std::int64_t>& holding = source_domains_[choice.source_shard];
      const auto lacking = std::count_if(wanting.begin(), wanting.end(), [&](std::int64_t domain) {
        return !std::binary_search(holding.begin(), holding.end(), domain);
      });
      return saturating_multiply(lacking, choice.elements);
    }
    std::int64_t total = 0;
    for (const Share& share : shares_[choice.dim][target_.shard_piece_index(target_shard, choice.dim)]) {
      const Choice extended{choice.dim + 1, choice.source_shard + share.source_piece * strides_[choice.dim],
                            choice.elements * share.elements};
      total = saturating_add(total, lacked_elements(target_shard, extended));
    }
    return total;
  }

  const Layout& source_;
  const Layout& target_;
  std::vector<std::vector<std::int64_t>> source_domains_;
  std::vector<std::vector<std::int64_t>> target_domains_;
  std::array<std::vector<SharesOfPiece>, limits::max_dims> shares_;  // by dim, then target piece
  std::array<std::size_t, limits::max_dims> strides_{};
};

}  // namespace

std::int64_t across_domains_bound(const Layout& source, const Layout& target, const Topology& topology) {
  if (topology.domain_ranks == 0) return 0;  // all ranks are one domain
  return Bound(source, target, topology).elements();
}

}  // namespace reshardcheck
