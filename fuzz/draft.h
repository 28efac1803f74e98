// Draft: a case in pieces that can be changed, before and after it is a Case.
//
// A Case holds immutable layouts that know what every rank owns. Generators and the shrinker change shapes,
// meshes and placements one by one, so they work on drafts and build the Case (with all its checks) at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/case.h"

namespace reshardcheck {

struct SideDraft {
  std::vector<std::int64_t> extents;  // of the mesh, one per axis
  std::vector<Rank> ranks;            // row-major, as many as the product of the extents
  std::vector<Placement> placements;  // one per axis

  [[nodiscard]] std::int64_t size() const;  // ranks that the extents ask for
  friend bool operator==(const SideDraft&, const SideDraft&) = default;
};

struct TensorDraft {
  std::string name;
  DType dtype = DType::u8;
  Path path = Path::reshard;
  Shape shape;
  SideDraft source;
  SideDraft target;
  friend bool operator==(const TensorDraft&, const TensorDraft&) = default;
};

struct CaseDraft {
  std::vector<TensorDraft> tensors;
  Options options;
  friend bool operator==(const CaseDraft&, const CaseDraft&) = default;
};

CaseDraft draft_of(const Case& value);

/// The case, valid in every respect, or the reason why the draft is none.
Result<Case> build(const CaseDraft& draft);

}  // namespace reshardcheck
