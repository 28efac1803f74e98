#include "verifier/fingerprint_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "core/layout/limits.h"
#include "verifier/fingerprint_side.h"

namespace reshardcheck {
namespace {

/// A tensor as the files have it, before a layout is known.
struct Found {
  const StoredTensor* tensor;
  const SafetensorsFile* file;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// "[4096,1024]" at the start of the text, which it is taken off.
Result<Shape> take_shape(std::string_view& text) {
  Shape shape;
  std::size_t at = 1;
  const auto wrong = [] { return Error{"a shape reads [4096,1024]"}; };
  while (at < text.size() && text[at] != ']') {
    std::int64_t extent = 0;
    const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), extent);
    if (problem != std::errc{} || extent < 0 || std::ssize(shape) >= limits::max_dims) return wrong();
    shape.push_back(extent);
    at = static_cast<std::size_t>(end - text.data());
    if (at < text.size() && text[at] == ',') ++at;
  }
  if (at >= text.size()) return wrong();
  text = trimmed(text.substr(at + 1));
  return shape;
}

/// The placements of a side, as text; commas inside parentheses do not part them.
std::vector<std::string_view> placement_words(std::string_view text) {
  std::vector<std::string_view> words;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      words.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return words;
}

/// The dim that a placement's text shards, or nothing.
std::optional<std::size_t> sharded_dim(std::string_view word) {
  const std::size_t open = word.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  std::size_t dim = 0;
  const auto [end, problem] = std::from_chars(word.data() + open + 1, word.data() + word.size(), dim);
  return problem == std::errc{} ? std::optional(dim) : std::nullopt;
}

/// Adds up the local extents of a dim over the coordinates of the axes that shard it, all other coordinates 0.
std::int64_t summed_extent(const Mesh& mesh, std::span<const std::size_t> axes, std::span<const Found> by_index,
                           std::size_t dim) {
  std::int64_t sum = 0;
  for (std::size_t index = 0; index < mesh.size(); ++index) {
    bool on_axes = true;
    for (std::size_t axis = 0; axis < mesh.axes(); ++axis) {
      const bool shards = std::find(axes.begin(), axes.end(), axis) != axes.end();
      on_axes = on_axes && (shards || mesh.coordinate(index, axis) == 0);
    }
    if (on_axes) sum += by_index[index].tensor->shape[dim];
  }
  return sum;
}

/// The shape of the whole tensor, from its shards.
Result<Shape> whole_shape(const Mesh& mesh, std::string_view placements, std::span<const Found> by_index) {
  Shape shape = by_index.front().tensor->shape;
  std::vector<std::vector<std::size_t>> axes_of(shape.size());
  const std::vector<std::string_view> words = placement_words(placements);
  for (std::size_t axis = 0; axis < words.size(); ++axis) {
    if (words[axis].find("pad") != std::string_view::npos) {
      return Error{"a padded layout needs the shape of the whole tensor: --layout 'PATTERN=[SHAPE] SIDE'"};
    }
    const std::optional<std::size_t> dim = sharded_dim(words[axis]);
    if (!dim) continue;
    if (*dim >= shape.size())
      return Error{fmt::format("dim {} does not exist: the tensor has {} dims", *dim, shape.size())};
    axes_of[*dim].push_back(axis);
  }
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (!axes_of[dim].empty()) shape[dim] = summed_extent(mesh, axes_of[dim], by_index, dim);
  }
  return shape;
}

/// What was found, by mesh index: the i-th file belongs to the i-th rank in ascending order.
std::vector<Found> by_mesh_index(const Mesh& mesh, std::span<const Found> found) {
  std::vector<std::size_t> order(mesh.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return mesh.ranks()[a] < mesh.ranks()[b]; });
  std::vector<Found> result(mesh.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = found[i];
  return result;
}

Status check_shards(const Layout& layout, std::span<const Found> by_index) {
  for (std::size_t index = 0; index < by_index.size(); ++index) {
    const StoredTensor& stored = *by_index[index].tensor;
    if (stored.dtype != by_index.front().tensor->dtype) {
      return Error{fmt::format("{} in {} but {} in {}", name(by_index.front().tensor->dtype),
                               by_index.front().file->path(), name(stored.dtype), by_index[index].file->path())};
    }
    if (stored.shape != layout.local_shape(index)) {
      return Error{fmt::format("rank {} of {} holds [{}] of [{}], but {} has [{}]", layout.mesh().ranks()[index],
                               layout.text(), fmt::join(layout.local_shape(index), ","), fmt::join(layout.shape(), ","),
                               by_index[index].file->path(), fmt::join(stored.shape, ","))};
    }
  }
  return Ok{};
}

