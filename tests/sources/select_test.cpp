#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sources/recipe.hpp"
#include "sources/source_kind.hpp"
#include "support/bounds.hpp"
#include "support/statistics.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/sources/readers.hpp"

/// Choosing the task, the classes, the points and the labels.
namespace zeroloss {
using namespace internal;
namespace {

/// 0, 1, ..., n-1 as points of one number.
Source counting(Index n) {
  Source source;
  source.name = "counting";
  source.n = n;
  source.d = 1;
  source.points = rows_of(Vector::LinSpaced(n, 0, static_cast<double>(n - 1)));
  return source;
}

Source with_numbers(std::vector<double> y) {
  Source source = counting(static_cast<Index>(y.size()));
  source.numbers = std::move(y);
  return source;
}

Source with_texts(std::vector<std::string> y) {
  Source source = counting(static_cast<Index>(y.size()));
  source.texts = std::move(y);
  return source;
}

const Source& letters() {
  static const Source source = with_texts({"a", "b", "c", "a", "b", "c", "a", "b", "c", "a"});
  return source;
}

TEST(Task, IsToldFromTheTargets) {
  EXPECT_EQ(select(counting(3), {}).task, Task::none);
  EXPECT_EQ(select(with_texts({"a", "b"}), {}).task, Task::classification);
  EXPECT_EQ(select(with_numbers({1, 2, 1}), {}).task, Task::classification);
  EXPECT_EQ(select(with_numbers({1, 2, 1.5}), {}).task, Task::regression);
  std::vector<double> y(10);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i);
  EXPECT_EQ(select(with_numbers(y), {}).task, Task::classification) << "10 integers are classes";
  y.push_back(10);
  EXPECT_EQ(select(with_numbers(y), {}).task, Task::regression) << "11 that all differ are not";
  y.push_back(10);
  EXPECT_EQ(select(with_numbers(y), {}).task, Task::classification);
  for (double next = 11; next < 20; ++next) y.push_back(next);
  EXPECT_EQ(select(with_numbers(y), {}).task, Task::classification) << "20 integers are classes";
  y.push_back(20);
  EXPECT_EQ(select(with_numbers(y), {}).task, Task::regression) << "21 are not";
  y.resize(21 * 21, 3);
  EXPECT_EQ(select(with_numbers(y), {}).task, Task::classification) << "unless there are 21^2 points";
  EXPECT_EQ(select(with_numbers(y), {.n = 25}).task, Task::classification) << "the whole source decides";
}

TEST(Task, CanBeSet) {
  EXPECT_EQ(select(with_numbers({1, 2, 1}), {.task = "regression"}).y, (Vector{{1, 2, 1}}));
  const Dataset data = select(with_numbers({10, -2.5, 9}), {.task = "classification"});
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"-2.5", "9", "10"})) << "numbers sort by value";
  EXPECT_EQ(data.y, (Vector{{2, 0, 1}}));
  EXPECT_MESSAGE(DataError, select(with_texts({"a", "b"}), {.task = "regression"}), "text", "'a'");
  EXPECT_MESSAGE(DataError, select(counting(3), {.task = "regression"}), "no targets");
  EXPECT_MESSAGE(std::invalid_argument, select(counting(3), {.task = "guess"}), "task must be", "\"guess\"");
}

TEST(Task, NeedsFiniteTargets) {
  EXPECT_MESSAGE(DataError, select(with_numbers({1, std::nan(""), 2}), {}), "record 1", "nan");
}

TEST(Classes, AreKeptByName) {
  const Dataset data = select(letters(), {.classes = {"c", "a"}});
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(data.records, (std::vector<Index>{0, 2, 3, 5, 6, 8, 9}));
  EXPECT_EQ(data.y, (Vector{{0, 1, 0, 1, 0, 1, 0}}));
  EXPECT_EQ(data.X.col(0), (Vector{{0, 2, 3, 5, 6, 8, 9}}));
  EXPECT_EQ(select(letters(), {.n = 3, .classes = {"b", "c"}}).records, (std::vector<Index>{1, 2, 4}))
      << "classes come before n";
}

