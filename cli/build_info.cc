// Told by the compiler's own macros; nothing here is configured.
#include "cli/build_info.h"

#include <fmt/format.h>

#include <string_view>

namespace reshardcheck::cli {
namespace {

constexpr std::string_view compiler_name =
#if defined(__clang__)
    "clang";
#else
    "gcc";
#endif

constexpr std::string_view compiler_version =
#if defined(__clang__)
    __clang_version__;
#else
    __VERSION__;
#endif

constexpr bool optimised =
#if defined(NDEBUG)
    true;
#else
    false;
#endif

#if defined(__has_feature)
#define RESHARDCHECK_HAS_FEATURE(feature) __has_feature(feature)
#else
#define RESHARDCHECK_HAS_FEATURE(feature) 0
#endif

constexpr std::string_view sanitizer =
#if defined(__SANITIZE_ADDRESS__) || RESHARDCHECK_HAS_FEATURE(address_sanitizer)
    ", address sanitizer";
#elif defined(__SANITIZE_THREAD__) || RESHARDCHECK_HAS_FEATURE(thread_sanitizer)
    ", thread sanitizer";
#else
                "";
#endif

}  // namespace

std::string version() { return RESHARDCHECK_VERSION; }

std::string build_description() {
  const std::string_view number = compiler_version.substr(0, compiler_version.find(' '));
  return fmt::format("{} ({} {}, {}{})", version(), compiler_name, number, optimised ? "release" : "debug", sanitizer);
}

}  // namespace reshardcheck::cli