Result<DealtTensor> deal_tensor(const LayoutRule& rule, std::span<const Found> found) {
  const std::string_view side = rule.side;
  const std::size_t space = side.find(' ');
  if (space == std::string_view::npos)
    return Error{fmt::format("'{}' has no placements; a side reads '4@0 S(0)'", side)};
  std::string all_replicated(side.substr(0, space));
  const std::string_view placements = trimmed(side.substr(space));
  for (std::size_t i = 0; i < placement_words(placements).size(); ++i) all_replicated += i == 0 ? " R" : ",R";
  const Result<Layout> grid = parse_side(found.front().tensor->shape, all_replicated);
  if (!grid) return Error{fmt::format("'{}': {}", side, grid.error().reason)};
  const Mesh& mesh = grid->mesh();
  if (mesh.size() != found.size()) {
    return Error{
        fmt::format("'{}' has {} ranks, but {} of the files have the tensor", side, mesh.size(), found.size())};
  }
  const std::vector<Found> by_index = by_mesh_index(mesh, found);
  for (const Found& each : by_index) {
    if (each.tensor->shape.size() != by_index.front().tensor->shape.size()) {
      return Error{fmt::format("{} has another number of dims", each.file->path())};
    }
  }
  const Result<Shape> shape = rule.shape ? Result<Shape>(*rule.shape) : whole_shape(mesh, placements, by_index);
  if (!shape) return shape.error();
  const Result<Layout> layout = parse_side(*shape, side);
  if (!layout) return Error{fmt::format("'{}': {}", side, layout.error().reason)};
  const Status fits = check_shards(*layout, by_index);
  if (!fits) return fits.error();
  DealtTensor dealt{found.front().tensor->name, found.front().tensor->dtype, *layout, {}};
  for (const Found& each : by_index) dealt.shards.push_back(each.tensor->data);
  return dealt;
}

LayoutRule rule_for(const std::string& name, std::size_t files, std::span<const LayoutRule> rules) {
  for (const LayoutRule& rule : rules) {
    if (::fnmatch(rule.pattern.c_str(), name.c_str(), 0) == 0) return rule;
  }
  return {"*", std::nullopt, fmt::format("{}@0 R", files)};
}

}  // namespace

Result<LayoutRule> parse_layout_rule(std::string_view text) {
  LayoutRule rule;
  const std::size_t equals = text.find('=');
  const std::string_view before = text.substr(0, equals);
  // A '=' inside a placement stands behind the space that follows the mesh; names have no spaces.
  if (equals != std::string_view::npos && !before.empty() && before.find(' ') == std::string_view::npos) {
    rule.pattern = before;
    text = text.substr(equals + 1);
  }
  text = trimmed(text);
  if (text.starts_with('[')) {
    Result<Shape> shape = take_shape(text);
    if (!shape) return shape.error();
    rule.shape = std::move(*shape);
  }
  rule.side = text;
  if (rule.side.empty()) return Error{"no layout; a rule reads PATTERN='4@0 S(0)'"};
  return rule;
}

Result<std::vector<DealtTensor>> deal_tensors(std::span<const SafetensorsFile> files,
                                              std::span<const LayoutRule> rules) {
  std::vector<std::vector<Found>> found;
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (const SafetensorsFile& file : files) {
    for (const StoredTensor& tensor : file.tensors()) {
      const auto [entry, is_new] = index_of.try_emplace(tensor.name, found.size());
      if (is_new) found.emplace_back();
      found[entry->second].push_back({&tensor, &file});
    }
  }
  std::vector<DealtTensor> dealt;
  for (const std::vector<Found>& each : found) {
    const std::string& tensor_name = each.front().tensor->name;
    Result<DealtTensor> tensor = deal_tensor(rule_for(tensor_name, each.size(), rules), each);
    if (!tensor) return Error{fmt::format("tensor '{}': {}", tensor_name, tensor.error().reason)};
    dealt.push_back(std::move(*tensor));
  }
  return dealt;
}

TensorFingerprint fingerprint_of(const FingerprintKey& key, const DealtTensor& tensor, int threads) {
  TensorFingerprint result;
  std::vector<FingerprintState> states;
  for (std::size_t index = 0; index < tensor.shards.size(); ++index) {
    states.push_back(fingerprint_of_shard(key, {&tensor.layout, index, tensor.dtype, tensor.shards[index], {}},
                                          {std::nullopt, threads}));
    if (replica_place(tensor.layout, index) == 0) merge(result.state, states.back());
  }
  for (std::size_t index = 0; index < states.size(); ++index) {
    const Rank first = tensor.layout.replicas(tensor.layout.shard_of(index)).front();
    const std::size_t first_index = *tensor.layout.mesh().index_of(first);
    if (!(states[index] == states[first_index])) result.odd_replicas.push_back(tensor.layout.mesh().ranks()[index]);
  }
  return result;
}

PartialFingerprints partial_fingerprints(const FingerprintKey& key, const DealtTensor& tensor, int threads) {
  return [&key, &tensor, threads](std::span<const Interval> ranges) {
    std::vector<FingerprintState> states;
    for (const Interval& range : ranges) {
      FingerprintState total;
      for (std::size_t index = 0; index < tensor.shards.size(); ++index) {
        if (replica_place(tensor.layout, index) != 0) continue;
        merge(total, fingerprint_of_shard(key, {&tensor.layout, index, tensor.dtype, tensor.shards[index], {}},
                                          {range, threads}));
      }
      states.push_back(total);
    }
    return states;
  };
}

}  // namespace reshardcheck
