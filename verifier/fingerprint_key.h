// FingerprintKey: the coefficient tables of a 128-bit key, and the kernel that this machine runs them with.
//
// Making one costs about a tenth of a millisecond; make it once and share it, it never changes. Both sides of a
// comparison need the same key. Anything that is agreed will do where nobody is an adversary; draw one at random where
// tensors might have been chosen by someone who knows a fixed key.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/layout/result.h"
#include "verifier/fingerprint_kernel.h"

namespace reshardcheck {

using FingerprintKeyBytes = std::array<std::uint8_t, 16>;

class FingerprintKey {
 public:
  /// With the fastest kernel of the machine.
  explicit FingerprintKey(const FingerprintKeyBytes& bytes);
  FingerprintKey(const FingerprintKeyBytes& bytes, const FingerprintKernel& kernel);

  [[nodiscard]] const FingerprintTables& tables() const { return *tables_; }
  [[nodiscard]] const FingerprintKernel& kernel() const { return kernel_; }
  void add(const FingerprintRuns& runs, FingerprintAccumulator& into) const { kernel_.add(*tables_, runs, into); }

 private:
  std::unique_ptr<const FingerprintTables> tables_;
  FingerprintKernel kernel_;
};

/// 32 hexadecimal digits, such as "00112233445566778899aabbccddeeff".
Result<FingerprintKeyBytes> parse_fingerprint_key(std::string_view text);

/// One block of the ChaCha20 key stream (RFC 8439, section 2.3) from its 16 words of input.
std::array<std::uint32_t, 16> chacha20_block(const std::array<std::uint32_t, 16>& input);

}  // namespace reshardcheck
