// Any text is a file of cases or an error that names a line; so is any line as a sequence of cases.
#include "fuzz/corpus.h"
#include "fuzz/sequence.h"
#include "tests/parsers/parser.h"

RESHARDCHECK_PARSER(text) {
  using namespace reshardcheck;
  (void)parse_cases(text, "any.case").ok();
  const Result<Sequence> sequence = parse_sequence(text);
  if (!sequence) return;
  const Result<Sequence> again = parse_sequence(to_text(*sequence));
  RESHARDCHECK_CHECK(again.ok() && *again == *sequence);
}
