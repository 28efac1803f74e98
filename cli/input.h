// Input: the cases, and sequences of cases, that arguments name.
//
// An argument is case text, a JSON object, the name of a file or of a directory of .case files, or "-" for standard
// input. In a file a case stands on a line of its own, as text or as JSON; blank lines and lines that begin with #
// are skipped. What is neither a regular file nor one of the process's own descriptors (/dev/stdin, /dev/fd/N) is
// refused, and passed over in a directory. Where a case may stand, several with " >> " between them are a sequence
// (fuzz/sequence.h). A JSON line may also be an object with a member "case", which is what `run --json` prints and
// golden files hold. A file that ends in .json is one JSON value: a case or a list of cases.
//
// All arguments are read before anything runs, and the first invalid line refuses them all: a run that stops half
// way over a typing error has told nobody anything.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "fuzz/sequence.h"

namespace reshardcheck::cli {

struct InputSequence {
  Sequence value;
  std::string place;  // "golden/m2n_matrix.cases:12"; empty for what stands on the command line
};

/// "cases.txt:7: ", or nothing for a case of the command line.
std::string place_prefix(const InputSequence& input);

/// The sequences of all arguments in order, at least one. The Error's reason is the whole message, up to three lines:
/// what is wrong, the line and a caret under the place. A corpus outlives accidents: where `unreadable` is given, files
/// of a directory that cannot be read go there, as such messages, and their cases are left out.
Result<std::vector<InputSequence>> read_sequences(std::span<const std::string> arguments,
                                                  std::vector<std::string>* unreadable = nullptr);

struct InputCase {
  Case value;
  std::string place;
};

/// The same for commands that take cases by themselves; a sequence of several is an Error.
Result<std::vector<InputCase>> read_input(std::span<const std::string> arguments);

/// The hint that goes with wrong input: what to type instead, where that can be told.
std::string input_hint(std::span<const std::string> arguments);

/// The notation in a few lines, for --help of the commands that take a case.
inline constexpr std::string_view notation_help =
    "A case is one argument, in quotes: tensors, each with source and target layout, then options.\n"
    "  dtype[shape] mesh placements -> mesh placements [via gather_broadcast] [; more tensors] [| options]\n"
    "  mesh: 4@2 is ranks 2 to 5, 2x2@0 a grid, 4{7,1,3,5} a list of ranks\n"
    "  placements, one per mesh axis: R replicates; S(0) shards dim 0; S(0,balanced) S(0,even) S(0,padded)\n"
    "    S(0,pad=4) S(0,cuts=3|5) S(0,segments=6|2|2) _S(0,2) shard it by another rule\n"
    "  options: world=N domain=N[@A] fill=digits|hash|special|provenance seed=N refits=N chunk=N gap=N batch=N\n"
    "    faults=KIND@N\n"
    "Several cases with >> between them are a sequence: one subject gets them one after the other.\n";

}  // namespace reshardcheck::cli