TEST(Classes, OfTheSourceAreKnownWhicheverAreKept) {
  const std::vector<std::string> all{"a", "b", "c"};
  EXPECT_EQ(select(letters(), {}).source_classes, all);
  EXPECT_EQ(select(letters(), {.n = 2}).source_classes, all);
  EXPECT_EQ(select(letters(), {.classes = {"a", "c"}}).source_classes, all);
  EXPECT_EQ(select(letters(), {.n = 1}, {.one_class = true}).class_names, std::vector<std::string>{"a"});
  EXPECT_EQ(select(with_numbers({3, 1, 2}), {.n = 2}).source_classes,
            (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Classes, NamesWhatIsNotThere) {
  EXPECT_MESSAGE(DataError, select(letters(), {.classes = {"a", "z"}}), "no class 'z'", "a, b, c");
  EXPECT_MESSAGE(DataError, select(with_numbers({0.5, 1}), {.classes = {"1"}}), "classification");
  EXPECT_MESSAGE(DataError, select(counting(2), {.classes = {"1"}}), "no targets");
  EXPECT_MESSAGE(DataError, select(letters(), {.classes = {"b"}}), "'b'", "two classes");
  EXPECT_MESSAGE(DataError, select(letters(), {.n = 1}), "1 points", "'a'", "two classes");
}

TEST(Points, FirstN) {
  EXPECT_EQ(select(letters(), {.n = 2}).records, (std::vector<Index>{0, 1}));
  EXPECT_EQ(select(letters(), {.n = 2}).class_names, (std::vector<std::string>{"a", "b"}))
      << "classes of the points kept";
  EXPECT_MESSAGE(DataError, select(letters(), {.n = 11}), "11", "there are 10");
  EXPECT_MESSAGE(DataError, select(letters(), {.n = 8, .classes = {"a", "b"}}), "n = 8",
                 "there are 7 of the classes a, b");
  EXPECT_MESSAGE(std::invalid_argument, select(letters(), {.n = -1}), "n must be", "-1");
}

TEST(Points, ShuffleIsASeededSubsetInRandomOrder) {
  const Source source = counting(100);
  const Dataset data = select(source, {.n = 40, .shuffle = true, .seed = 7});
  EXPECT_EQ(std::set(data.records.begin(), data.records.end()).size(), 40u);
  EXPECT_FALSE(std::ranges::is_sorted(data.records));
  for (Index i = 0; i < 40; ++i)
    EXPECT_EQ(data.X(i, 0), static_cast<double>(data.records[static_cast<std::size_t>(i)]));
  EXPECT_EQ(data.records, select(source, {.n = 40, .shuffle = true, .seed = 7}).records);
  EXPECT_NE(data.records, select(source, {.n = 40, .shuffle = true, .seed = 8}).records);
  EXPECT_MESSAGE(std::invalid_argument, select(source, {.seed = std::uint64_t{1} << 53}), "2^53");
}

TEST(Points, ShuffleIsUniform) {
  // The first of 4 records over 4000 seeds: chi-square with 3 degrees of freedom, 21.1 has probability 1e-4.
  const Source source = counting(4);
  double counts[4] = {};
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++counts[select(source, {.n = 1, .shuffle = true, .seed = seed}).records[0]];
  double chi2 = 0;
  for (const double count : counts) chi2 += (count - 1000) * (count - 1000) / 1000;
  EXPECT_LT(chi2, 21.1);
}

Source many(Index n, bool classes) {
  std::vector<double> y;
  for (Index i = 0; i < n; ++i)
    y.push_back(classes ? static_cast<double>(i % 5) : static_cast<double>(i) + 0.5);
  return with_numbers(std::move(y));
}

TEST(Labels, RandomClassesAreUniform) {
  const Dataset data = select(many(5000, true), {.labels = "random", .seed = 1});
  EXPECT_EQ(data.label_treatment, "random");
  EXPECT_NE(data.y, select(many(5000, true), {}).y);
  double chi2 = 0;  // 4 degrees of freedom: 23.5 has probability 1e-4
  for (int k = 0; k < 5; ++k)
    chi2 += std::pow(static_cast<double>((data.y.array() == k).count()) - 1000, 2) / 1000;
  EXPECT_LT(chi2, 23.5);
  EXPECT_EQ(data.y, select(many(5000, true), {.labels = "random", .seed = 1}).y);
}

TEST(Labels, RandomRegressionTargetsArePermuted) {
  const Dataset given = select(many(300, false), {}), data = select(many(300, false), {.labels = "random"});
  EXPECT_NE(data.y, given.y);
  EXPECT_EQ(std::multiset<double>(data.y.begin(), data.y.end()),
            std::multiset<double>(given.y.begin(), given.y.end()));
}

TEST(Labels, NoiseReplacesWithAnotherLabel) {
  const Index n = 5000;
  for (const bool classes : {true, false}) {
    const Dataset given = select(many(n, classes), {});
    EXPECT_EQ(select(many(n, classes), {.labels = "noise:0"}).y, given.y);
    EXPECT_EQ((select(many(n, classes), {.labels = "noise:1"}).y.array() == given.y.array()).count(), 0);
    const Dataset some = select(many(n, classes), {.labels = "noise:0.25", .seed = 2});
    EXPECT_EQ(some.label_treatment, "noise:0.25");
    const double changed = static_cast<double>((some.y.array() != given.y.array()).count());
    EXPECT_NEAR(changed, 0.25 * n, 4 * std::sqrt(n * 0.25 * 0.75)) << "four standard errors";
  }
}

TEST(Labels, AreChecked) {
  for (const char* labels :
       {"", "noise", "noise:", "noise:1.5", "noise:-0.1", "noise:x", "noise:0.5x", "noise:nan", "Random"})
    EXPECT_MESSAGE(std::invalid_argument, select(letters(), {.labels = labels}), "noise:p",
                   std::string("'") + labels + "'");
  EXPECT_MESSAGE(DataError, select(counting(3), {.labels = "random"}), "no labels");
}

// The unit vectors of R^D as points: what they become is the basis of the subspace, a row a feature.
Source unit_vectors(Index D) {
  Source source = counting(D);
  source.d = D;
  source.points = rows_of(RowMatrix::Identity(D, D));
  return source;
}

// Orthonormal up to the rounding of Householder's method, a small multiple of D^(3/2) u (Higham 2002,
// Thm 19.4).
double rounding(Index D) { return 8 * std::pow(static_cast<double>(D), 1.5) * test::kUnit; }

TEST(Projection, IsOntoAnOrthonormalBasis) {
  for (const Index D : {1, 2, 7, 64})
    for (Index d = 1; d <= D; d += d < 8 ? 1 : 9) {
      const RowMatrix Q = select(unit_vectors(D), {.d = d, .seed = 5}).X;
      ASSERT_EQ(Q.cols(), d);
      EXPECT_LE((Q.transpose() * Q - Matrix::Identity(d, d)).norm(), rounding(D)) << D << " " << d;
    }
}

TEST(Projection, KeepsTheGramMatrixOfAllDimensionsAndNeverLengthens) {
  const Dataset digits = read_dataset("digits", {.n = 200});
  const Index D = digits.d();
  const double size = digits.X.norm();
  const RowMatrix all = read_dataset("digits", {.n = 200, .d = D}).X;
  EXPECT_LE((all * all.transpose() - digits.X * digits.X.transpose()).norm(), rounding(D) * size * size);
  for (const Index d : {1, 10, 63}) {
    const Vector short_lengths = read_dataset("digits", {.n = 200, .d = d}).X.rowwise().norm();
    const Vector lengths = digits.X.rowwise().norm();
    EXPECT_LE((short_lengths - lengths * (1 + rounding(D))).maxCoeff(), 0) << d;
    EXPECT_LT(short_lengths.norm(), lengths.norm());
  }
}

// The subspace moves by as many roundings as the normal D x d matrix behind it has condition: up to d = D/2
// that is about (sqrt(D) + sqrt(d)) / (sqrt(D) - sqrt(d)) < 5.9, of which twice is allowed.
TEST(Projection, SubspacesAreNested) {
  constexpr Index D = 64;
  RowMatrix smaller = select(unit_vectors(D), {.d = 1, .seed = 3}).X;
  for (Index d = 2; d <= D / 2; ++d) {
    const RowMatrix Q = select(unit_vectors(D), {.d = d, .seed = 3}).X;
    EXPECT_LE((Q * (Q.transpose() * smaller) - smaller).norm(), 11.8 * rounding(D)) << d;
    smaller = Q;
  }
}

TEST(Projection, DependsOnItsSeedOnly) {
  const ReadOptions options{.n = 20, .d = 6, .seed = 4};
  const Dataset data = read_dataset("digits", options);
  EXPECT_EQ(data.X, read_dataset("digits", options).X);
  EXPECT_NE(data.X, read_dataset("digits", {.n = 20, .d = 6, .seed = 5}).X);
  EXPECT_EQ(data.y, read_dataset("digits", {.n = 20}).y);
  EXPECT_EQ(data.records, read_dataset("digits", {.n = 20}).records);
  EXPECT_TRUE(data.feature_names.empty());
  // The same subspace whichever points are kept: points differ by the rounding of a product of 64 terms.
  const Dataset more = read_dataset("digits", {.n = 50, .d = 6, .seed = 4});
  EXPECT_LE((more.X.topRows(20) - data.X).norm(), rounding(64) * data.X.norm());
}

// A unit vector keeps d/D of its squared length on average, whichever it is.
TEST(Projection, FavoursNoDirection) {
  constexpr Index D = 10, d = 3;
  std::vector<std::vector<double>> kept(D);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RowMatrix Q = select(unit_vectors(D), {.d = d, .seed = seed}).X;
    for (Index i = 0; i < D; ++i) kept[static_cast<std::size_t>(i)].push_back(Q.row(i).squaredNorm());
  }
  for (const auto& sample : kept) {
    const test::Estimate share = test::mean(sample);
    EXPECT_NEAR(share.value, static_cast<double>(d) / D, test::kSigmas * share.standard_error);
  }
}

TEST(Projection, ChecksItsDimension) {
  EXPECT_MESSAGE(DataError, select(unit_vectors(5), {.d = 6}), "counting", "d = 6", "5 features");
  EXPECT_MESSAGE(std::invalid_argument, select(unit_vectors(5), {.d = -1}), "d must be >= 1", "got -1");
  EXPECT_EQ(select(unit_vectors(5), {.d = 0}).X, RowMatrix(RowMatrix::Identity(5, 5)));
}

TEST(Memory, IsEstimatedFirst) {
  Source source = counting(3);
  source.d = Index{1} << 50;
  EXPECT_MESSAGE(ResourceError, select(source, {}), "GB", "keep fewer points");
}

TEST(Names, DigitsAreIncluded) {
  const Dataset data = read_dataset("digits");
  EXPECT_EQ(data.n(), 1797);
  EXPECT_EQ(data.d(), 64);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  EXPECT_EQ(data.X.row(0).head(6), (Eigen::RowVectorXd{{0, 0, 5, 13, 9, 1}}));
  EXPECT_EQ(data.y.head(4), (Vector{{0, 1, 2, 3}}));
  EXPECT_EQ(data.target_name, "column 64 ('label')");
  EXPECT_EQ(data.digest, sha256_file(ZEROLOSS_SOURCE_DIR "/data/digits.csv.gz"));
  EXPECT_EQ(read_dataset("digits", {.classes = {"3", "8"}}).n(), 357);
  EXPECT_MESSAGE(DataError, read_dataset("digits", {.split = "test"}), "no test split");
}

class NamedSources : public test::TempFolder {};

TEST_F(NamedSources, AreListedWhenOneIsUnknown) {
  EXPECT_MESSAGE(DataError, read_dataset("digit"), "'digit'", "digits, mnist, cifar10, cifar100, sphere:");
  EXPECT_MESSAGE(DataError, read_dataset(path("none.csv")), "none.csv", "no such file");
}

TEST_F(NamedSources, SayHowToGetWhatIsNotInTheCache) {
  EXPECT_MESSAGE(DataError, read_dataset("mnist", {.cache = folder}), "`fetch(mnist)`", folder.string());
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("cifar10"), "cache");
}

