// Any text is a case in JSON or an error; a case is the same in both of its faces.
#include "core/layout/json.h"

#include <nlohmann/json.hpp>

#include "core/layout/notation.h"
#include "tests/parsers/parser.h"

RESHARDCHECK_PARSER(text) {
  using namespace reshardcheck;
  const Result<Case> value = parse_case_json(text);
  if (!value) return;
  const Result<Case> again = parse_case(to_text(*value));
  RESHARDCHECK_CHECK(again.ok() && *again == *value);
}
