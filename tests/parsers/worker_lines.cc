// Whatever the other end of a worker's channel says is a message or an error; messages read back as they are sent.
#include "tests/parsers/parser.h"
#include "verifier/rank_report_json.h"
#include "verifier/worker/protocol.h"

RESHARDCHECK_PARSER(text) {
  using namespace reshardcheck;
  (void)parse_hello(text).ok();
  (void)parse_notice(text).has_value();
  (void)unpack_reports(text).ok();
  const Result<WorkerRequest> request = parse_request(text);
  if (request.ok()) RESHARDCHECK_CHECK(parse_request(to_line(*request)).ok());
  const Result<WorkerReply> reply = parse_reply(text);
  if (reply.ok()) RESHARDCHECK_CHECK(parse_reply(to_line(*reply)).ok());
}
