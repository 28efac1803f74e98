// Any text is a case or an error with a place in it; a case reads back as it is printed.
#include "core/layout/notation.h"
#include "tests/parsers/parser.h"

RESHARDCHECK_PARSER(text) {
  using namespace reshardcheck;
  const Result<Case> value = parse_case(text);
  if (!value) {
    RESHARDCHECK_CHECK(!value.error().has_position() || value.error().position <= text.size());
    RESHARDCHECK_CHECK(!explain_error(text, value.error()).empty());
    return;
  }
  const Result<Case> again = parse_case(to_text(*value));
  RESHARDCHECK_CHECK(again.ok() && *again == *value);
}
