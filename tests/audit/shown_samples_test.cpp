// The samples that the noise model sees of many.
#include <gtest/gtest.h>

#include <set>

#include "audit/noise_model.hpp"

namespace zeroloss::internal {
namespace {

TEST(ShownSamples, EachClassHasItsShareWhateverTheirOrder) {
  for (const Index period : {2, 5, 10}) {
    std::vector<Index> labels;
    for (Index i = 0; i < 50'000; ++i) labels.push_back(i % period);
    const ShownSamples some = shown_samples(labels);
    ASSERT_EQ(some.rows.size(), 10'000U);
    EXPECT_EQ(std::set<Index>(some.rows.begin(), some.rows.end()).size(), 10'000U);
    std::vector<Index> counts(static_cast<std::size_t>(period));
    for (std::size_t k = 0; k < some.rows.size(); ++k) {
      EXPECT_EQ(some.labels[k], labels[static_cast<std::size_t>(some.rows[k])]);
      ++counts[static_cast<std::size_t>(some.labels[k])];
    }
    for (const Index count : counts) EXPECT_EQ(count, 10'000 / period);
  }
}

TEST(ShownSamples, FewAreAllInTheirOrder) {
  const std::vector<Index> labels{2, 0, 1, 0};
  const ShownSamples some = shown_samples(labels);
  EXPECT_EQ(some.rows, (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_EQ(some.labels, labels);
}

}  // namespace
}  // namespace zeroloss::internal
