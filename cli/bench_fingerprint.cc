// reshardcheck bench fingerprint: the fingerprint against what else could read a tensor: XXH3, SHA-256 and a plain
// loop.
//
// One core, one buffer of bf16. Measurements take turns, round after round, and the best round of each counts, so that
// a busy machine slows all of them alike.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#define RESHARDCHECK_XXH3 XXH3_64bits_dispatch
#else
#define RESHARDCHECK_XXH3 XXH3_64bits
#endif
#if defined(RESHARDCHECK_HAVE_OPENSSL)
#include <openssl/evp.h>
#endif

#include "cli/bench.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "core/layout/json.h"
#include "verifier/fingerprint_tensor.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t row_bytes = 256;  // of the column shard
constexpr std::int64_t column_shards = 8;
constexpr std::int64_t sha_bytes = 64 << 20;  // SHA-256 is slow and does not care where its bytes come from

struct BenchCommand {
  std::string bytes = "1G";
  std::int64_t rounds = 7;
  bool json = false;
};

/// What is measured: reads `bytes` bytes and returns something that depends on them.
struct Contender {
  std::string name;
  std::int64_t bytes = 0;
  std::function<std::uint64_t()> read;
  double best_seconds = 1e300;

  [[nodiscard]] double gigabytes_per_second() const { return static_cast<double>(bytes) / best_seconds / 1e9; }
};

std::uint64_t sum_of_words(const std::byte* data, std::int64_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < bytes / 8; ++i) sum += words[i];
  return sum;
}

/// The plain loop over one column shard of the whole tensor in memory.
std::uint64_t sum_of_column_view(const std::byte* data, std::int64_t bytes) {
  std::uint64_t sum = 0;
  for (std::int64_t at = 0; at < bytes; at += column_shards * row_bytes) sum += sum_of_words(data + at, row_bytes);
  return sum;
}

#if defined(RESHARDCHECK_HAVE_OPENSSL)
std::uint64_t sha256(const std::byte* data, std::int64_t bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  EVP_Digest(data, static_cast<std::size_t>(bytes), digest, nullptr, EVP_sha256(), nullptr);
  return digest[0];
}
#endif

Layout column_layout(std::int64_t rows) {
  return *Layout::make({rows, column_shards * row_bytes / 2}, *Mesh::consecutive({column_shards}, 0),
                       {Placement::shard(1)});
}

std::vector<Contender> contenders(const FingerprintKey& key, const std::byte* data, std::int64_t bytes) {
  const auto state_of = [&key, data](const Layout& layout, const std::vector<std::int64_t>& strides) {
    return [&key, data, layout, strides] {
      return fingerprint_of_shard(key, {&layout, 0, DType::bf16, data, strides}).lane[0];
    };
  };
  const Layout whole = *Layout::make({bytes / 2}, *Mesh::consecutive({1}, 0), {Placement::replicate()});
  std::vector<Contender> all;
  all.push_back({"fingerprint", bytes, state_of(whole, {})});
  all.push_back({"xxh3", bytes, [=] { return RESHARDCHECK_XXH3(data, static_cast<std::size_t>(bytes)); }});
  all.push_back({"read", bytes, [=] { return sum_of_words(data, bytes); }});
  all.push_back({"fingerprint_columns", bytes, state_of(column_layout(bytes / row_bytes), {})});
  all.push_back({"fingerprint_columns_view", bytes / column_shards,
                 state_of(column_layout(bytes / row_bytes / column_shards), {column_shards * row_bytes / 2, 1})});
  all.push_back({"read_columns_view", bytes / column_shards, [=] { return sum_of_column_view(data, bytes); }});
#if defined(RESHARDCHECK_HAVE_OPENSSL)
  all.push_back({"sha256", std::min(bytes, sha_bytes), [=] { return sha256(data, std::min(bytes, sha_bytes)); }});
#endif
  return all;
}

/// Runs all contenders in turn; what they read ends up in the result, so that none is optimised away.
std::uint64_t measure(std::vector<Contender>& all, std::int64_t rounds) {
  std::uint64_t sink = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (Contender& contender : all) {
      const double begin = thread_seconds();
      sink += contender.read();
      contender.best_seconds = std::min(contender.best_seconds, thread_seconds() - begin);
    }
  }
  return sink;
}

