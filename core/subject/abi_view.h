// ABI view: the tensors of a call as the C ABI shows them to a subject.
//
// What depends on layouts alone is made once and kept from call to call; a call then costs a few pointers a tensor
// and allocates nothing. Everything points into the layouts that the view keeps, or into the batch.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/subject/abi.h"
#include "core/subject/subject.h"

namespace reshardcheck {

class AbiView {
 public:
  /// Valid until the next call, and as long as the batch.
  std::span<const reshardcheck_tensor> show(const Batch& batch);

  /// The intervals() callback.
  static std::uint64_t intervals(const reshardcheck_side* side, std::uint64_t mesh_index, std::uint32_t dim,
                                 reshardcheck_interval* out, std::uint64_t capacity);

 private:
  struct Side {
    explicit Side(const Layout& from);
    Layout layout;
    std::vector<reshardcheck_placement> placements;
    reshardcheck_side shown{};
  };
  struct Sides {
    std::shared_ptr<const Side> source;
    std::shared_ptr<const Side> target;
  };

  void keep(std::shared_ptr<const Side>& side, const Layout& layout);

  std::vector<Sides> sides_;                         // by tensor of the case
  std::vector<std::shared_ptr<const Side>> recent_;  // that later tensors may share, a ring
  std::size_t next_recent_ = 0;
  std::vector<reshardcheck_tensor> tensors_;
};

}  // namespace reshardcheck
