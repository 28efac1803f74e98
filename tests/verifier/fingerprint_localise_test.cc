// Goal: the first wrong element is found in a logarithmic number of exchanges, whatever the two layouts.
#include "verifier/fingerprint_localise.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/verifier/fingerprint_test_layouts.h"

namespace reshardcheck {
namespace {

using namespace fingerprint_tests;

/// One side: a tensor dealt out under a layout.
class LocalisedSide {
 public:
  LocalisedSide(const FingerprintKey& key, const Bytes& tensor, const Layout& layout, DType dtype)
      : key_(key), layout_(layout), dtype_(dtype) {
    for (std::size_t i = 0; i < layout.mesh().size(); ++i) shards_.push_back(deal(tensor, layout, i, dtype));
  }

  std::vector<FingerprintState> operator()(std::span<const Interval> ranges) const {
    std::vector<FingerprintState> states;
    for (const Interval& range : ranges) {
      FingerprintState total;
      for (std::size_t i = 0; i < shards_.size(); ++i) {
        if (replica_place(layout_, i) != 0) continue;
        merge(total, fingerprint_of_shard(key_, {&layout_, i, dtype_, shards_[i].memory.data(), {}}, {range, 1}));
      }
      states.push_back(total);
    }
    return states;
  }

 private:
  const FingerprintKey& key_;
  Layout layout_;
  DType dtype_;
  std::vector<LocalShard> shards_;
};

RC_GTEST_PROP(FingerprintLocalise, TheFirstWrongElementIsFoundInLogarithmicallyManyExchanges, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = {draw(1, 20), draw(1, 20), draw(1, 5)};
  const std::int64_t count = elements(shape);
  const Bytes tensor = random_tensor(shape, DType::u16, 3);
  Bytes wrong = tensor;
  const std::int64_t first = draw(0, count - 1);
  wrong[static_cast<std::size_t>(2 * first + draw(0, 1))] ^= std::byte{0x10};
  for (std::int64_t more = draw(0, 3); more > 0; --more) {
    wrong[static_cast<std::size_t>(2 * draw(first, count - 1))] ^= std::byte{0x01};
  }
  const LocaliseOptions options{draw(2, 16), 1};
  const auto found = first_difference(count, LocalisedSide(key, tensor, draw_layout(shape), DType::u16),
                                      LocalisedSide(key, wrong, draw_layout(shape), DType::u16), options);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->elements == (Interval{first, first + 1}));
  std::int64_t bound = 1;
  for (std::int64_t reach = options.fanout; reach < count; reach *= options.fanout) bound += 1;
  RC_ASSERT(found->exchanges <= bound);
}

TEST(FingerprintLocalise, EqualTensorsTakeOneExchange) {
  const FingerprintKey key(test_key);
  const Bytes tensor = random_tensor({40, 9}, DType::u8, 3);
  int exchanges = 0;
  const LocalisedSide side(key, tensor, whole({40, 9}), DType::u8);
  const PartialFingerprints counted = [&](std::span<const Interval> ranges) {
    ++exchanges;
    return side(ranges);
  };
  EXPECT_FALSE(first_difference(360, counted, side).has_value());
  EXPECT_EQ(exchanges, 1);
  EXPECT_FALSE(first_difference(0, side, side).has_value());
}

TEST(FingerprintLocalise, AGranuleOfRowsGivesWholeRows) {
  const FingerprintKey key(test_key);
  const Bytes tensor = random_tensor({40, 9}, DType::u8, 3);
  Bytes wrong = tensor;
  wrong[9 * 23 + 4] ^= std::byte{1};
  const auto found = first_difference(360, LocalisedSide(key, tensor, whole({40, 9}), DType::u8),
                                      LocalisedSide(key, wrong, whole({40, 9}), DType::u8), {4, 9});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->elements, (Interval{9 * 23, 9 * 24}));
  EXPECT_EQ(describe_elements({40, 9}, found->elements), "[23,0]..[23,8]");
  EXPECT_EQ(describe_elements({40, 9}, {4, 5}), "[0,4]");
}

RC_GTEST_PROP(FingerprintLocalise, PartsCoverTheirRangeInOrder, ()) {
  const std::int64_t begin = draw(0, 1000);
  const Interval range{begin, begin + draw(0, 5000)};
  const LocaliseOptions options{draw(2, 20), draw(1, 70)};
  std::int64_t at = range.begin;
  const std::vector<Interval> parts = fingerprint_parts(range, options);
  RC_ASSERT(std::ssize(parts) <= options.fanout);
  for (const Interval& part : parts) {
    RC_ASSERT(part.begin == at && part.end > at);
    at = part.end;
  }
  RC_ASSERT(at == range.end);
}

RC_GTEST_PROP(FingerprintLocalise, HoldersAreTheRanksThatOwnAnElementOfTheRange, ()) {
  const Shape shape = {draw(1, 6), draw(1, 6), draw(1, 6)};
  const Layout layout = draw_layout(shape);
  const std::int64_t begin = draw(0, elements(shape) - 1);
  const Interval range{begin, draw(begin + 1, elements(shape))};
  std::vector<Rank> expected;
  for (std::size_t i = 0; i < layout.mesh().size(); ++i) {
    bool holds = false;
    for (std::int64_t element = range.begin; element < range.end; ++element) {
      const std::int64_t last = element % shape[2];
      const std::int64_t middle = element / shape[2] % shape[1];
      holds = holds || (layout.piece(i, 2).owned.find(last) && layout.piece(i, 1).owned.find(middle) &&
                        layout.piece(i, 0).owned.find(element / shape[2] / shape[1]));
    }
    if (holds) expected.push_back(layout.mesh().ranks()[i]);
  }
  RC_ASSERT(holders(layout, range) == expected);
}

}  // namespace
}  // namespace reshardcheck
