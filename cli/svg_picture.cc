// Rectangles, labels and one arrow a tensor. Sizes are bounded: regions by count, tensors by number, text by length.
#include "cli/svg_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/junit.h"
#include "cli/output.h"
#include "cli/region_grid.h"
#include "core/layout/notation.h"

namespace reshardcheck::cli {
namespace {

constexpr double grid_pixels = 360;    // the longer side of a grid
constexpr double shorter_pixels = 90;  // the shorter side is at least this
constexpr double margin_pixels = 64;   // around a grid, for its labels
constexpr double title_pixels = 64;    // above a grid
constexpr double page_pixels = 2 * (grid_pixels + 2 * margin_pixels);
constexpr std::size_t most_regions = 4'096;  // of one grid
constexpr std::size_t most_tensors = 32;

/// Where each boundary lies, from 0. Every region gets a little room, the rest is shared in proportion, so that one
/// row of a million is still seen.
std::vector<double> positions(const Boundaries& bounds, double pixels) {
  const auto regions = static_cast<double>(bounds.size() - 1);
  const double extent = static_cast<double>(bounds.back());
  const double least = std::min(14.0, pixels / std::max(1.0, regions));
  std::vector<double> result{0};
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const double share = static_cast<double>(bounds[i + 1] - bounds[i]) / extent;
    result.push_back(result.back() + least + share * (pixels - least * regions));
  }
  return result;
}

double position_of(std::int64_t boundary, const Boundaries& bounds, const std::vector<double>& at) {
  const auto found = std::lower_bound(bounds.begin(), bounds.end(), boundary);
  return at[static_cast<std::size_t>(found - bounds.begin())];
}

/// Colours a golden angle apart: neighbours differ, however many there are.
std::string colour(std::size_t shard) {
  return fmt::format("hsl({:.0f},65%,78%)", std::fmod(static_cast<double>(shard) * 137.508, 360));
}

struct Frame {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

std::string rectangle(const Frame& frame, std::string_view style) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n", frame.x, frame.y,
                     frame.width, frame.height, style);
}

struct Label {
  double x = 0;
  double y = 0;
  std::string text;
  std::string_view style;
};

std::string text_element(const Label& label) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", label.x, label.y, label.style,
                     xml_escaped(label.text));
}

/// The scale that both grids of a tensor share.
class TensorPicture {
 public:
  explicit TensorPicture(const TensorCase& tensor)
      : tensor_(tensor),
        view_(choose_view(tensor)),
        rows_(merged(boundaries(tensor.source, view_.row_dim), boundaries(tensor.target, view_.row_dim))),
        columns_(merged(boundaries(tensor.source, view_.column_dim), boundaries(tensor.target, view_.column_dim))) {
    if (!drawable()) return;
    const auto height = static_cast<double>(rows_.back());
    const auto width = static_cast<double>(columns_.back());
    const double longer = std::max(height, width);
    const auto pixels = [longer](double extent) { return std::max(shorter_pixels, grid_pixels * extent / longer); };
    row_at_ = positions(rows_, view_.row_dim < 0 ? shorter_pixels : pixels(height));
    column_at_ = positions(columns_, pixels(width));
  }

  [[nodiscard]] double height() const { return title_pixels + (drawable() ? row_at_.back() : 0) + margin_pixels; }

