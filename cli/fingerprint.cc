// reshardcheck fingerprint: digests of the tensors in safetensors files that do not depend on how they are sharded.
//
// One set of files gives a book of digests; two sets, or two saved books, are compared, and tensors that differ are
// named, with the first element that does and who holds it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/options.h"
#include "core/layout/json.h"
#include "core/layout/limits.h"
#include "fuzz/corpus.h"
#include "verifier/fingerprint_book.h"
#include "verifier/fingerprint_files.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

struct FingerprintCommand {
  std::vector<std::string> files;
  std::vector<std::string> layouts;
  std::vector<std::string> against;
  std::vector<std::string> against_layouts;
  std::vector<std::string> compare;
  std::string key = std::string(32, '0');
  std::int64_t threads = 1;
  std::string save;
  std::string save_map;
  bool json = false;
};

/// One side: its files, what lies in them, and the digests.
struct ComparedSide {
  std::vector<SafetensorsFile> files;
  std::vector<DealtTensor> tensors;
  std::vector<TensorFingerprint> fingerprints;
  FingerprintBook book;

  [[nodiscard]] bool replicas_agree() const {
    return std::all_of(fingerprints.begin(), fingerprints.end(),
                       [](const TensorFingerprint& each) { return each.odd_replicas.empty(); });
  }
  [[nodiscard]] const DealtTensor* find(const std::string& name) const {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const DealtTensor& each) { return each.name == name; });
    return found == tensors.end() ? nullptr : &*found;
  }
};

/// What a comparison found about one tensor. The rest is known only when both sides' data is at hand.
struct Found {
  BookDifference difference;
  std::optional<Interval> elements;
  std::string index;
  std::vector<Rank> source_ranks;
  std::vector<Rank> target_ranks;
};

Result<std::vector<LayoutRule>> read_rules(const std::vector<std::string>& texts) {
  std::vector<LayoutRule> rules;
  for (const std::string& text : texts) {
    Result<LayoutRule> rule = parse_layout_rule(text);
    if (!rule) return Error{fmt::format("'{}': {}", text, rule.error().reason)};
    rules.push_back(std::move(*rule));
  }
  return rules;
}

/// Opens the files and deals their tensors; the digests come later, because they take long.
Result<ComparedSide> open_side(const std::vector<std::string>& paths, const std::vector<std::string>& layouts) {
  const Result<std::vector<LayoutRule>> rules = read_rules(layouts);
  if (!rules) return rules.error();
  ComparedSide side;
  for (const std::string& path : paths) {
    Result<SafetensorsFile> file = SafetensorsFile::open(path);
    if (!file) return file.error();
    side.files.push_back(std::move(*file));
  }
  Result<std::vector<DealtTensor>> tensors = deal_tensors(side.files, *rules);
  if (!tensors) return tensors.error();
  side.tensors = std::move(*tensors);
  return side;
}

void compute_digests(const FingerprintKey& key, const FingerprintCommand& command, ComparedSide& side) {
  side.book.key = command.key;
  for (const DealtTensor& tensor : side.tensors) {
    side.fingerprints.push_back(fingerprint_of(key, tensor, static_cast<int>(command.threads)));
    const std::string dtype(name(tensor.dtype));
    side.book.records.push_back(
        {tensor.name, dtype, tensor.layout.shape(),
         fingerprint_digest(key, side.fingerprints.back().state, dtype, tensor.layout.shape())});
  }
}

Result<FingerprintBook> read_book_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path + ": cannot open"};
  std::string text;
  std::vector<char> piece(1 << 16);
  while (file.read(piece.data(), std::ssize(piece)) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (std::ssize(text) > limits::max_text_bytes)
      return Error{path + ": more text than a book of fingerprints may have"};
  }
  Result<FingerprintBook> book = parse_fingerprint_book(text);
  if (!book) return Error{fmt::format("{}: {}", path, book.error().reason)};
  return book;
}

ordered_json book_json(const ComparedSide& side) {
  ordered_json json = to_json(side.book);
  for (std::size_t i = 0; i < side.fingerprints.size(); ++i) {
    json["tensors"][i]["layout"] = side.tensors[i].layout.text();
    if (!side.fingerprints[i].odd_replicas.empty())
      json["tensors"][i]["odd_replicas"] = side.fingerprints[i].odd_replicas;
  }
  return json;
}

