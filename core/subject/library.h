// LibrarySubject: a shared library that speaks the C ABI (abi.h), as a Subject.
//
// "lib:PATH.so" or "lib:PATH.so?key=value": PATH up to the first '?' names the file itself. It is never looked for
// anywhere else; without a '/' it is in the current directory. What stands behind '?' is the library's own business.
//
// The library runs in this process and can take it down. It stays loaded until the process ends, because threads
// and exit handlers that it has started may outlive its last session.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/layout/result.h"
#include "core/subject/subject.h"

namespace reshardcheck {

class LibrarySubject : public Subject {
 public:
  static constexpr std::string_view prefix = "lib:";

  /// Loads the library of a name that starts with `prefix`. An Error says in one line what is wrong with it.
  static Result<std::unique_ptr<Subject>> load(std::string_view name);

  [[nodiscard]] std::string_view name() const override { return name_; }
  /// Never null: a session that could not be opened says why when it is used.
  std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) override;
  [[nodiscard]] bool promises_minimal_traffic() const override;
  [[nodiscard]] std::optional<std::string> unsupported(const Case& value) const override;

 private:
  struct Library;
  class LibrarySession;

  LibrarySubject(std::string name, std::shared_ptr<const Library> library)
      : name_(std::move(name)), library_(std::move(library)) {}

  std::string name_;
  std::shared_ptr<const Library> library_;  // shared with its sessions
};

}  // namespace reshardcheck
