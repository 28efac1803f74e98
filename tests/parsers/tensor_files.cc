// Headers of safetensors files, files of digests, rules of layouts and keys, from anywhere.
#include "tests/parsers/parser.h"
#include "verifier/fingerprint_book.h"
#include "verifier/fingerprint_files.h"
#include "verifier/fingerprint_key.h"
#include "verifier/safetensors.h"

RESHARDCHECK_PARSER(text) {
  using namespace reshardcheck;
  static const std::byte data[256] = {};
  const Result<std::vector<StoredTensor>> tensors = parse_safetensors_header(text, data, sizeof data);
  if (tensors.ok()) {
    for (const StoredTensor& tensor : *tensors)
      RESHARDCHECK_CHECK(tensor.data >= data && tensor.data <= data + sizeof data);
  }
  (void)parse_fingerprint_book(text).ok();
  (void)parse_layout_rule(text).ok();
  (void)parse_fingerprint_key(text).ok();
}
