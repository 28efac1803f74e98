// The element-by-element run of a plan.
#include "tests/core/plan/element_run.h"

#include <map>

namespace reshardcheck {
namespace {

constexpr std::int64_t nothing = -1;

struct Cell {
  std::int64_t value = nothing;
  int writes = 0;
};

using Index = std::vector<std::int64_t>;
using Buffer = std::map<Index, Cell>;  // by local index

/// Calls visit(index) for every index of a shape, row-major.
template <typename Visit>
void for_each_index(const Shape& shape, const Visit& visit) {
  if (elements(shape) == 0) return;
  Index index(shape.size(), 0);
  while (true) {
    visit(index);
    std::size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

std::int64_t flat(const Shape& shape, const Index& index) {
  std::int64_t result = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) result = result * shape[dim] + index[dim];
  return result;
}

/// What each local index of a shard should hold; padding is left out.
std::map<Index, std::int64_t> right_values(const Layout& layout, std::size_t mesh_index) {
  Shape owned;
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) owned.push_back(layout.piece(mesh_index, dim).owned.size());
  std::map<Index, std::int64_t> result;
  for_each_index(owned, [&](const Index& local) {
    Index global(local.size());
    for (std::size_t dim = 0; dim < local.size(); ++dim) {
      global[dim] = layout.piece(mesh_index, dim).owned.at(local[dim]);
    }
    result[local] = flat(layout.shape(), global);
  });
  return result;
}

class ElementRun {
 public:
  ElementRun(const Plan& plan, const Layout& source, const Layout& target)
      : plan_(plan), source_(source), target_(target) {
    for (std::size_t i = 0; i < source.mesh().size(); ++i) {
      for (const auto& [local, value] : right_values(source, i))
        sources_[source.mesh().ranks()[i]][local].value = value;
    }
    for (std::size_t i = 0; i < target.mesh().size(); ++i) {
      for (const auto& [local, value] : right_values(target, i)) targets_[target.mesh().ranks()[i]][local];
    }
    for_each_index(source.shape(), [&](const Index& index) { stage_[index]; });
  }

  bool right() {
    for (int step = 0; step < max_steps; ++step) {
      if (!run_step(step)) return false;
    }
    return targets_right() && (!stage_used() || complete(stage_));
  }

 private:
  struct Pending {
    Cell* cell;
    std::int64_t value;
  };

  bool run_step(int step) {
    std::vector<Pending> pending;
    for (const Transfer& transfer : plan_.transfers) {
      if (transfer.send_step == step && !read(transfer, pending)) return false;
    }
    for (const Pending& write : pending) {
      write.cell->value = write.value;
      ++write.cell->writes;
    }
    return true;
  }

  static Cell* find(Buffer& buffer, const Index& index) {
    const auto found = buffer.find(index);
    return found == buffer.end() ? nullptr : &found->second;
  }

  bool read(const Transfer& transfer, std::vector<Pending>& pending) {
    const TransferKind kind = transfer.kind;
    const bool from_stage = kind == TransferKind::broadcast;
    const bool to_stage = kind == TransferKind::gather;
    if ((from_stage && transfer.from != plan_.stage_rank) || (to_stage && transfer.to != plan_.stage_rank))
      return false;
    if (from_stage && !complete(stage_)) return false;
    if (kind == TransferKind::copy && transfer.from != transfer.to) return false;
    if (kind == TransferKind::relay && transfer.from == transfer.to) return false;
    Buffer& from = from_stage                    ? stage_
                   : kind == TransferKind::relay ? targets_[transfer.from]
                                                 : sources_[transfer.from];
    Buffer& to = to_stage ? stage_ : targets_[transfer.to];
    const Box& box = plan_.box_of(transfer);
    Shape counts;
    std::vector<std::vector<Index>> rows(plan_.dims);  // per dim: (from, to, global index) of each element
    for (std::size_t dim = 0; dim < plan_.dims; ++dim) {
      for (const Run& run : plan_.runs_of(box, dim)) {
        for (std::int64_t i = 0; i < run.length; ++i) {
          const std::int64_t at = kind == TransferKind::relay ? run.to_offset : run.from_offset;
          rows[dim].push_back({at + i, run.to_offset + i, run.begin + i});
        }
      }
      counts.push_back(std::ssize(rows[dim]));
    }
    bool held = true;
    for_each_index(counts, [&](const Index& index) {
      Index from_index;
      Index to_index;
      Index global;
      for (std::size_t dim = 0; dim < plan_.dims; ++dim) {
        const Index& row = rows[dim][static_cast<std::size_t>(index[dim])];
        from_index.push_back(row[0]);
        to_index.push_back(row[1]);
        global.push_back(row[2]);
      }
      const Cell* sender = find(from, from_index);
      Cell* receiver = find(to, to_index);
      held = held && sender != nullptr && receiver != nullptr && sender->value == flat(source_.shape(), global);
      if (held) pending.push_back({receiver, sender->value});
    });
    return held;
  }

  [[nodiscard]] bool stage_used() const {
    for (const Transfer& transfer : plan_.transfers) {
      if (transfer.kind == TransferKind::gather || transfer.kind == TransferKind::broadcast) return true;
    }
    return false;
  }

  [[nodiscard]] bool complete(const Buffer& stage) const {
    for (const auto& [index, cell] : stage) {
      if (cell.writes != 1 || cell.value != flat(source_.shape(), index)) return false;
    }
    return true;
  }

  bool targets_right() {
    for (std::size_t i = 0; i < target_.mesh().size(); ++i) {
      for (const auto& [local, value] : right_values(target_, i)) {
        const Cell& cell = targets_[target_.mesh().ranks()[i]][local];
        if (cell.writes != 1 || cell.value != value) return false;
      }
    }
    return true;
  }

  const Plan& plan_;
  const Layout& source_;
  const Layout& target_;
  std::map<Rank, Buffer> sources_;
  std::map<Rank, Buffer> targets_;
  Buffer stage_;
};

}  // namespace

bool runs_right(const Plan& plan, const Layout& source, const Layout& target) {
  return ElementRun(plan, source, target).right();
}

}  // namespace reshardcheck
