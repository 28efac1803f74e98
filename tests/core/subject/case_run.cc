// Every call is laid out, run and looked at in full: the expected image of each buffer, guard bands included, is
// built first, and a byte that differs is an element that is wrong or a place that is nobody's.
#include "tests/core/subject/case_run.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "core/layout/notation.h"
#include "core/plan/planner.h"
#include "core/plan/prover.h"
#include "core/subject/registry.h"
#include "core/world/sim.h"

namespace reshardcheck {
namespace {

constexpr std::int64_t band_bytes = 64;

/// A local tensor with guard bands, and what it must look like after a call.
struct Local {
  LocalTensor tensor;
  std::vector<std::byte> memory;
  std::vector<std::byte> expected;
  std::vector<bool> is_element;  // by byte of memory: belongs to an element that the rank owns

  Local(const TensorCase& spec, const Layout& layout, Rank rank, std::int64_t gap_elements) {
    const auto index = layout.mesh().index_of(rank);
    if (!index) return;
    tensor.mesh_index = *index;
    tensor.shape = layout.local_shape(*index);
    tensor.strides.resize(tensor.shape.size());
    std::int64_t stride = 1;
    for (std::size_t dim = tensor.shape.size(); dim-- > 0;) {
      tensor.strides[dim] = stride;
      stride *= tensor.shape[dim];
      if (dim + 1 == tensor.shape.size() && tensor.shape.size() > 1) stride += gap_elements;
    }
    const std::int64_t bytes = std::max<std::int64_t>(stride, 1) * width_bytes(spec.dtype);
    memory.resize(static_cast<std::size_t>(bytes + 2 * band_bytes));
    tensor.data = memory.data() + band_bytes;
  }

