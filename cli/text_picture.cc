// ASCII only, so that it survives every terminal, log and mail. A picture wider than a page is not drawn.
#include "cli/text_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cli/region_grid.h"

namespace reshardcheck::cli {
namespace {

constexpr std::size_t page_columns = 110;
constexpr std::size_t page_regions = 40;  // down or across

using Lines = std::vector<std::string>;

std::string centred(std::string_view text, std::size_t width) { return fmt::format("{:^{}}", text, width); }

std::string region_text(const Boundaries& bounds, std::size_t region) {
  return fmt::format("{}:{}", bounds[region], bounds[region + 1]);
}

/// One line of a grid: cells of these widths between the separators.
std::string grid_line(const std::string& margin, const std::vector<std::string>& cells, char separator) {
  std::string result = margin + separator;
  for (const std::string& cell : cells) result += cell + separator;
  return result;
}

/// The grid of one layout as lines of one width, or nothing when it is too large for a page.
std::optional<Lines> draw(const Layout& layout, const View& view) {
  const RegionGrid grid =
      region_grid(layout, view, boundaries(layout, view.row_dim), boundaries(layout, view.column_dim));
  if (grid.row_count() > page_regions || grid.column_count() > page_regions) return std::nullopt;
  std::size_t margin = 0;
  for (std::size_t row = 0; row < grid.row_count(); ++row)
    margin = std::max(margin, region_text(grid.rows, row).size());
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < grid.column_count(); ++column) {
    std::size_t width = region_text(grid.columns, column).size();
    for (std::size_t row = 0; row < grid.row_count(); ++row) {
      width = std::max(width, shard_label(layout, grid.shard(row, column)).size());
    }
    widths.push_back(width + 2);
  }
  const std::string blank(margin + 1, ' ');
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  for (std::size_t column = 0; column < widths.size(); ++column) {
    titles.push_back(centred(view.column_dim < 0 ? "" : region_text(grid.columns, column), widths[column]));
    rules.emplace_back(widths[column], '-');
  }
  const std::string rule = grid_line(blank, rules, '+');
  Lines lines{grid_line(blank, titles, ' '), rule};
  for (std::size_t row = 0; row < grid.row_count(); ++row) {
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < widths.size(); ++column) {
      cells.push_back(centred(shard_label(layout, grid.shard(row, column)), widths[column]));
    }
    const std::string title = view.row_dim < 0 ? "" : region_text(grid.rows, row);
    lines.push_back(grid_line(fmt::format("{:>{}} ", title, margin), cells, '|'));
    lines.push_back(rule);
  }
  if (rule.size() > page_columns) return std::nullopt;
  return lines;
}

std::string joined_side_by_side(const Lines& left, const Lines& right) {
  constexpr std::string_view arrow = "   ->   ";
  const std::size_t height = std::max(left.size(), right.size());
  const std::size_t arrow_line = std::min<std::size_t>(2, height - 1);
  std::string result;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line =
        fmt::format("    {:<{}}{}{}", i < left.size() ? left[i] : "", left[0].size(),
                    i == arrow_line ? arrow : std::string(arrow.size(), ' '), i < right.size() ? right[i] : "");
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string stacked(const Lines& lines) {
  std::string result;
  for (const std::string& line : lines) result += "    " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return result;
}

}  // namespace

std::string text_picture(const TensorCase& tensor) {
  if (elements(tensor.shape()) == 0) return "    the tensor has no elements\n";
  const View view = choose_view(tensor);
  const std::optional<Lines> source = draw(tensor.source, view);
  const std::optional<Lines> target = draw(tensor.target, view);
  if (!source || !target) return "    too many pieces to draw; the tables and --json say all\n";
  const std::string what = fmt::format("    ranks by region; {}\n\n", view.text(tensor));
  if (source->front().size() + target->front().size() + 12 <= page_columns) {
    return what + joined_side_by_side(*source, *target);
  }
  return what + stacked(*source) + "    ->\n" + stacked(*target);
}

}  // namespace reshardcheck::cli
