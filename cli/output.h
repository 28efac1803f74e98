// Output: text on the two standard streams, and the tables people read.
//
// A stream whose reader has gone (`reshardcheck run ... | head`) or whose disk is full is remembered as closed: what
// is printed after that is dropped, and long commands look at closed() and stop. Colours are used only on a terminal.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace reshardcheck::cli {

enum class Colour : std::uint8_t { plain, red, green, yellow, grey };

class Output {
 public:
  explicit Output(std::FILE* file);

  /// Writes the text as it is, and flushes: what has been printed has been seen, whatever happens next.
  void print(std::string_view text);
  /// Writes the text and a newline.
  void line(std::string_view text = "");

  [[nodiscard]] bool closed() const { return error_number_ != 0; }
  /// The errno of the write that failed; 0 while the stream is open.
  [[nodiscard]] int error_number() const { return error_number_; }
  [[nodiscard]] bool is_terminal() const { return terminal_; }

  /// The text in a colour, or as it is where colours are not wanted.
  [[nodiscard]] std::string paint(Colour colour, std::string_view text) const;

 private:
  std::FILE* file_;
  int error_number_ = 0;
  bool terminal_ = false;
  bool colours_ = false;
};

struct Console {
  Output out{stdout};
  Output err{stderr};
};

/// A table with aligned columns, printed line by line so that rows appear as they come.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t width = 0;  // at least this many characters
  };

  explicit Table(std::vector<Column> columns, std::string_view indent = "  ");

  /// Makes the columns wide enough for these cells.
  void fit(const std::vector<std::string>& cells);
  [[nodiscard]] std::string header() const;
  /// One row without a newline, no spaces at its end.
  [[nodiscard]] std::string row(const std::vector<std::string>& cells) const;

  /// Header and rows of a table that is known as a whole.
  static std::string whole(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows);

 private:
  std::vector<Column> columns_;
  std::string indent_;
};

/// "640 B", "1.5 MiB".
std::string human_bytes(std::int64_t bytes);
/// "12 us", "3.4 ms", "1 min 20 s".
std::string human_time(std::int64_t microseconds);
/// "1 case", "2 cases".
std::string count_of(std::int64_t count, std::string_view singular, std::string_view plural = "");
/// The text on one line of at most `width` characters, cut with "...".
std::string shortened(std::string_view text, std::size_t width);

}  // namespace reshardcheck::cli
