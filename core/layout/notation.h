// The notation: one line of text is the canonical form of a case.
//
//     bf16[8,8] 2@0 S(0) -> 4@2 S(1)
//     gate = bf16[28,8] 2@0 S(0) -> 4@2 S(0) ; qkv = bf16[10,8] 2@0 S(0,segments=6|2|2) -> 4@2 R via gather_broadcast |
//     domain=2 seed=7
//
//     case      := tensor { ";" tensor } [ "|" option { option } ]
//     tensor    := [ name "=" ] dtype "[" [ extent { "," extent } ] "]" side "->" side [ "via" path ]
//     side      := mesh placements
//     mesh      := extent { "x" extent } ( "@" first_rank | "{" rank { "," rank } "}" )
//     placements:= placement { "," placement }            one per mesh axis
//     placement := "R" | "S(" dim [ "," rule ] ")" | "_S(" dim "," split_factor ")"
//     rule      := "chunk" | "balanced" | "even" | "padded" | "pad=" M | "cuts=" sizes | "segments=" sizes
//     sizes     := size { "|" size }
//     path      := "reshard" | "gather_broadcast"
//     option    := "world=" N | "domain=" N [ "@" rank ] | "fill=" name | "seed=" N | "refits=" N | "chunk=" N
//                | "gap=" N | "batch=" N | "faults=" fault { "+" fault }
//     fault     := kind "@" at [ "." call ]
//
// parse_case(to_text(c)) == c for every valid case, and to_text(parse_case(t)) is the canonical form of t:
// defaults left out, options in the order above, `@first` wherever ranks count up by one. Files written by the
// first release parse for ever.
#pragma once

#include <string>
#include <string_view>

#include "core/layout/case.h"

namespace reshardcheck {

/// The case a line says, valid in every respect; or an Error with the byte at fault and the reason. Bounded by
/// limits.h before anything is allocated.
Result<Case> parse_case(std::string_view text);

/// The canonical line of a case, and of one of its tensors.
std::string to_text(const Case& value);
std::string to_text(const TensorCase& tensor);
/// The options alone, without the leading "|"; empty when all are at their defaults.
std::string to_text(const Options& options);

/// The error as people read it: one line with position and reason, then the text around it and a caret.
std::string explain_error(std::string_view text, const Error& error);

}  // namespace reshardcheck
