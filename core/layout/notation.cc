#include "core/layout/notation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/layout/limits.h"
#include "core/layout/option_table.h"
#include "core/layout/printable.h"

namespace reshardcheck {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

/// Recursive descent over one line. Every method returns false after it has set the error; the first error wins.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Case> parse() {
    Case value;
    if (!parse_tensors(value) || !parse_options(value)) return error_;
    const Status valid = validate(value);
    if (!valid) {
      fail(options_begin_, valid.error().reason);
      return error_;
    }
    return value;
  }

 private:
  bool fail(std::size_t position, std::string reason) {
    error_ = Error{std::move(reason), std::min(position, text_.size())};
    return false;
  }
  bool fail_here(std::string_view wanted) {
    skip_spaces();
    const std::string found = position_ < text_.size() ? in_quotes(text_.substr(position_, 1)) : "the end";
    return fail(position_, fmt::format("expected {}, found {}", wanted, found));
  }

  void skip_spaces() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  }
  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  bool expect(std::string_view token, std::string_view meaning = "") {
    return accept(token) || fail_here(meaning.empty() ? fmt::format("'{}'", token) : std::string(meaning));
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_name_byte(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }
  /// A word of letters and underscores only, such as a rule or a path.
  std::string_view keyword() {
    skip_spaces();
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_name_start(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }
  bool number(std::int64_t& out, std::string_view meaning) {
    skip_spaces();
    if (position_ == text_.size() || !is_digit(text_[position_])) return fail_here(meaning);
    const char* const begin = text_.data() + position_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (problem != std::errc{}) return fail(position_, fmt::format("{} does not fit 64 bits", meaning));
    position_ += static_cast<std::size_t>(end - begin);
    return true;
  }

  bool parse_tensors(Case& value) {
    do {
      if (std::ssize(value.tensors) == limits::max_tensors) return fail(position_, "too many tensors");
      if (!parse_tensor(value)) return false;
    } while (accept(";"));
    return true;
  }

  bool parse_tensor(Case& value) {
    skip_spaces();
    std::size_t begin = position_;
    std::string_view first = word();
    std::string name;
    if (accept("=")) {
      const Status named = check_tensor_name(first);
      if (first.empty()) return fail(begin, "a tensor name before '='");
      if (!named) return fail(begin, named.error().reason);
      name = first;
      skip_spaces();
      begin = position_;
      first = word();
    }
    const std::optional<DType> dtype = parse_dtype(first);
    if (!dtype) {
      if (first.empty()) return fail_here("a tensor such as bf16[8,8]");
      std::vector<std::string_view> known;
      for (const DType each : all_dtypes) known.push_back(reshardcheck::name(each));
      return fail(begin, fmt::format("unknown dtype {}; known: {}", in_quotes(first), fmt::join(known, " ")));
    }
    Shape shape;
    if (!parse_shape(shape, *dtype)) return false;
    std::optional<Layout> source;
    std::optional<Layout> target;
    if (!parse_side(shape, source) || !expect("->", "'->' and the target side") || !parse_side(shape, target))
      return false;
    Path path = Path::reshard;
    if (!parse_path(path)) return false;
    value.tensors.push_back({std::move(name), *dtype, path, *std::move(source), *std::move(target)});
    return true;
  }

  bool parse_shape(Shape& shape, DType dtype) {
    const std::size_t begin = position_;
    if (!expect("[", "'[' and the shape")) return false;
    if (!accept("]")) {
      do {
        if (std::ssize(shape) == limits::max_dims)
          return fail(position_, fmt::format("more than {} dims", limits::max_dims));
        if (!number(shape.emplace_back(), "an extent")) return false;
      } while (accept(","));
      if (!expect("]", "',' or ']'")) return false;
    }
    const Result<std::int64_t> count = checked_elements(shape);
    if (!count) return fail(begin, count.error().reason);
    std::int64_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(*count, std::int64_t{width_bytes(dtype)}, &bytes);
    return !overflows || fail(begin, "the size in bytes overflows 64 bits");
  }

  /// Sides of equal shape and text share one Layout, so that a mix of many tensors costs its distinct geometries.
  bool parse_side(const Shape& shape, std::optional<Layout>& layout) {
    skip_spaces();
    const std::size_t begin = position_;
    const Mesh* mesh = nullptr;
    std::vector<Placement> placements;
    std::vector<std::size_t> positions;
    if (!parse_mesh(mesh) || !parse_placements(placements, positions)) return false;
    std::string key = fmt::format("[{}] {}", fmt::join(shape, ","), text_.substr(begin, position_ - begin));
    const auto known = layouts_.find(key);
    if (known != layouts_.end()) {
      layout = known->second;
      return true;
    }
    Result<Layout> made = Layout::make(shape, *mesh, std::move(placements));
    if (!made) {
      const Error& error = made.error();
      return fail(error.has_position() ? positions[error.position] : positions.front(), error.reason);
    }
    table_entries_ += std::ssize(mesh->ranks());
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      for (const DimPiece& piece : made->pieces(dim)) table_entries_ += 1 + std::ssize(piece.owned.intervals());
    }
    if (table_entries_ > limits::max_table_entries) {
      return fail(begin, fmt::format("the layouts so far have more than {} entries", limits::max_table_entries));
    }
    layout = *made;
    layouts_.emplace(std::move(key), *std::move(made));
    return true;
  }

  bool parse_mesh(const Mesh*& mesh) {
    skip_spaces();
    const std::size_t begin = position_;
    std::vector<std::int64_t> extents;
    do {
      if (std::ssize(extents) == limits::max_axes)
        return fail(position_, fmt::format("more than {} axes", limits::max_axes));
      if (!number(extents.emplace_back(), "a mesh extent")) return false;
    } while (accept("x"));
    std::int64_t first = 0;
    std::vector<Rank> ranks;
    const bool consecutive = accept("@");
    if (consecutive ? !number(first, "the first rank") : !parse_ranks(ranks)) return false;

    std::string key(text_.substr(begin, position_ - begin));
    auto known = meshes_.find(key);
    if (known == meshes_.end()) {
      Result<Mesh> made =
          consecutive ? Mesh::consecutive(std::move(extents), first) : Mesh::make(std::move(extents), std::move(ranks));
      if (!made) return fail(begin, made.error().reason);
      known = meshes_.emplace(std::move(key), *std::move(made)).first;
    }
    mesh = &known->second;
    return true;
  }

  bool parse_ranks(std::vector<Rank>& ranks) {
    if (!expect("{", "'@' and the first rank, or '{' and a rank list")) return false;
    do {
      skip_spaces();
      const std::size_t at = position_;
      std::int64_t rank = 0;
      if (!number(rank, "a rank")) return false;
      if (rank >= limits::max_ranks)
        return fail(at, fmt::format("rank {} is outside 0..{}", rank, limits::max_ranks - 1));
      if (std::ssize(ranks) == limits::max_ranks) return fail(at, "too many ranks");
      ranks.push_back(static_cast<Rank>(rank));
    } while (accept(","));
    return expect("}", "',' or '}'");
  }

  bool parse_placements(std::vector<Placement>& placements, std::vector<std::size_t>& positions) {
    do {
      if (std::ssize(placements) == limits::max_axes) return fail(position_, "too many placements");
      skip_spaces();
      positions.push_back(position_);
      if (!parse_placement(placements.emplace_back())) return false;
    } while (accept(","));
    return true;
  }

  bool parse_placement(Placement& placement) {
    const std::size_t begin = position_;
    const std::string_view kind = keyword();
    if (kind == "R") return true;
    if (kind != "S" && kind != "_S") {
      position_ = begin;
      return fail_here("a placement: R, S(dim), S(dim,rule) or _S(dim,factor)");
    }
    std::int64_t dim = 0;
    if (!expect("(") || !number(dim, "a dim")) return false;
    if (dim > limits::max_dims) return fail(begin, fmt::format("dim {} does not exist", dim));
    placement = Placement::shard(static_cast<int>(dim));
    if (kind == "_S") {
      placement = Placement::strided(placement.dim, 0);
      if (!expect(",", "',' and the split factor") || !number(placement.parameter, "a split factor")) return false;
    } else if (accept(",") && !parse_rule(placement)) {
      return false;
    }
    return expect(")");
  }

  bool parse_rule(Placement& placement) {
    skip_spaces();
    const std::size_t begin = position_;
    const std::string_view rule = keyword();
    for (const SplitRule each : {SplitRule::chunk, SplitRule::balanced, SplitRule::even, SplitRule::padded}) {
      if (rule != name(each)) continue;
      placement = Placement::shard(placement.dim, each);
      return true;
    }
    if (rule == "pad") {
      placement = Placement::padded(placement.dim, 0);
      return expect("=") && number(placement.parameter, "a multiple");
    }
    if (rule == "cuts" || rule == "segments") {
      std::vector<std::int64_t> sizes;
      if (!expect("=") || !parse_sizes(sizes)) return false;
      placement = rule == "cuts" ? Placement::cuts(placement.dim, std::move(sizes))
                                 : Placement::segments(placement.dim, std::move(sizes));
      return true;
    }
    return fail(
        begin, fmt::format("unknown rule {}; known: chunk balanced even padded pad= cuts= segments=", in_quotes(rule)));
  }

  bool parse_sizes(std::vector<std::int64_t>& sizes) {
    do {
      if (std::ssize(sizes) == limits::max_sizes) return fail(position_, "too many sizes");
      if (!number(sizes.emplace_back(), "a size")) return false;
    } while (accept("|"));
    return true;
  }

  bool parse_path(Path& path) {
    const std::size_t before = position_;
    if (keyword() != "via") {
      position_ = before;
      return true;
    }
    skip_spaces();
    const std::size_t begin = position_;
    const std::string_view found = keyword();
    for (const Path each : {Path::reshard, Path::gather_broadcast}) {
      if (found != name(each)) continue;
      path = each;
      return true;
    }
    return fail(begin, fmt::format("unknown path {}; known: reshard gather_broadcast", in_quotes(found)));
  }

  bool parse_options(Case& value) {
    skip_spaces();
    options_begin_ = position_;
    if (at_end()) return true;
    if (!accept("|")) return fail_here("';' and a tensor, '|' and options, or the end");
    skip_spaces();
    options_begin_ = position_;
    while (!at_end()) {
      const std::size_t begin = position_;
      while (position_ < text_.size() && !is_space(text_[position_])) ++position_;
      const std::string_view option = text_.substr(begin, position_ - begin);
      const std::size_t equals = option.find('=');
      if (equals == std::string_view::npos)
        return fail(begin, fmt::format("option {} needs a value: name=value", in_quotes(option)));
      const Status set = set_option(value.options, option.substr(0, equals), option.substr(equals + 1));
      if (!set) return fail(begin, set.error().reason);
    }
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t options_begin_ = 0;
  std::int64_t table_entries_ = 0;  // of layouts_
  std::map<std::string, Layout> layouts_;
  std::map<std::string, Mesh> meshes_;
  Error error_;
};

}  // namespace

