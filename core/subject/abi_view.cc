// The enumerations of the ABI count as those of the tree do, which is checked here; so they are casts.
#include "core/subject/abi_view.h"

#include <algorithm>
#include <type_traits>

#include "core/layout/dtype.h"

namespace reshardcheck {
namespace {

static_assert(static_cast<int>(DType::u8) == RESHARDCHECK_U8 && static_cast<int>(DType::f8e5m2) == RESHARDCHECK_F8E5M2);
static_assert(static_cast<int>(DType::bf16) == RESHARDCHECK_BF16 && static_cast<int>(DType::f32) == RESHARDCHECK_F32);
static_assert(static_cast<int>(DType::f64) == RESHARDCHECK_F64 && all_dtypes.size() == RESHARDCHECK_F64 + 1);
static_assert(static_cast<int>(SplitRule::chunk) == RESHARDCHECK_CHUNK);
static_assert(static_cast<int>(SplitRule::balanced) == RESHARDCHECK_BALANCED);
static_assert(static_cast<int>(SplitRule::even) == RESHARDCHECK_EVEN);
static_assert(static_cast<int>(SplitRule::padded) == RESHARDCHECK_PADDED);
static_assert(static_cast<int>(SplitRule::cuts) == RESHARDCHECK_CUTS);
static_assert(static_cast<int>(SplitRule::segments) == RESHARDCHECK_SEGMENTS);
static_assert(static_cast<int>(SplitRule::strided) == RESHARDCHECK_STRIDED);
static_assert(static_cast<int>(Path::reshard) == RESHARDCHECK_PATH_RESHARD);
static_assert(static_cast<int>(Path::gather_broadcast) == RESHARDCHECK_PATH_GATHER_BROADCAST);
static_assert(std::is_same_v<Rank, std::int32_t>);

reshardcheck_local shown(const LocalTensor& local) {
  if (!local.present()) return {nullptr, -1, nullptr, nullptr};  // also where an earlier case left memory behind
  return {local.data, static_cast<std::int64_t>(local.mesh_index), local.shape.data(), local.strides.data()};
}

}  // namespace

AbiView::Side::Side(const Layout& from) : layout(from) {
  for (const Placement& placement : layout.placements()) {
    placements.push_back({placement.dim, static_cast<std::int32_t>(placement.rule), placement.parameter,
                          placement.sizes.data(), placement.sizes.size()});
  }
  const Mesh& mesh = layout.mesh();
  shown = {static_cast<std::uint32_t>(mesh.axes()),
           0,
           mesh.extents().data(),
           mesh.ranks().data(),
           placements.data(),
           &layout};
}

/// Makes `side` that of the layout. The tensors of a large mix have few geometries, so the latest ones are shared.
void AbiView::keep(std::shared_ptr<const Side>& side, const Layout& layout) {
  constexpr std::size_t most_recent = 64;
  if (side != nullptr && side->layout == layout) return;
  const auto known = std::find_if(recent_.begin(), recent_.end(),
                                  [&](const std::shared_ptr<const Side>& each) { return each->layout == layout; });
  if (known != recent_.end()) {
    side = *known;
    return;
  }
  side = std::make_shared<const Side>(layout);
  if (recent_.size() < most_recent) {
    recent_.push_back(side);
  } else {
    recent_[next_recent_++ % most_recent] = side;
  }
}

std::span<const reshardcheck_tensor> AbiView::show(const Batch& batch) {
  const std::size_t end = batch.first_tensor + batch.tensors.size();
  if (sides_.size() < end) sides_.resize(end);
  tensors_.clear();
  for (std::size_t i = 0; i < batch.tensors.size(); ++i) {
    const BatchTensor& tensor = batch.tensors[i];
    const TensorCase& spec = *tensor.spec;
    Sides& sides = sides_[batch.first_tensor + i];
    keep(sides.source, spec.source);
    keep(sides.target, spec.target);
    tensors_.push_back({sizeof(reshardcheck_tensor), spec.name.c_str(), static_cast<std::int32_t>(spec.dtype),
                        width_bytes(spec.dtype), static_cast<std::int32_t>(spec.path),
                        static_cast<std::uint32_t>(spec.shape().size()), spec.shape().data(), sides.source->shown,
                        sides.target->shown, shown(tensor.source), shown(tensor.target)});
  }
  return tensors_;
}

std::uint64_t AbiView::intervals(const reshardcheck_side* side, std::uint64_t mesh_index, std::uint32_t dim,
                                 reshardcheck_interval* out, std::uint64_t capacity) {
  if (side == nullptr || side->layout == nullptr) return 0;
  const Layout& layout = *static_cast<const Layout*>(side->layout);
  if (mesh_index >= layout.mesh().size() || dim >= layout.dims()) return 0;
  const std::span<const Interval> owned = layout.piece(mesh_index, dim).owned.intervals();
  const std::size_t written = out == nullptr ? 0 : std::min<std::size_t>(capacity, owned.size());
  for (std::size_t i = 0; i < written; ++i) out[i] = {owned[i].begin, owned[i].end};
  return owned.size();
}

}  // namespace reshardcheck
