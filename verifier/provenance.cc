// A tag names a mesh index modulo the values of the width, so a mesh of more ranks than that has several candidates;
// the first that holds the element counts as the one that served it.
#include "verifier/provenance.h"

#include <algorithm>
#include <tuple>

namespace reshardcheck {

ServedCounter::ServedCounter(const Layout& source, int width_bytes)
    : source_(source), width_bytes_(width_bytes), served_(source.mesh().size(), 0) {
  tags_ = width_bytes == 1 ? 256 : width_bytes == 2 ? 65'536 : source.mesh().size();
}

bool ServedCounter::holds(std::size_t mesh_index, const Shape& index) const {
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (!source_.piece(mesh_index, dim).owned.find(index[dim])) return false;
  }
  return true;
}

bool ServedCounter::count_one(std::int64_t global_index, std::uint64_t got) {
  const Shape index = global_index_of(source_.shape(), global_index);
  for (std::size_t mesh_index = got; mesh_index < served_.size(); mesh_index += tags_) {
    if (!holds(mesh_index, index)) continue;
    served_[mesh_index] += 1;
    return true;
  }
  return false;
}

std::uint64_t ServedCounter::a_tag_of(std::int64_t global_index) const {
  const Shape index = global_index_of(source_.shape(), global_index);
  std::size_t mesh_index = 0;
  while (mesh_index + 1 < served_.size() && !holds(mesh_index, index)) mesh_index += 1;
  return mesh_index % tags_;
}

void ServedCounter::report(std::size_t tensor, Rank target, std::vector<Served>& out) const {
  for (std::size_t mesh_index = 0; mesh_index < served_.size(); ++mesh_index) {
    if (served_[mesh_index] > 0)
      out.push_back({tensor, source_.mesh().ranks()[mesh_index], target, served_[mesh_index]});
  }
}

ProvenanceReport merge_provenance(std::span<const RankReport> ranks, const Topology& topology) {
  ProvenanceReport merged;
  for (const RankReport& rank : ranks) {
    for (const Served& served : rank.served) {
      (topology.same_domain(served.source, served.target) ? merged.same_domain_elements
                                                          : merged.other_domain_elements) += served.elements;
      merged.served.push_back(served);
    }
  }
  std::sort(merged.served.begin(), merged.served.end(), [](const Served& a, const Served& b) {
    return std::tie(a.tensor, a.target, a.source) < std::tie(b.tensor, b.target, b.source);
  });
  return merged;
}

}  // namespace reshardcheck
