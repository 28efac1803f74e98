// Plain stdio underneath: every print is flushed, and the first failed one closes the stream for good.
#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

namespace reshardcheck::cli {
namespace {

bool wants_colours() {
  const char* const terminal = std::getenv("TERM");
  return std::getenv("NO_COLOR") == nullptr && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::plain:
      return "";
    case Colour::red:
      return "\033[31m";
    case Colour::green:
      return "\033[32m";
    case Colour::yellow:
      return "\033[33m";
    case Colour::grey:
      return "\033[90m";
  }
  return "";
}

}  // namespace

Output::Output(std::FILE* file)
    : file_(file), terminal_(isatty(fileno(file)) == 1), colours_(terminal_ && wants_colours()) {}

void Output::print(std::string_view text) {
  if (closed() || text.empty()) return;
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
  if (!written) error_number_ = errno != 0 ? errno : EIO;
}

void Output::line(std::string_view text) { print(std::string(text) + "\n"); }

std::string Output::paint(Colour colour, std::string_view text) const {
  if (!colours_ || colour == Colour::plain) return std::string(text);
  return fmt::format("{}{}\033[0m", code_of(colour), text);
}

Table::Table(std::vector<Column> columns, std::string_view indent) : columns_(std::move(columns)), indent_(indent) {
  for (Column& column : columns_) column.width = std::max(column.width, column.title.size());
}

void Table::fit(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
    columns_[i].width = std::max(columns_[i].width, cells[i].size());
  }
}

std::string Table::header() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  return row(titles);
}

std::string Table::row(const std::vector<std::string>& cells) const {
  std::string result;
  for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
    const Column& column = columns_[i];
    result += i == 0 ? indent_ : "  ";
    result += column.align == Align::left ? fmt::format("{:<{}}", cells[i], column.width)
                                          : fmt::format("{:>{}}", cells[i], column.width);
  }
  result.erase(result.find_last_not_of(' ') + 1);
  return result;
}

std::string Table::whole(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows) {
  Table table(std::move(columns));
  for (const std::vector<std::string>& cells : rows) table.fit(cells);
  std::string result = table.header() + "\n";
  for (const std::vector<std::string>& cells : rows) result += table.row(cells) + "\n";
  return result;
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double scaled = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < units.size()) {
    scaled /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", scaled, units[unit]);
}

std::string human_time(std::int64_t microseconds) {
  if (microseconds < 1'000) return fmt::format("{} us", microseconds);
  if (microseconds < 1'000'000) return fmt::format("{:.1f} ms", static_cast<double>(microseconds) / 1e3);
  if (microseconds < 60'000'000) return fmt::format("{:.1f} s", static_cast<double>(microseconds) / 1e6);
  return fmt::format("{} min {} s", microseconds / 60'000'000, microseconds / 1'000'000 % 60);
}

std::string count_of(std::int64_t count, std::string_view singular, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", count, singular) : fmt::format("{} {}", count, plural);
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  return std::string(text.substr(0, width - std::min<std::size_t>(width, 3))) + "...";
}

}  // namespace reshardcheck::cli