Result<Case> parse_case(std::string_view text) {
  if (std::ssize(text) > limits::max_text_bytes) {
    return Error{fmt::format("a case of {} bytes; at most {} are read", text.size(), limits::max_text_bytes)};
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return Parser(text).parse();
}

std::string to_text(const TensorCase& tensor) {
  std::string result = tensor.name.empty() ? "" : tensor.name + " = ";
  fmt::format_to(std::back_inserter(result), "{}[{}] {} -> {}", name(tensor.dtype), fmt::join(tensor.shape(), ","),
                 tensor.source.text(), tensor.target.text());
  if (tensor.path != Path::reshard) fmt::format_to(std::back_inserter(result), " via {}", name(tensor.path));
  return result;
}

std::string to_text(const Options& options) {
  std::string result;
  for (const OptionValue& option : non_default_options(options)) {
    if (!result.empty()) result += " ";
    result += std::string(option.name) + "=" + option.value;
  }
  return result;
}

std::string to_text(const Case& value) {
  std::string result;
  for (const TensorCase& tensor : value.tensors) {
    if (!result.empty()) result += " ; ";
    result += to_text(tensor);
  }
  const std::string options = to_text(value.options);
  return options.empty() ? result : result + " | " + options;
}

std::string explain_error(std::string_view text, const Error& error) {
  if (!error.has_position()) return error.reason;
  constexpr std::size_t context = 60;  // bytes of the line shown on each side of the fault
  const std::size_t at = std::min(error.position, text.size());
  const std::size_t begin = at > context ? at - context : 0;
  const std::string shown = printable(text.substr(begin, at - begin + context), text.size());
  return fmt::format("{} (at column {})\n  {}\n  {}^", error.reason, at + 1, shown, std::string(at - begin, ' '));
}

}  // namespace reshardcheck