double speed_of(const std::vector<Contender>& all, std::string_view name) {
  for (const Contender& contender : all) {
    if (contender.name == name) return contender.gigabytes_per_second();
  }
  return 0;
}

ordered_json report_of(const std::vector<Contender>& all, const FingerprintKey& key, std::int64_t bytes) {
  ordered_json report{{"bench", "fingerprint"}, {"kernel", key.kernel().name}, {"threads", 1}, {"bytes", bytes}};
  for (const Contender& contender : all) report[contender.name + "_gb_per_s"] = contender.gigabytes_per_second();
  const double own = speed_of(all, "fingerprint");
  for (const std::string_view other : {"xxh3", "read", "sha256"}) {
    if (const double speed = speed_of(all, other); speed > 0) report[fmt::format("ratio_to_{}", other)] = own / speed;
  }
  report["columns_ratio_to_xxh3"] = speed_of(all, "fingerprint_columns") / speed_of(all, "xxh3");
  report["columns_view_ratio_to_xxh3"] = speed_of(all, "fingerprint_columns_view") / speed_of(all, "xxh3");
  report["columns_view_ratio_to_read"] = speed_of(all, "fingerprint_columns_view") / speed_of(all, "read_columns_view");
  return report;
}

void print_table(Console& console, const std::vector<Contender>& all, const FingerprintKey& key, std::int64_t bytes) {
  using enum Table::Align;
  std::vector<std::vector<std::string>> rows;
  const double own = speed_of(all, "fingerprint");
  for (const Contender& contender : all) {
    rows.push_back({contender.name, human_bytes(contender.bytes),
                    fmt::format("{:.2f}", contender.gigabytes_per_second()),
                    fmt::format("{:.2f}", contender.gigabytes_per_second() / own)});
  }
  console.out.print(Table::whole({{"what"}, {"read", right}, {"GB/s", right}, {"of fingerprint", right}}, rows));
  console.out.line(fmt::format("{} of bf16, one core, kernel {}; columns: rows of {} B, dense and as a view",
                               human_bytes(bytes), key.kernel().name, row_bytes));
}

ExitCode bench(Console& console, const BenchCommand& command) {
  const Result<std::int64_t> typed = parse_bytes(command.bytes);
  if (!typed) return fail(console, ExitCode::usage, "--bytes: " + typed.error().reason);
  const std::int64_t unit = column_shards * row_bytes;
  const std::int64_t bytes = *typed / unit * unit;
  if (bytes < unit) return fail(console, ExitCode::usage, fmt::format("--bytes: at least {}", unit));
  if (bytes > available_memory_bytes()) {
    return fail(console, ExitCode::environment, fmt::format("{} do not fit in free memory", human_bytes(bytes)),
                "--bytes takes less, such as 64M");
  }
  const std::vector<std::uint64_t> words = [&] {
    std::vector<std::uint64_t> random(static_cast<std::size_t>(bytes / 8));
    std::uint64_t seed = 1;
    for (std::uint64_t& word : random) word = seed = seed * 6364136223846793005u + 1442695040888963407u;
    return random;
  }();
  const FingerprintKey key({});
  std::vector<Contender> all = contenders(key, reinterpret_cast<const std::byte*>(words.data()), bytes);
  ordered_json report;
  const std::uint64_t sink = measure(all, command.rounds);
  if (command.json) {
    report = report_of(all, key, bytes);
    report["sink"] = fmt::format("{:016x}", sink);
    console.out.line(json_line(report));
  } else {
    print_table(console, all, key, bytes);
  }
  return ExitCode::clean;
}

}  // namespace

Action add_bench_fingerprint(CLI::App& app) {
  CLI::App* command = app.add_subcommand("fingerprint", "The fingerprint against XXH3, SHA-256 and a plain loop");
  const auto options = std::make_shared<BenchCommand>();
  command->add_option("--bytes", options->bytes, "Size of the tensor (default 1G)")->type_name("SIZE");
  add_number(*command, {"--rounds", "Measurements of each; the best counts (default 7)", 1, 1'000}, options->rounds);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Speeds are bytes by CPU seconds of one core. 'columns' is a column shard with rows of 256 bytes: dense in "
      "memory, and\n"
      "as a view into the whole tensor.\n"
      "Example:\n"
      "  reshardcheck bench fingerprint --bytes 256M");
  return [options](Console& console) { return bench(console, *options); };
}

}  // namespace reshardcheck::cli