TEST_F(NamedSources, TargetsAreForCsvOnly) {
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("sphere:n=3,d=2,d=4"), "d is given twice");
  EXPECT_MESSAGE(std::invalid_argument, read_dataset("sphere:n=3,d=2", {.target = "a"}), "'a'",
                 "column of a csv");
  EXPECT_EQ(read_dataset("sphere:n=3,d=2", {.target = "none"}).task, Task::none);
}

TEST(Sphere, IsUniformOnTheUnitSphere) {
  const Dataset data = read_dataset("sphere:n=4000,d=3");
  EXPECT_EQ(data.n(), 4000);
  EXPECT_LT((data.X.rowwise().norm().array() - 1).abs().maxCoeff(),
            test::gamma_of(6));  // two lengths, 2.5 u each, and a quotient
  // The mean of a coordinate has variance 1/(3n); its square has mean 1/3 and variance 4/45.
  for (Index j = 0; j < 3; ++j) {
    EXPECT_LT(std::abs(data.X.col(j).mean()), 4 * std::sqrt(1.0 / 3 / 4000));
    EXPECT_LT(std::abs(data.X.col(j).squaredNorm() / 4000 - 1.0 / 3), 4 * std::sqrt(4.0 / 45 / 4000));
  }
  EXPECT_EQ(data.task, Task::regression);
  EXPECT_LT(std::abs(data.y.mean()), 4 / std::sqrt(4000.0));
  EXPECT_LT(std::abs(data.y.squaredNorm() / 4000 - 1), 4 * std::sqrt(2.0 / 4000));
}

