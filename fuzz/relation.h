// Relations: what must hold between two runs, whatever the subject does inside.
//
// Every run is judged against the definition already, so a relation needs no second oracle: from a case that passes,
// other cases follow that must pass as well. A subject that passes the one and fails the other contradicts itself, and
// the derived case, which fails by itself, shrinks and replays like any other.
//
//   to_itself          A -> A on the same ranks; a subject that promises minimal traffic then moves no byte at all
//   and_back           B -> A, so that A -> B -> A is the identity
//   by_way             A -> C -> B as two cases, so that the way round ends where A -> B does
//   relabelled_ranks   another rank in every place
//   permuted_axes      mesh axes that do not cut one dim exchanged, every rank holding what it held
//   another_order      the tensors of a mix in another order
//   one_alone          one tensor of a mix without the others
//   bytes_of_elements  elements of w bytes as u8 with a trailing dim of w
//   elements_of_bytes  u8 with a whole trailing dim of w as elements of w bytes
//   transport          other chunk, gap, batch, domain and seed options
//
// A case with injected faults has no relations: faults are counted in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "fuzz/choices.h"
#include "verifier/verdict.h"

namespace reshardcheck {

enum class Relation : std::uint8_t {
  to_itself,
  and_back,
  by_way,
  relabelled_ranks,
  permuted_axes,
  another_order,
  one_alone,
  bytes_of_elements,
  elements_of_bytes,
  transport,
};
inline constexpr Relation all_relations[] = {
    Relation::to_itself,         Relation::and_back,      Relation::by_way,    Relation::relabelled_ranks,
    Relation::permuted_axes,     Relation::another_order, Relation::one_alone, Relation::bytes_of_elements,
    Relation::elements_of_bytes, Relation::transport};
[[nodiscard]] std::string_view name(Relation relation);

/// The relation in words, to go after "the case passes, but ".
[[nodiscard]] std::string_view sentence(Relation relation);

/// A case that must pass when the case it was derived from does.
struct RelatedCase {
  Relation relation = Relation::to_itself;
  Case value;
  friend bool operator==(const RelatedCase&, const RelatedCase&) = default;
};

/// The cases that follow by one relation, at most two, all of them valid and none the case itself; none where the
/// relation says nothing about the case.
std::vector<RelatedCase> related_cases(const Case& value, Relation relation, Choices& choices);

/// Those of all relations.
std::vector<RelatedCase> related_cases(const Case& value, Choices& choices);

/// The failure of a derived case, as the campaign reports it: oracle "relation:NAME", and the relation before the
/// detail.
Verdict relation_verdict(Relation relation, Verdict verdict);
[[nodiscard]] bool names_relation(const Verdict& verdict);

}  // namespace reshardcheck
