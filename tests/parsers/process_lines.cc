// Whatever a process subject says is a message or an error.
#include "core/subject/child_process.h"
#include "core/subject/process_protocol.h"
#include "tests/parsers/parser.h"

RESHARDCHECK_PARSER(text) {
  using namespace reshardcheck;
  (void)read_hello(text).ok();
  (void)read_answer(text).ok();
  (void)split_command(text).ok();
}
