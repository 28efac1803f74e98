// Provenance: which source replica served each element, from the tags of a tag pass.
//
// In a tag pass every source rank writes its own mesh index, modulo the values of the element's width, into all it
// holds. A target element is right when its tag names a rank that holds the element. The counts say how a closed
// subject spreads its reads over replicas and domains, without its co-operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/plan/topology.h"
#include "verifier/element_bits.h"
#include "verifier/rank_report.h"
#include "verifier/stretches.h"

namespace reshardcheck {

/// Counts the tags of one target shard.
class ServedCounter {
 public:
  ServedCounter(const Layout& source, int width_bytes);

  /// Counts a stretch at `memory`; calls wrong(element, got) for elements whose tag is no holder's.
  template <typename Wrong>
  void count(const Stretch& stretch, const std::byte* memory, Wrong&& wrong) {
    for (std::int64_t element = 0; element < stretch.count; ++element) {
      const std::uint64_t got = load_element(memory + element * width_bytes_, width_bytes_);
      if (!count_one(stretch.global_index + element, got)) wrong(element, got);
    }
  }

  /// A tag that would have been right for an element: its first holder's.
  [[nodiscard]] std::uint64_t a_tag_of(std::int64_t global_index) const;

  /// Appends a line for every source rank that served something.
  void report(std::size_t tensor, Rank target, std::vector<Served>& out) const;

 private:
  [[nodiscard]] bool holds(std::size_t mesh_index, const Shape& index) const;
  bool count_one(std::int64_t global_index, std::uint64_t got);

  const Layout& source_;
  int width_bytes_;
  std::size_t tags_;                  // distinct ones; a mesh may have more ranks
  std::vector<std::int64_t> served_;  // by mesh index
};

/// Over all ranks of a run: how many elements were served from within the target's domain and from other domains.
struct ProvenanceReport {
  std::vector<Served> served;
  std::int64_t same_domain_elements = 0;
  std::int64_t other_domain_elements = 0;
};
ProvenanceReport merge_provenance(std::span<const RankReport> ranks, const Topology& topology);

}  // namespace reshardcheck
