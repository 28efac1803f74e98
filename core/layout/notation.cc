#include "core/layout/notation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/layout/limits.h"
#include "core/layout/option_table.h"

namespace reshardcheck {
namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c) || c == '.' || c == '-' || c == '/'; }
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
    const std::string found = position_ < text_.size() ? fmt::format("'{}'", text_[position_]) : "the end";
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
    while (position_ < text_.size() && is_name_char(text_[position_])) ++position_;
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
      if (first.empty() || !is_name_start(first.front()))
        return fail(begin, "a tensor name starts with a letter or '_'");
      if (std::ssize(first) > limits::max_name_bytes) return fail(begin, "the tensor name is too long");
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
      return fail(begin, fmt::format("unknown dtype '{}'; known: {}", first, fmt::join(known, " ")));
    }
    Shape shape;
    if (!parse_shape(shape)) return false;
    std::optional<Layout> source;
    std::optional<Layout> target;
    if (!parse_side(shape, source) || !expect("->", "'->' and the target side") || !parse_side(shape, target))
      return false;
    Path path = Path::reshard;
    if (!parse_path(path)) return false;
    value.tensors.push_back({std::move(name), *dtype, path, *std::move(source), *std::move(target)});
    return true;
  }

  bool parse_shape(Shape& shape) {
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
    return count.ok() || fail(begin, count.error().reason);
  }

  bool parse_side(const Shape& shape, std::optional<Layout>& layout) {
    skip_spaces();
    const std::size_t begin = position_;
    std::optional<Mesh> mesh;
    std::vector<Placement> placements;
    std::vector<std::size_t> positions;
    if (!parse_mesh(mesh) || !parse_placements(placements, positions)) return false;
    Result<Layout> made = Layout::make(shape, *std::move(mesh), std::move(placements));
    if (!made) {
      const Error& error = made.error();
      const std::size_t at = error.has_position() ? positions[error.position]
                             : positions.empty()  ? begin
                                                  : positions[0];
      return fail(at, error.reason);
    }
    layout = *std::move(made);
    return true;
  }

  bool parse_mesh(std::optional<Mesh>& mesh) {
    skip_spaces();
    const std::size_t begin = position_;
    std::vector<std::int64_t> extents;
    do {
      if (std::ssize(extents) == limits::max_axes)
        return fail(position_, fmt::format("more than {} axes", limits::max_axes));
      if (!number(extents.emplace_back(), "a mesh extent")) return false;
    } while (accept("x"));
    if (accept("@")) {
      std::int64_t first = 0;
      if (!number(first, "the first rank")) return false;
      return accept_mesh(mesh, Mesh::consecutive(std::move(extents), first), begin);
    }
    if (!expect("{", "'@' and the first rank, or '{' and a rank list")) return false;
    std::vector<Rank> ranks;
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
    if (!expect("}", "',' or '}'")) return false;
    return accept_mesh(mesh, Mesh::make(std::move(extents), std::move(ranks)), begin);
  }

  bool accept_mesh(std::optional<Mesh>& mesh, Result<Mesh> made, std::size_t begin) {
    if (!made) return fail(begin, made.error().reason);
    mesh = *std::move(made);
    return true;
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
    return fail(begin, fmt::format("unknown rule '{}'; known: chunk balanced even padded pad= cuts= segments=", rule));
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
    return fail(begin, fmt::format("unknown path '{}'; known: reshard gather_broadcast", found));
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
        return fail(begin, fmt::format("option '{}' needs a value: name=value", option));
      const Status set = set_option(value.options, option.substr(0, equals), option.substr(equals + 1));
      if (!set) return fail(begin, set.error().reason);
    }
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t options_begin_ = 0;
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
  std::string shown(text.substr(begin, at - begin + context));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return fmt::format("{} (at column {})\n  {}\n  {}^", error.reason, at + 1, shown, std::string(at - begin, ' '));
}

}  // namespace reshardcheck
