// What checked samples say of all others: by definitions, and by drawing them many times.
#include "audit/checked.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/bounds.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/audit/decisions.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss::internal {
namespace {

/// Labels, a share of them wrong, and scores that say so not too well, and are too sure.
struct Simulated {
  Vector right;
  std::vector<bool> wrong;

  Simulated(Index n, double rate, std::uint64_t seed) : right(n) {
    Random random(seed, Stream::points);
    for (Index i = 0; i < n; ++i) {
      wrong.push_back(random.uniform() < rate);
      const double log_odds = (wrong.back() ? -2.0 : 2.5) + 2 * random.normal();
      right(i) = 1 / (1 + std::exp(-2 * log_odds - 2));
    }
  }

  CheckedSamples checked(Index count, std::uint64_t seed) const {
    CheckedSamples some{.positions = draw_samples(right.size(), count, seed), .seed = seed};
    for (const Index at : some.positions) some.wrong.push_back(wrong[static_cast<std::size_t>(at)]);
    return some;
  }

  double rate() const {
    return static_cast<double>(std::ranges::count(wrong, true)) / static_cast<double>(wrong.size());
  }
};

TEST(CheckedSamples, AreDrawnEvenly) {
  EXPECT_EQ(draw_samples(5, 5, 3), (std::vector<Index>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(draw_samples(5, 0, 3).empty());
  std::vector<int> seen(20);
  constexpr int kDraws = 4000;
  for (int seed = 0; seed < kDraws; ++seed) {
    const auto some = draw_samples(20, 6, static_cast<std::uint64_t>(seed));
    ASSERT_EQ(some.size(), 6);
    ASSERT_TRUE(std::ranges::is_sorted(some));
    ASSERT_EQ(std::set<Index>(some.begin(), some.end()).size(), 6);
    for (const Index i : some) ++seen[static_cast<std::size_t>(i)];
  }
  const double mean = 0.3 * kDraws, deviation = std::sqrt(0.3 * 0.7 * kDraws);
  for (const int count : seen) EXPECT_NEAR(count, mean, 5 * deviation);
}

TEST(CheckedSamples, CalibrateProbabilities) {
  const Simulated data(3000, 0.2, 1);
  const CheckedSamples checked = data.checked(400, 2);
  const Recalibrated by = recalibrate(data.right, checked);
  // Of those with a probability in a tenth, as many labels are wrong, within what 400 samples tell.
  double before = 0, after = 0;
  for (Index i = 0; i < data.right.size(); ++i) {
    const double w = data.wrong[static_cast<std::size_t>(i)] ? 1 : 0;
    const auto loss = [&](double p) { return -std::log(std::clamp(w > 0 ? p : 1 - p, 1e-12, 1.0)); };
    before += loss(1 - data.right(i));
    after += loss(by.wrong(i));
  }
  EXPECT_LT(after, 0.9 * before);
  // Probabilities rank samples as the scores do.
  for (Index i = 1; i < 200; ++i)
    if (data.right(i) < data.right(i - 1) && data.right(i) > 1e-3 && data.right(i - 1) < 1 - 1e-3) {
      EXPECT_GT(by.wrong(i), by.wrong(i - 1));
    }
}

// The interval holds the rate about as often as it says; 400 draws, three standard deviations of a count.
TEST(CheckedSamples, IntervalsHoldTheRate) {
  for (const Index count : {20, 60, 200})
    for (const double rate : {0.05, 0.3}) {
      int held = 0;
      constexpr int kDraws = 400;
      double off = 0;
      for (int seed = 0; seed < kDraws; ++seed) {
        const Simulated data(1000, rate, static_cast<std::uint64_t>(seed));
        const Estimate found = recalibrate(data.right, data.checked(count, 7)).rate;
        EXPECT_LE(found.low, found.value);
        EXPECT_LE(found.value, found.high);
        held += found.low <= data.rate() && data.rate() <= found.high ? 1 : 0;
        off += (found.value - data.rate()) / kDraws;
      }
      EXPECT_GE(held, kDraws * 0.95 - 3 * std::sqrt(kDraws * 0.95 * 0.05)) << count << " " << rate;
      EXPECT_LT(std::abs(off), 0.02) << count << " " << rate;
    }
}

// Predictions that are nearly always right, and a few wrong labels that they agree with: most samples of a
// hundred have none of these.
TEST(CheckedSamples, IntervalsHoldTheRateWhereSurprisesAreRare) {
  for (const Index n : {300, 1000})
    for (const Index count : {60, 100, 200}) {
      int held = 0;
      constexpr int kDraws = 400;
      for (int seed = 0; seed < kDraws; ++seed) {
        Random random(static_cast<std::uint64_t>(seed), Stream::points);
        Simulated data(n, 0.15, static_cast<std::uint64_t>(seed));
        for (Index i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const bool hidden = random.uniform() < 0.01;
          data.right(i) = 1 / (1 + std::exp((data.wrong[at] ? 6 : -6) + random.normal()));
          if (hidden) data.wrong[at] = !data.wrong[at];
        }
        const Estimate found = recalibrate(data.right, data.checked(count, 7)).rate;
        held += found.low <= data.rate() && data.rate() <= found.high ? 1 : 0;
      }
      EXPECT_GE(held, kDraws * 0.95 - 3 * std::sqrt(kDraws * 0.95 * 0.05)) << n << " " << count;
    }
}

TEST(CheckedSamples, AllOfThemAreTheTruth) {
  const Simulated data(60, 0.2, 4);
  const Estimate found = recalibrate(data.right, data.checked(60, 0)).rate;
  const double rounding = test::gamma_of(4 * 60);  // of means of 60 numbers
  EXPECT_NEAR(found.low, data.rate(), rounding);
  EXPECT_NEAR(found.high, data.rate(), rounding);
  for (const double score : {0.0, 1.0, 0.5}) {
    const Vector same = Vector::Constant(60, score);
    const Recalibrated by = recalibrate(same, data.checked(10, 0));
    EXPECT_TRUE(by.wrong.allFinite());
    EXPECT_TRUE(by.wrong.minCoeff() >= 0 && by.wrong.maxCoeff() <= 1);
  }
}

/// The list by its definition: the most samples k whose p values are at most most k/m.
std::vector<Index> by_definition(const Vector& right, const CheckedSamples& checked, double most) {
  const std::set<Index> looked_at(checked.positions.begin(), checked.positions.end());
  std::vector<std::pair<double, Index>> p;
  for (Index i = 0; i < right.size(); ++i) {
    if (looked_at.contains(i)) continue;
    double rank = 1, trusted = 1;
    for (std::size_t k = 0; k < checked.positions.size(); ++k) {
      if (checked.wrong[k]) continue;
      ++trusted;
      if (right(checked.positions[k]) <= right(i)) ++rank;
    }
    p.emplace_back(rank / trusted, i);
  }
  for (std::size_t k = p.size(); k > 0; --k) {
    std::vector<Index> list;
    for (const auto& [value, i] : p)
      if (value <= most * static_cast<double>(k) / static_cast<double>(p.size()) * (1 - 1e-12))
        list.push_back(i);
    if (list.size() >= k) return list;
  }
  return {};
}

TEST(Guaranteed, IsBenjaminiAndHochbergs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Simulated data(150, 0.3, seed);
    if (seed % 2 == 0) data.right = (data.right * 10).array().round() / 10;  // ties
    for (const double most : {0.05, 0.2, 0.5}) {
      const CheckedSamples checked = data.checked(60, seed);
      std::vector<Index> found = guaranteed(data.right, checked, most),
                         exact = by_definition(data.right, checked, most);
      EXPECT_TRUE(std::ranges::is_sorted(found, {}, [&](Index i) { return data.right(i); }));
      std::ranges::sort(found);
      EXPECT_EQ(found, exact);
    }
  }
}

// Over draws of the samples to check, on one data set, the mean share of right labels is at most what was
// asked.
TEST(Guaranteed, NamesFewRightLabels) {
  for (const double most : {0.1, 0.3}) {
    const Simulated data(600, 0.3, 11);
    constexpr int kDraws = 600;
    double mean = 0, squares = 0, named = 0;
    for (int seed = 0; seed < kDraws; ++seed) {
      const auto list = guaranteed(data.right, data.checked(200, static_cast<std::uint64_t>(seed)), most);
      double right = 0;
      for (const Index i : list) right += data.wrong[static_cast<std::size_t>(i)] ? 0 : 1;
      const double share = list.empty() ? 0 : right / static_cast<double>(list.size());
      mean += share / kDraws;
      squares += share * share / kDraws;
      named += static_cast<double>(list.size()) / kDraws;
    }
    EXPECT_LE(mean, most + 3 * std::sqrt((squares - mean * mean) / kDraws));
    EXPECT_GT(named, 50);
    Vector wrong(600);
    for (Index i = 0; i < 600; ++i) wrong(i) = data.wrong[static_cast<std::size_t>(i)] ? 1 : 0;
    EXPECT_NEAR(expected_length(data.right, wrong, 200, most), named, 0.25 * named);
  }
}

// ---- files ----

Dataset some_data() {
  Dataset data;
  data.name = "some";
  data.task = Task::classification;
  data.class_names = {"a", "b"};
  data.X = RowMatrix::Random(10, 2);
  data.y = Vector::Zero(10);
  for (Index i = 0; i < 10; ++i) {
    data.y(i) = static_cast<double>(i % 2);
    data.records.push_back(10 * i);
  }
  return data;
}

class DecisionsFile : public test::TempFolder {
 protected:
  std::string file(const std::string& text) const { return write("decisions.csv", text); }

  /// Of the three that seed 5 draws of ten, with these decisions.
  static std::string drawn(const std::vector<std::string>& decisions, const std::string& count = "3") {
    std::string text = "sample,id,label,decision,new_label,drawn,seed\n";
    const auto some = draw_samples(10, 3, 5);
    for (std::size_t k = 0; k < decisions.size(); ++k)
      text += std::to_string(10 * some[k]) + ",," + (some[k] % 2 == 0 ? "a" : "b") + "," + decisions[k] +
              ",," + count + ",5\n";
    return text;
  }

  const Dataset data_ = some_data();
};

TEST_F(DecisionsFile, OfADrawIsRead) {
  const CheckedSamples checked = read_checked(file(drawn({"keep", "WRONG", "relabel"})), data_);
  EXPECT_EQ(checked.positions, draw_samples(10, 3, 5));
  EXPECT_EQ(checked.wrong, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(checked.seed, 5);
  EXPECT_THROW(read_checked(file(drawn({"keep", "keep"})), data_), DataError) << "one is missing";
  EXPECT_THROW(read_checked(file(drawn({"keep", "", "keep"})), data_), DataError) << "one is open";
  EXPECT_THROW(read_checked(file(drawn({"keep", "keep", "keep"}, "4")), data_), DataError)
      << "of another draw";
  EXPECT_THROW(read_checked(file(drawn({"keep", "keep", "maybe"})), data_), DataError);
  EXPECT_THROW(read_checked(file("sample,decision\n0,keep\n"), data_), DataError) << "not drawn";
}

TEST_F(DecisionsFile, OfSuspectsSaysWhatWasKept) {
  EXPECT_EQ(read_accepted(
                file("sample,id,label,decision,new_label\n70,,b,keep,b\n20,,a,drop,\n0,,a,right,\n"), data_),
            (std::vector<Index>{0, 7}));
  EXPECT_THROW(read_accepted(file("sample,label,decision\n70,a,keep\n"), data_), DataError)
      << "another label";
  EXPECT_THROW(read_accepted(file("sample,label,decision\n71,b,keep\n"), data_), DataError)
      << "no such sample";
  EXPECT_THROW(read_accepted(file("sample,label,decision\n70,b,keep\n70,b,keep\n"), data_), DataError);
  EXPECT_THROW(read_accepted(file("record,decision\n70,keep\n"), data_), DataError);
  EXPECT_TRUE(read_accepted(file("sample,decision\n"), data_).empty());  // nobody has decided anything yet
  EXPECT_THROW(read_accepted(path("absent.csv"), data_), DataError);
}

}  // namespace
}  // namespace zeroloss::internal