TEST(Sphere, DependsOnItsSeedOnly) {
  const Dataset data = read_dataset("sphere:n=10,d=4,seed=5");
  EXPECT_EQ(data.X, read_dataset("sphere:n=10,d=4", {.seed = 5}).X);
  EXPECT_EQ(data.X, read_dataset("sphere:d=4,seed=5,n=10", {.seed = 6}).X) << "the seed in the text wins";
  EXPECT_EQ(data.X, read_dataset("sphere:n=20,d=4,seed=5").X.topRows(10)) << "prefix-stable";
  EXPECT_NE(data.X, read_dataset("sphere:n=10,d=4,seed=6").X);
  Sha256 digest;
  digest.update(data.X.data(), 40 * sizeof(double));
  digest.update(data.y.data(), 10 * sizeof(double));
  EXPECT_EQ(data.digest, digest.hex());
}

TEST(Sphere, HasThreeKindsOfTargets) {
  const Dataset signs = read_dataset("sphere:n=50,d=2,y=sign");
  EXPECT_EQ(signs.class_names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(signs.task, Task::classification);
  EXPECT_EQ(read_dataset("sphere:n=50,d=2,y=none").task, Task::none);
  EXPECT_EQ(read_dataset("sphere:n=50,d=2,y=normal").y, read_dataset("sphere:n=50,d=2").y);
  EXPECT_EQ(read_dataset("sphere:n=9,d=1").X.array().abs().matrix(), RowMatrix::Ones(9, 1));
}

TEST(Sphere, ShowsItsFormWhenTheTextIsWrong) {
  for (const char* text :
       {"sphere:", "sphere:n=3", "sphere:d=3", "sphere:n=0,d=3", "sphere:n=3,d=-1", "sphere:n=x,d=2",
        "sphere:n=3,d=2,k=1", "sphere:n=3,d=2,y=cos", "sphere:n=3,d=2,seed=-1",
        "sphere:n=3,d=2,seed=9007199254740992", "sphere:n=3.5,d=2", "sphere:n=3,d",
        "sphere:n=99999999999999999999,d=2", "sphere:n=3,,d=2"})
    EXPECT_MESSAGE(std::invalid_argument, read_dataset(text),
                   "sphere:n=..,d=..[,y=normal|sign|none][,seed=..]", text);
  EXPECT_MESSAGE(ResourceError, read_dataset("sphere:n=1000000000000,d=1000"), "GB");
}

TEST(SourceKinds, TellWhatATextIs) {
  for (const char* name : {"digits", "mnist", "cifar10", "cifar100", "sphere:", "sphere:n=3,d=2"})
    EXPECT_TRUE(is_name(name)) << name;
  for (const char* path : {"", "digit", "points.csv", "sphere", "digits/"})
    EXPECT_FALSE(is_name(path)) << path;
  EXPECT_TRUE(is_generated("sphere:"));
  EXPECT_FALSE(is_generated("digits"));
}

TEST(SourceKinds, AGeneratorsTextIsCompletedWhereItLeavesSomethingOpen) {
  EXPECT_TRUE(leaves_open("sphere:", "n"));
  EXPECT_TRUE(leaves_open("sphere:d=3,y=sign", "n"));
  EXPECT_FALSE(leaves_open("sphere:y=sign,n=3", "n"));
  EXPECT_TRUE(leaves_open("sphere:n=3", "d"));
  EXPECT_FALSE(leaves_open("sphere:", "width")) << "it has none";
  EXPECT_FALSE(leaves_open("digits", "n")) << "it says all";
  EXPECT_EQ(with("sphere:", "n", 4), "sphere:n=4");
  EXPECT_EQ(with("sphere:n=4", "d", 2), "sphere:n=4,d=2");
}

TEST(SourceKinds, GeneratorsAreListedWithTheirForm) {
  ASSERT_EQ(generators().size(), 1u);
  EXPECT_EQ(generators()[0].form, "sphere:n=..,d=..[,y=normal|sign|none][,seed=..]");
  EXPECT_EQ(generators()[0].what, "points uniform on the unit sphere");
  EXPECT_EQ(known_names().back(), "sphere:n=..,d=..");
}

}  // namespace
}  // namespace zeroloss
