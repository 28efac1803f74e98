// Exit codes of the binary: what a script or a CI job may rely on.
#pragma once

namespace reshardcheck::cli {

enum class ExitCode : int {
  clean = 0,        // every case passed, or was declared unsupported
  findings = 1,     // at least one case failed, or a plan was not proved
  usage = 2,        // the command line or the input was wrong; nothing ran
  environment = 3,  // the machine, the installation or the harness itself is not fit
  flaky = 4,        // findings, but every one of them only sometimes
};

}  // namespace reshardcheck::cli
