// A book of fingerprints: the digests of many tensors, as one side saves them and the other compares.
//
//   {"format":"reshardcheck-fingerprints","version":1,"key":"00..","tensors":[{"name","dtype","shape","digest"}]}
//
// Engine checkers write maps {"dp:pp:pcp:tp:name": "hex"} instead, of hashes of their own. Such a map can be read and
// written: digests of ours are compared; with others, whose values depend on the layout, only the names can be.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"

namespace reshardcheck {

struct FingerprintRecord {
  std::string name;
  std::string dtype;  // empty in a map, where it is inside the digest
  Shape shape;
  std::string digest;  // empty: the value means something else, only the name counts
  friend bool operator==(const FingerprintRecord&, const FingerprintRecord&) = default;
};

struct FingerprintBook {
  std::string key;  // 32 hexadecimal digits; empty in a map
  std::vector<FingerprintRecord> records;
  friend bool operator==(const FingerprintBook&, const FingerprintBook&) = default;
};

nlohmann::ordered_json to_json(const FingerprintBook& book);
/// {"0:0:0:0:name": digest}: digests do not depend on the rank, so one entry a tensor is all there is to say.
nlohmann::ordered_json to_map_json(const FingerprintBook& book);

/// Reads either form; names of a map may come from many ranks and count once. Bounded; the Error says what is wrong.
Result<FingerprintBook> parse_fingerprint_book(std::string_view text);

struct BookDifference {
  std::string name;
  std::string what;  // "digest", "dtype", "shape", "only in the first", "only in the second"
  friend bool operator==(const BookDifference&, const BookDifference&) = default;
};

/// Differences in the order of the first book, then of the second. Error when the keys differ.
Result<std::vector<BookDifference>> compare(const FingerprintBook& first, const FingerprintBook& second);

}  // namespace reshardcheck