  [[nodiscard]] std::string draw(double top) const {
    std::string result = text_element({margin_pixels, top + 24, shortened(to_text(tensor_), 120), "title"});
    if (!drawable()) {
      const bool empty = elements(tensor_.shape()) == 0;
      return result +
             text_element({margin_pixels, top + 48,
                           empty ? "no elements" : "too many pieces to draw; explain --json says all", "note"});
    }
    result += text_element({margin_pixels, top + 42, view_.text(tensor_), "note"});
    const double y = top + title_pixels;
    const double target_x = grid_pixels + 3 * margin_pixels;
    result += draw_pieces(margin_pixels, y) + draw_shards(tensor_.source, margin_pixels, y);
    result += draw_pieces(target_x, y) + draw_shards(tensor_.target, target_x, y);
    const double middle = y + row_at_.back() / 2;
    const double from = margin_pixels + column_at_.back() + 12;
    return result + fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" class=\"arrow\" marker-end=\"url(#head)\"/>\n", from,
                                middle, target_x - margin_pixels);
  }

 private:
  [[nodiscard]] bool drawable() const {
    return elements(tensor_.shape()) > 0 && (rows_.size() - 1) * (columns_.size() - 1) <= most_regions;
  }

  [[nodiscard]] Frame frame(double x, double y, const Interval& row, const Interval& column) const {
    const double left = position_of(column.begin, columns_, column_at_);
    const double top = position_of(row.begin, rows_, row_at_);
    return {x + left, y + top, position_of(column.end, columns_, column_at_) - left,
            position_of(row.end, rows_, row_at_) - top};
  }

  /// Every piece that both sides cut, in the colour of the source shard it comes from.
  [[nodiscard]] std::string draw_pieces(double x, double y) const {
    const RegionGrid grid = region_grid(tensor_.source, view_, rows_, columns_);
    std::string result;
    for (std::size_t row = 0; row < grid.row_count(); ++row) {
      for (std::size_t column = 0; column < grid.column_count(); ++column) {
        const Frame place = frame(x, y, {rows_[row], rows_[row + 1]}, {columns_[column], columns_[column + 1]});
        result += rectangle(place, fmt::format("fill=\"{}\" class=\"piece\"", colour(grid.shard(row, column))));
      }
    }
    return result;
  }

  /// The shards of one side, outlined, with their ranks inside and their bounds along two edges.
  [[nodiscard]] std::string draw_shards(const Layout& layout, double x, double y) const {
    const RegionGrid grid =
        region_grid(layout, view_, boundaries(layout, view_.row_dim), boundaries(layout, view_.column_dim));
    std::string result = text_element({x, y + row_at_.back() + 34, shortened(layout.text(), 60), "side"});
    for (std::size_t row = 0; row < grid.row_count(); ++row) {
      const Interval down{grid.rows[row], grid.rows[row + 1]};
      for (std::size_t column = 0; column < grid.column_count(); ++column) {
        const Frame place = frame(x, y, down, {grid.columns[column], grid.columns[column + 1]});
        result += rectangle(place, "class=\"shard\"");
        result += text_element({place.x + place.width / 2, place.y + place.height / 2 + 4,
                                shard_label(layout, grid.shard(row, column)), "rank"});
      }
    }
    return result + edge_labels(grid, x, y);
  }

  [[nodiscard]] std::string edge_labels(const RegionGrid& grid, double x, double y) const {
    constexpr double room = 14;  // between two labels of an edge
    std::string result;
    double last = -room;
    for (const std::int64_t bound : grid.rows) {
      const double at = position_of(bound, rows_, row_at_);
      if (view_.row_dim < 0 || at < last + room) continue;
      result += text_element({x - 6, y + at + 4, std::to_string(bound), "bound down"});
      last = at;
    }
    last = -2 * room;
    for (const std::int64_t bound : grid.columns) {
      const double at = position_of(bound, columns_, column_at_);
      if (view_.column_dim < 0 || at < last + 2 * room) continue;
      result += text_element({x + at, y + row_at_.back() + 16, std::to_string(bound), "bound"});
      last = at;
    }
    return result;
  }

  const TensorCase& tensor_;
  View view_;
  Boundaries rows_;
  Boundaries columns_;
  std::vector<double> row_at_;
  std::vector<double> column_at_;
};

constexpr std::string_view style =
    "<style>text{font-family:sans-serif;font-size:12px;fill:#222}"
    ".title{font-family:monospace;font-size:14px;font-weight:bold}.note{fill:#555}.side{font-family:monospace}"
    ".bound{font-size:10px;fill:#555;text-anchor:middle}.down{text-anchor:end}"
    ".rank{text-anchor:middle;font-weight:bold;stroke:#fff;stroke-width:3px;paint-order:stroke}"
    ".piece{stroke:#fff;stroke-width:1}.shard{fill:none;stroke:#333;stroke-width:2}"
    ".arrow{stroke:#333;stroke-width:2;fill:none}</style>\n"
    "<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" orient=\"auto\">"
    "<path d=\"M0 0L8 4L0 8z\" fill=\"#333\"/></marker></defs>\n";

}  // namespace

std::string svg_picture(const Case& value) {
  std::string body;
  double top = 0;
  for (std::size_t i = 0; i < std::min(value.tensors.size(), most_tensors); ++i) {
    const TensorPicture picture(value.tensors[i]);
    body += picture.draw(top);
    top += picture.height();
  }
  const std::string options = to_text(value.options);
  const std::size_t more = value.tensors.size() - std::min(value.tensors.size(), most_tensors);
  const std::string note = fmt::format("Colours are source shards; numbers in a region are the ranks that hold it.{}{}",
                                       more > 0 ? fmt::format(" {} more tensors are not drawn.", more) : "",
                                       options.empty() ? "" : " Options: " + options);
  body += text_element({margin_pixels, top + 20, note, "note"});
  const double height = top + 40;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n{3}<rect width=\"100%\" height=\"100%\" "
             "fill=\"#fff\"/>\n",
             page_pixels, height, xml_escaped(shortened(to_text(value), 400)), style) +
         body + "</svg>\n";
}

}  // namespace reshardcheck::cli