void print_side(Console& console, const ComparedSide& side) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < side.tensors.size(); ++i) {
    const DealtTensor& tensor = side.tensors[i];
    const std::vector<Rank>& odd = side.fingerprints[i].odd_replicas;
    rows.push_back({side.book.records[i].digest, std::string(name(tensor.dtype)),
                    fmt::format("[{}]", fmt::join(tensor.layout.shape(), ",")), tensor.layout.text(),
                    odd.empty() ? "" : fmt::format("replica differs on rank {}", fmt::join(odd, ",")), tensor.name});
  }
  console.out.print(Table::whole({{"digest"}, {"dtype"}, {"shape"}, {"layout"}, {"replicas"}, {"tensor"}}, rows));
}

ordered_json difference_json(const Found& found) {
  ordered_json json{{"name", found.difference.name}, {"what", found.difference.what}};
  if (found.elements) {
    json["element"] = found.elements->begin;
    json["index"] = found.index;
    json["source_ranks"] = found.source_ranks;
    json["target_ranks"] = found.target_ranks;
  }
  return json;
}

std::string difference_line(const Found& found) {
  if (!found.elements) return fmt::format("DIFFERS  {}: {}", found.difference.name, found.difference.what);
  return fmt::format("DIFFERS  {}: {}, first at element {}, on rank {} of the first side and rank {} of the second",
                     found.difference.name, found.difference.what, found.index, fmt::join(found.source_ranks, ","),
                     fmt::join(found.target_ranks, ","));
}

ExitCode report_comparison(Console& console, bool json, std::size_t tensors, const std::vector<Found>& differences) {
  if (json) {
    ordered_json report{{"tensors", tensors}, {"differences", ordered_json::array()}};
    for (const Found& each : differences) report["differences"].push_back(difference_json(each));
    console.out.line(json_line(report));
  } else {
    for (const Found& each : differences) console.out.line(difference_line(each));
    console.out.line(differences.empty()
                         ? fmt::format("{}: no difference", count_of(static_cast<std::int64_t>(tensors), "tensor"))
                         : fmt::format("{} compared, {}", count_of(static_cast<std::int64_t>(tensors), "tensor"),
                                       count_of(std::ssize(differences), "difference")));
  }
  return differences.empty() ? ExitCode::clean : ExitCode::findings;
}

ExitCode compare_books(Console& console, const FingerprintCommand& command) {
  std::vector<FingerprintBook> books;
  for (const std::string& path : command.compare) {
    const Result<FingerprintBook> book = read_book_file(path);
    if (!book) return fail(console, ExitCode::usage, book.error().reason);
    books.push_back(*book);
  }
  const Result<std::vector<BookDifference>> differences = compare(books[0], books[1]);
  if (!differences) return fail(console, ExitCode::usage, differences.error().reason, "give both sides one --key");
  std::vector<Found> found;
  for (const BookDifference& each : *differences) found.push_back({each, std::nullopt, "", {}, {}});
  return report_comparison(console, command.json, books[0].records.size(), found);
}

/// Where two tensors that differ differ first.
Found locate(const FingerprintKey& key, const BookDifference& difference, const ComparedSide& source,
             const ComparedSide& target) {
  Found found{difference, std::nullopt, "", {}, {}};
  const DealtTensor* a = source.find(difference.name);
  const DealtTensor* b = target.find(difference.name);
  if (difference.what != "digest" || a == nullptr || b == nullptr) return found;
  const auto first =
      first_difference(elements(a->layout.shape()), partial_fingerprints(key, *a), partial_fingerprints(key, *b));
  if (!first) return found;
  found.elements = first->elements;
  found.index = describe_elements(a->layout.shape(), first->elements);
  found.source_ranks = holders(a->layout, first->elements);
  found.target_ranks = holders(b->layout, first->elements);
  return found;
}

ExitCode save(Console& console, const FingerprintCommand& command, const ComparedSide& side) {
  for (const auto& [path, json] :
       {std::pair(command.save, to_json(side.book)), std::pair(command.save_map, to_map_json(side.book))}) {
    if (path.empty()) continue;
    const Status written = write_file_whole(path, json.dump(1) + "\n");
    if (!written) return fail(console, ExitCode::environment, written.error().reason);
  }
  return ExitCode::clean;
}

