// The front door: parses the command line, runs one subcommand, turns its answer into an exit code.
//
// Mistakes on the command line are answered with what was wrong and what to type instead, never with a page of help.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/suggestion.h"
#include "fuzz/corpus.h"

namespace reshardcheck::cli {
namespace {

constexpr std::array adders = {add_run,      add_fuzz,   add_enumerate,   add_shrink, add_prove, add_explain,
                               add_subjects, add_doctor, add_fingerprint, add_bench,  add_worker};

constexpr std::string_view summary =
    "Finds the layouts on which a reshard of distributed tensors goes wrong, proves the\n"
    "ones on which it goes right, and hands you the smallest layout that still fails.";

constexpr std::string_view examples =
    "Examples:\n"
    "  reshardcheck run 'bf16[8,8] 2@0 S(0) -> 4@2 S(1)'      check one layout\n"
    "  reshardcheck fuzz --seconds 20                         search for a layout that fails\n"
    "  reshardcheck fuzz --subject mutant:flat-chunk          see it find and shrink a seeded bug\n"
    "  reshardcheck explain 'f32[5,3] 2x2@0 S(0),S(0) -> 1@4 R'\n"
    "\n"
    "Exit codes: 0 clean, 1 findings, 2 usage or invalid input, 3 environment, 4 only flaky findings.\n"
    "'reshardcheck SUBCOMMAND --help' has options and examples.";

std::vector<std::string> subcommand_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : " ") + word;
  return result;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known) {
  const std::optional<std::string> best = closest(typed, known);
  return best ? fmt::format("; did you mean '{}'?", *best) : "";
}

/// The subcommand that was named on the command line, or the program itself.
const CLI::App& named_command(const CLI::App& app) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  return used.empty() ? app : *used.front();
}

ExitCode explain_parse_error(Console& console, const CLI::App& app, const CLI::ParseError& problem) {
  const CLI::App& command = named_command(app);
  const std::string program = command.get_parent() == nullptr ? "reshardcheck" : "reshardcheck " + command.get_name();
  const std::string hint = fmt::format("'{} --help' shows what it takes", program);
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr) {
    return fail(console, ExitCode::usage, fmt::format("{}: {}", command.get_name(), problem.what()), hint);
  }
  std::string first;
  for (const std::string& extra : app.remaining(true)) {
    if (first.empty() || (!first.starts_with('-') && extra.starts_with('-'))) first = extra;
  }
  if (!first.starts_with('-') || first == "->") {
    return fail(console, ExitCode::usage,
                fmt::format("'{}' was not expected (a case is one argument, in quotes)", first), hint);
  }
  const std::string flag = first.substr(0, first.find('='));
  return fail(console, ExitCode::usage,
              fmt::format("{} has no option '{}'{}", command.get_name(), flag, did_you_mean(flag, flag_names(command))),
              hint);
}

/// A first word that is no subcommand, before CLI11 reports it less helpfully.
std::optional<ExitCode> refuse_first_word(Console& console, CLI::App& app, std::span<char*> arguments) {
  const std::vector<std::string> known = subcommand_names(app);
  if (arguments.empty()) {
    return fail(console, ExitCode::usage, "what shall it do? Subcommands: " + joined(known),
                "'reshardcheck --help' explains them");
  }
  const std::string_view word = arguments[0];
  if (word.starts_with('-')) {
    const std::vector<std::string> flags = flag_names(app);
    if (std::find(flags.begin(), flags.end(), word) != flags.end()) return std::nullopt;
    return fail(console, ExitCode::usage,
                fmt::format("no option '{}' before a subcommand{}", shortened(word, 60), did_you_mean(word, flags)),
                "subcommands: " + joined(known));
  }
  for (const std::string& name : known) {
    if (word == name) return std::nullopt;
  }
  if (word.find('[') != std::string_view::npos) {
    return fail(console, ExitCode::usage, "a case needs a subcommand before it",
                fmt::format("type: reshardcheck run {}", shell_word(shortened(word, 160))));
  }
  return fail(console, ExitCode::usage,
              fmt::format("no subcommand '{}'{}", shortened(word, 60), did_you_mean(word, known)),
              "subcommands: " + joined(known));
}

/// What the exit code becomes when standard output could not be written: nothing that was promised may be missing
/// under a code that says all is well.
ExitCode after_output(Console& console, ExitCode code) {
  if (!console.out.closed()) return code;
  if (console.out.error_number() != EPIPE) {
    return fail(console, ExitCode::environment,
                fmt::format("cannot write to standard output: {}", std::strerror(console.out.error_number())));
  }
  return code == ExitCode::clean ? ExitCode::environment : code;
}

ExitCode dispatch(Console& console, int argument_count, char** arguments) {
  CLI::App app{std::string(summary), "reshardcheck"};
  app.footer(std::string(examples));
  app.set_version_flag("--version", "reshardcheck " RESHARDCHECK_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::vector<std::pair<CLI::App*, Action>> commands;
  for (Action (*add)(CLI::App&) : adders) {
    Action action = add(app);
    commands.emplace_back(app.get_subcommands([](CLI::App*) { return true; }).back(), std::move(action));
  }
  const auto given = std::span<char*>(arguments, static_cast<std::size_t>(argument_count)).subspan(argument_count > 0);
  if (const std::optional<ExitCode> refused = refuse_first_word(console, app, given)) return *refused;
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    console.out.print(app.help());
    return ExitCode::clean;
  } catch (const CLI::CallForVersion& version) {
    console.out.line(version.what());
    return ExitCode::clean;
  } catch (const CLI::ParseError& problem) {
    return explain_parse_error(console, app, problem);
  }
  for (const auto& [command, action] : commands) {
    if (command->parsed()) return action(console);
  }
  return ExitCode::usage;
}

ExitCode guarded(Console& console, int argument_count, char** arguments) {
  try {
    return after_output(console, dispatch(console, argument_count, arguments));
  } catch (const std::bad_alloc&) {
    return fail(console, ExitCode::environment, "out of memory",
                "fewer ranks and smaller shapes need less; commands that run cases refuse large ones by --max-bytes");
  } catch (const std::exception& problem) {
    return fail(console, ExitCode::environment, fmt::format("unexpected: {}", problem.what()));
  }
}

}  // namespace

ExitCode fail(Console& console, ExitCode code, std::string_view message, std::string_view hint) {
  console.err.line(fmt::format("reshardcheck: {}", message));
  if (!hint.empty()) console.err.line(fmt::format("  {}", hint));
  return code;
}

}  // namespace reshardcheck::cli

namespace {

/// Files and sockets that are opened later must not take the place of a standard stream that was closed: what is
/// printed would go into them. What stands in for one cannot be written to either.
void fill_standard_streams() {
  int descriptor = open("/dev/null", O_RDONLY);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDONLY);
  if (descriptor >= 0) close(descriptor);
}

}  // namespace

int main(int argument_count, char** arguments) {
  fill_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an output error, not a death
  reshardcheck::cli::Console console;
  return static_cast<int>(reshardcheck::cli::guarded(console, argument_count, arguments));
}