  /// Fills everything with a pattern, then calls visit(byte offset, global row-major index) for every element owned.
  template <typename Visit>
  void lay_out(const TensorCase& spec, const Layout& layout, std::uint8_t pattern, Visit visit) {
    if (!tensor.present()) return;
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(pattern + 7 * i);
    is_element.assign(memory.size(), false);
    const std::int64_t count = layout.owned_elements(tensor.mesh_index);
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t left = k;
      std::int64_t offset = 0;
      std::int64_t global = 0;
      std::int64_t global_stride = 1;
      for (std::size_t dim = layout.dims(); dim-- > 0;) {
        const IntervalList& owned = layout.piece(tensor.mesh_index, dim).owned;
        const std::int64_t local = left % owned.size();
        left /= owned.size();
        offset += local * tensor.strides[dim];
        global += owned.at(local) * global_stride;
        global_stride *= layout.shape()[dim];
      }
      const std::int64_t width = width_bytes(spec.dtype);
      for (std::int64_t i = 0; i < width; ++i)
        is_element[static_cast<std::size_t>(band_bytes + offset * width + i)] = true;
      visit(static_cast<std::size_t>(band_bytes + offset * width), global);
    }
  }
};

struct RankState {
  std::vector<Local> sources;
  std::vector<Local> targets;
  std::unique_ptr<Session> session;
  Outcome outcome;
  bool threw = false;
};

class Runner {
 public:
  Runner(const CaseRun& options, const Case& value, Subject& subject)
      : options_(options), case_(value), subject_(subject) {
    ranks_.resize(static_cast<std::size_t>(value.world_ranks()));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const TensorCase& spec : value.tensors) {
        const std::int64_t gap = value.options.gap_elements;
        ranks_[rank].sources.emplace_back(spec, spec.source, static_cast<Rank>(rank), gap);
        ranks_[rank].targets.emplace_back(spec, spec.target, static_cast<Rank>(rank), gap);
      }
    }
  }

  std::string run() {
    subject_.begin_case();
    for (std::int64_t call = 0; call < options_.calls; ++call) {
      fill(call);
      for (std::size_t first = 0; first < case_.tensors.size(); first += batch_tensors()) {
        const std::string finding = run_batch(call, first);
        if (finding != "pass") return finding;
      }
      const std::string finding = look(call);
      if (finding != "pass") return finding;
    }
    return "pass";
  }

 private:
  [[nodiscard]] std::size_t batch_tensors() const {
    const std::int64_t batch = case_.options.batch_tensors;
    return batch == 0 ? case_.tensors.size() : static_cast<std::size_t>(batch);
  }

  void fill(std::int64_t call) {
    for (RankState& rank : ranks_) {
      for (std::size_t t = 0; t < case_.tensors.size(); ++t) {
        const TensorCase& spec = case_.tensors[t];
        const auto width = static_cast<std::size_t>(width_bytes(spec.dtype));
        Local& source = rank.sources[t];
        source.lay_out(spec, spec.source, 0x31, [&](std::size_t offset, std::int64_t index) {
          const std::uint64_t bits = options_.value(t, index, call);
          std::memcpy(source.memory.data() + offset, &bits, width);
        });
        source.expected = source.memory;
        Local& target = rank.targets[t];
        std::vector<std::pair<std::size_t, std::uint64_t>> wanted;
        const auto pattern = static_cast<std::uint8_t>(0xC3 + 64 * call);
        target.lay_out(spec, spec.target, pattern, [&](std::size_t offset, std::int64_t index) {
          wanted.emplace_back(offset, options_.value(t, index, call));
        });
        target.expected = target.memory;
        for (const auto& [offset, bits] : wanted) {
          std::memcpy(target.expected.data() + offset, &bits, width);
          // Poison differs from what is expected, or an element that is never written could pass.
          for (std::size_t i = 0; i < width; ++i) target.memory[offset + i] = ~target.expected[offset + i];
        }
      }
    }
  }

  std::string run_batch(std::int64_t call, std::size_t first) {
    const std::size_t end = std::min(first + batch_tensors(), case_.tensors.size());
    const SessionOptions session_options{Topology::of(case_.options), case_.options.chunk_bytes};
    Traffic traffic;
    const RunOptions sim{.world_ranks = std::ssize(ranks_),
                         .seed = options_.seed + static_cast<std::uint64_t>(call),
                         .faults = {},
                         .topology = session_options.topology};
    const WorldOutcome world = world_.run(
        sim,
        [&](Endpoint& endpoint) {
          RankState& rank = ranks_[static_cast<std::size_t>(endpoint.rank())];
          std::vector<BatchTensor> tensors;
          for (std::size_t t = first; t < end; ++t) {
            tensors.push_back({&case_.tensors[t], rank.sources[t].tensor, rank.targets[t].tensor});
          }
          try {
            if (!rank.session) rank.session = subject_.open(endpoint, session_options);
            rank.outcome = rank.session->reshard(endpoint, {tensors, first});
          } catch (const std::exception&) {
            rank.threw = true;
          }
        },
        traffic);
    return judge_batch(world, traffic, session_options.topology, first, end);
  }

  std::string judge_batch(const WorldOutcome& world, const Traffic& traffic, const Topology& topology,
                          std::size_t first, std::size_t end) {
    const auto count = [&](OutcomeKind kind) {
      return std::count_if(ranks_.begin(), ranks_.end(),
                           [&](const RankState& rank) { return rank.outcome.kind == kind; });
    };
    if (std::any_of(ranks_.begin(), ranks_.end(), [](const RankState& rank) { return rank.threw; })) return "crash";
    if (world.status != CommStatus::ok || world.unreceived_messages != 0) return "hang";
    if (count(OutcomeKind::unsupported) == std::ssize(ranks_)) return "refused";
    if (count(OutcomeKind::error) == std::ssize(ranks_)) return "error";
    const bool communication = std::any_of(ranks_.begin(), ranks_.end(),
                                           [](const RankState& rank) { return rank.outcome.comm != CommStatus::ok; });
    if (communication) return "error";
    if (count(OutcomeKind::done) != std::ssize(ranks_)) return "disagree";
    std::int64_t bound_bytes = 0;
    for (std::size_t t = first; t < end; ++t) {
      const TensorCase& spec = case_.tensors[t];
      if (spec.path != Path::reshard) return "pass";
      bound_bytes += across_domains_bound(spec.source, spec.target, topology) * width_bytes(spec.dtype);
    }
    excess_ = excess_ || (subject_.promises_minimal_traffic() &&
                          traffic.across_domains_bytes > static_cast<std::uint64_t>(bound_bytes));
    return "pass";
  }

  std::string look(std::int64_t) const {
    bool outside = false;
    bool source = false;
    bool wrong = false;
    for (const RankState& rank : ranks_) {
      for (const Local& local : rank.sources) source = source || local.memory != local.expected;
      for (const Local& local : rank.targets) {
        for (std::size_t i = 0; i < local.memory.size(); ++i) {
          if (local.memory[i] == local.expected[i]) continue;
          (local.is_element[i] ? wrong : outside) = true;
        }
      }
    }
    if (outside) return "guard";
    if (source) return "source_modified";
    if (wrong) return "wrong";
    return excess_ ? "excess_traffic" : "pass";
  }

  const CaseRun& options_;
  const Case& case_;
  Subject& subject_;
  SimWorld world_;
  std::vector<RankState> ranks_;
  bool excess_ = false;
};

}  // namespace

std::uint64_t distinct_value(std::size_t tensor, std::int64_t index, std::int64_t call) {
  // Odd factors: the low byte alone tells 256 indices apart.
  return static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15ULL + tensor * 0xC2B2AE3D27D4EB4FULL +
         static_cast<std::uint64_t>(call) * 0x165667B19E3779F9ULL + 0x0101010101010101ULL;
}

std::string CaseRun::run(const Case& the_case, Subject& subject) const {
  return Runner(*this, the_case, subject).run();
}

Case case_of(std::string_view text) {
  Result<Case> parsed = parse_case(text);
  if (!parsed) std::fprintf(stderr, "%s\n", explain_error(text, parsed.error()).c_str());
  RESHARDCHECK_CHECK(parsed.ok());
  return *std::move(parsed);
}

std::unique_ptr<Subject> subject_of(std::string_view name) {
  Result<std::unique_ptr<Subject>> made = make_subject(name);
  if (!made) std::fprintf(stderr, "%s\n", made.error().reason.c_str());
  RESHARDCHECK_CHECK(made.ok());
  return std::move(made.value());
}

}  // namespace reshardcheck