ExitCode fingerprint(Console& console, const FingerprintCommand& command) {
  if (!command.compare.empty()) return compare_books(console, command);
  if (command.files.empty()) {
    return fail(console, ExitCode::usage, "no files to read", "reshardcheck fingerprint FILE.safetensors...");
  }
  const Result<FingerprintKeyBytes> key_bytes = parse_fingerprint_key(command.key);
  if (!key_bytes) return fail(console, ExitCode::usage, "--key: " + key_bytes.error().reason);
  Result<ComparedSide> source = open_side(command.files, command.layouts);
  if (!source) return fail(console, ExitCode::usage, source.error().reason);
  Result<ComparedSide> target = open_side(command.against, command.against_layouts);
  if (!target) return fail(console, ExitCode::usage, target.error().reason);

  const FingerprintKey key(*key_bytes);
  compute_digests(key, command, *source);
  compute_digests(key, command, *target);
  const ExitCode saved = save(console, command, *source);
  if (saved != ExitCode::clean) return saved;
  if (!command.json) print_side(console, *source);
  const bool replicas_agree = source->replicas_agree() && target->replicas_agree();
  if (command.against.empty()) {
    if (command.json) console.out.line(json_line(book_json(*source)));
    return replicas_agree ? ExitCode::clean : ExitCode::findings;
  }
  if (!command.json) print_side(console, *target);
  std::vector<Found> found;
  for (const BookDifference& each : *compare(source->book, target->book))
    found.push_back(locate(key, each, *source, *target));
  for (const ComparedSide* side : {&*source, &*target}) {
    for (std::size_t i = 0; i < side->tensors.size(); ++i) {
      for (const Rank rank : side->fingerprints[i].odd_replicas) {
        found.push_back(
            {{side->tensors[i].name, fmt::format("replica on rank {} of {}", rank, side->tensors[i].layout.text())},
             std::nullopt,
             "",
             {},
             {}});
      }
    }
  }
  return report_comparison(console, command.json, source->tensors.size(), found);
}

}  // namespace

Action add_fingerprint(CLI::App& app) {
  CLI::App* command = app.add_subcommand("fingerprint", "Compare tensors across layouts by digests, without gathering");
  const auto options = std::make_shared<FingerprintCommand>();
  command->add_option("files", options->files, "Safetensors files, one a rank, ranks ascending")->type_name("FILE");
  command->add_option("--layout", options->layouts, "Layout of tensors by name, first match counts; may be repeated")
      ->type_name("[PATTERN=][SHAPE] SIDE")
      ->allow_extra_args(false);
  command->add_option("--against", options->against, "The other side's files")->type_name("FILE...")->expected(1, -1);
  command->add_option("--against-layout", options->against_layouts, "The other side's layouts")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command
      ->add_option("--compare", options->compare, "Compare two saved files of digests, of this program or of an engine")
      ->type_name("A B")
      ->expected(2);
  command->add_option("--key", options->key, "32 hexadecimal digits, the same on both sides (default: zeros)")
      ->type_name("HEX");
  add_number(*command, {"--threads", "Threads for large shards (default 1)", 1, 1'024}, options->threads);
  command->add_option("--save", options->save, "Also write the digests to this file, for --compare")->type_name("FILE");
  command->add_option("--save-map", options->save_map, "Also write them as {\"dp:pp:pcp:tp:name\": digest}")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "A tensor without a layout is whole in each file that has it. With a layout, files that have the tensor are its\n"
      "ranks in ascending order; replicas are held against each other. Exit code 1 when anything differs.\n"
      "Examples:\n"
      "  reshardcheck fingerprint train-*.safetensors --layout '*_proj*=4@0 S(0)' --layout '4@0 R' --save train.json\n"
      "  reshardcheck fingerprint serve-*.safetensors --layout '*_proj*=2@0 S(1)' --save serve.json\n"
      "  reshardcheck fingerprint --compare train.json serve.json\n"
      "  reshardcheck fingerprint train-*.safetensors --layout '4@0 S(0)' --against model.safetensors");
  return [options](Console& console) { return fingerprint(console, *options); };
}

}  // namespace reshardcheck::cli
