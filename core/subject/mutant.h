// Mutants: seeded-bug subjects that re-create bug classes from public reports. They measure the harness: a mutant
// that survives a search is a hole in a generator or an oracle.
//
// A mutant is a row of a table: what is wrong, the verdicts that should name it, where the class was seen, and the
// deviation that makes it. Where a class needs size (2^31 elements, staging buffers of gigabytes), the threshold is
// an option with a small default, so that tiny cases reach it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/result.h"
#include "core/subject/deviation.h"

namespace reshardcheck {

struct MutantOption {
  std::string_view name;
  std::int64_t value = 0;   // in a table row: the default
  std::int64_t lowest = 1;  // what may be set
  std::int64_t highest = std::int64_t{1} << 40;
};

/// The options of one mutant, with their values.
class MutantOptions {
 public:
  explicit MutantOptions(std::vector<MutantOption> options) : options_(std::move(options)) {}

  /// The value of an option that the mutant has.
  [[nodiscard]] std::int64_t operator[](std::string_view name) const;

  /// Sets options from "key=value&key=value". An unknown key is an error that lists the known ones.
  Status set(std::string_view text);

 private:
  std::vector<MutantOption> options_;
};

struct Mutant {
  std::string_view name;  // without "mutant:"
  std::string_view what;
  std::string_view expected;  // verdicts, comma separated
  std::string_view origin;
  std::function<Deviation(const MutantOptions&)> make;
  std::vector<MutantOption> options = {};
};

/// The tables, each in a file of its own, in the order of the catalogue.
std::vector<Mutant> layout_mutants();      // who holds what is misread
std::vector<Mutant> addressing_mutants();  // ranks, offsets and strides are computed wrongly
std::vector<Mutant> planning_mutants();    // replicas and domains are planned wrongly
std::vector<Mutant> transport_mutants();   // messages are cut, staged or signalled wrongly
std::vector<Mutant> batch_mutants();       // several tensors or several calls get in each other's way
std::vector<Mutant> buffer_mutants();      // local memory or values are handled wrongly
std::vector<Mutant> protocol_mutants();    // what is answered and who takes part is wrong

/// All of them.
std::vector<Mutant> all_mutants();

}  // namespace reshardcheck
