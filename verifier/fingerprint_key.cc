// Key expansion: ChaCha20 in counter mode fills the tables in the order in which they are declared.
//
// The key has 128 bits, so the constants are those of the 16-byte variant ("expand 16-byte k", the key twice).
#include "verifier/fingerprint_key.h"

#include <fmt/format.h>

#include <bit>

namespace reshardcheck {
namespace {

constexpr int coefficient_bits = 23;  // 512 words of 32 bits times 23 bits stay below 2^64

void quarter_round(std::array<std::uint32_t, 16>& x, int a, int b, int c, int d) {
  const auto at = [&x](int i) -> std::uint32_t& { return x[static_cast<std::size_t>(i)]; };
  at(a) += at(b), at(d) = std::rotl(at(d) ^ at(a), 16);
  at(c) += at(d), at(b) = std::rotl(at(b) ^ at(c), 12);
  at(a) += at(b), at(d) = std::rotl(at(d) ^ at(a), 8);
  at(c) += at(d), at(b) = std::rotl(at(b) ^ at(c), 7);
}

/// The key stream, word by word.
class KeyStream {
 public:
  explicit KeyStream(const FingerprintKeyBytes& key) {
    input_ = {0x61707865, 0x3120646e, 0x79622d36, 0x6b206574};
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t word = 0;
      for (std::size_t byte = 4; byte-- > 0;) word = word << 8 | key[i % 4 * 4 + byte];
      input_[4 + i] = word;
    }
  }

  std::uint32_t next_word() {
    if (used_ == block_.size()) {
      block_ = chacha20_block(input_);
      input_[12] += 1;  // the tables need about a thousand blocks
      used_ = 0;
    }
    return block_[used_++];
  }

  std::uint64_t next_coefficient() { return next_word() >> (32 - coefficient_bits); }

  /// Uniform but for the value 0, which is twice as likely.
  std::uint64_t next_residue() {
    const std::uint64_t low = next_word();
    const std::uint64_t bits = (std::uint64_t{next_word()} << 32 | low) & fingerprint_prime;
    return bits == fingerprint_prime ? 0 : bits;
  }

 private:
  std::array<std::uint32_t, 16> input_ = {};
  std::array<std::uint32_t, 16> block_ = {};
  std::size_t used_ = 16;
};

std::unique_ptr<const FingerprintTables> expand(const FingerprintKeyBytes& key) {
  auto tables = std::make_unique<FingerprintTables>();
  KeyStream stream(key);
  for (auto& row : tables->rows) {
    for (auto& sum : row) {
      for (auto& parity : sum) {
        for (std::uint64_t& coefficient : parity) coefficient = stream.next_coefficient();
      }
    }
  }
  for (auto& block : tables->blocks) {
    for (auto& lane : block) {
      for (std::uint64_t& factor : lane) factor = stream.next_residue();
    }
  }
  for (auto& level : tables->levels) {
    for (auto& entry : level) {
      for (std::uint64_t& factor : entry) factor = stream.next_residue();
    }
    level[0][0] = level[0][1] = 1;
  }
  return tables;
}

}  // namespace

std::array<std::uint32_t, 16> chacha20_block(const std::array<std::uint32_t, 16>& input) {
  std::array<std::uint32_t, 16> x = input;
  for (int round = 0; round < 20; round += 2) {
    for (int i = 0; i < 4; ++i) quarter_round(x, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i) quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += input[i];
  return x;
}

FingerprintKey::FingerprintKey(const FingerprintKeyBytes& bytes)
    : FingerprintKey(bytes, fingerprint_kernels().back()) {}

FingerprintKey::FingerprintKey(const FingerprintKeyBytes& bytes, const FingerprintKernel& kernel)
    : tables_(expand(bytes)), kernel_(kernel) {}

Result<FingerprintKeyBytes> parse_fingerprint_key(std::string_view text) {
  FingerprintKeyBytes key = {};
  if (text.size() != 2 * key.size()) {
    return Error{fmt::format("a key has 32 hexadecimal digits, not {}", text.size())};
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char digit = text[i];
    int value = 0;
    if (digit >= '0' && digit <= '9')
      value = digit - '0';
    else if (digit >= 'a' && digit <= 'f')
      value = digit - 'a' + 10;
    else if (digit >= 'A' && digit <= 'F')
      value = digit - 'A' + 10;
    else
      return Error{fmt::format("'{}' is not a hexadecimal digit", digit), i};
    key[i / 2] = static_cast<std::uint8_t>(key[i / 2] << 4 | value);
  }
  return key;
}

}  // namespace reshardcheck
