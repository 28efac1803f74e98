// Expected failures as values: Result<T> is a T or an Error, and the whole tree uses this one type.
//
// An Error says what is wrong in one sentence and, where the input was text, at which byte. Programming errors
// are not Errors; they abort through RESHARDCHECK_CHECK, which prints the expression and where it stood.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

/// Aborts with the expression and its place when a program's own invariant does not hold.
#define RESHARDCHECK_CHECK(condition)                                                                    \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      std::fprintf(stderr, "reshardcheck: bug: %s is false at %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                      \
    }                                                                                                    \
  } while (false)

namespace reshardcheck {

/// Why something could not be done. `position` is a byte offset into the text that was read (or, for
/// Layout::make, the index of the placement at fault); `no_position` when neither applies.
struct Error {
  static constexpr std::size_t no_position = static_cast<std::size_t>(-1);

  std::string reason;
  std::size_t position = no_position;

  [[nodiscard]] bool has_position() const { return position != no_position; }
  friend bool operator==(const Error&, const Error&) = default;
};

/// The value of an operation that has nothing to return but can fail.
struct Ok {
  friend bool operator==(const Ok&, const Ok&) = default;
};

/// A value of T, or the Error that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; aborts when there is none (check ok() first). Of a temporary it is moved out, so that a loop over
  /// *f() does not outlive what it loops over.
  [[nodiscard]] const T& value() const& {
    RESHARDCHECK_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T& value() & {
    RESHARDCHECK_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T value() && {
    RESHARDCHECK_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  [[nodiscard]] const Error& error() const {
    RESHARDCHECK_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Ok>;

}  // namespace reshardcheck
