#include "zeroloss/data/dataset.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "support/floats.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

Dataset points(RowMatrix X) {
  Dataset data;
  data.X = std::move(X);
  data.name = "table";
  return data;
}

Dataset labelled(Vector y, std::vector<std::string> names) {
  Dataset data = points(RowMatrix::Ones(y.size(), 2));
  data.y = std::move(y);
  data.class_names = std::move(names);
  data.task = Task::classification;
  return data;
}

TEST(CheckDataset, AcceptsWhatIsUsable) {
  EXPECT_NO_THROW(check_dataset(points(RowMatrix::Ones(1, 1))));
  EXPECT_NO_THROW(check_dataset(labelled(Vector{{0, 1, 1}}, {"a", "b"})));
}

TEST(CheckDataset, NamesWhatIsWrong) {
  EXPECT_MESSAGE(DataError, check_dataset(points(RowMatrix(0, 3))), "0 points of 3 numbers");
  EXPECT_MESSAGE(DataError, check_dataset(points(RowMatrix(3, 0))), "3 points of 0 numbers");
  Dataset data = points(RowMatrix::Ones(3, 2));
  data.X(2, 1) = std::nan("");
  data.records = {5, 7, 9};
  EXPECT_MESSAGE(DataError, check_dataset(data), "table", "record 9", "column 1", "nan", "finite");
  data.X(2, 1) = 1;
  data.records.pop_back();
  EXPECT_MESSAGE(DataError, check_dataset(data), "2 record numbers for 3 points");
  data.records.clear();
  data.feature_names = {"a"};
  EXPECT_MESSAGE(DataError, check_dataset(data), "1 feature names for 2 features");
  data.feature_names.clear();
  data.y = Vector::Ones(3);
  EXPECT_MESSAGE(DataError, check_dataset(data), "3 targets, but no task");
  data.task = Task::regression;
  data.y(1) = std::numeric_limits<double>::infinity();
  EXPECT_MESSAGE(DataError, check_dataset(data), "record 1", "target inf");
  data.y = Vector::Ones(2);
  EXPECT_MESSAGE(DataError, check_dataset(data), "2 targets for 3 points");
  EXPECT_MESSAGE(DataError, check_dataset(labelled(Vector{{0, 2}}, {"a", "b"})), "record 1", "class index 2",
                 "0 to 1");
  EXPECT_MESSAGE(DataError, check_dataset(labelled(Vector{{0.5, 1}}, {"a", "b"})), "record 0",
                 "class index 0.5");
  EXPECT_MESSAGE(DataError, check_dataset(labelled(Vector{{-1, 1}}, {"a", "b"})), "class index -1");
}

TEST(Center, SubtractsTheMeanPoint) {
  Dataset data = points(RowMatrix{{1, 10}, {3, 20}});
  subtract(data, mean_point(data.X));
  EXPECT_EQ(data.X, (RowMatrix{{-1, -5}, {1, 5}}));
}

TEST(Center, SurvivesHugeEntries) {
  Dataset data = points(RowMatrix{{1.5e308}, {1.5e308}, {1.5e308}});
  subtract(data, mean_point(data.X));
  EXPECT_EQ(data.X, RowMatrix::Zero(3, 1));
}

using Exact =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<2500>>;  // sums of any doubles

Exact mean_of(const RowMatrix& X, Index j) {
  Exact sum = 0;
  for (Index i = 0; i < X.rows(); ++i) sum += Exact(X(i, j));
  return sum / X.rows();
}

// Time stamps, powers of two, cancelling columns, every size of number.
std::vector<RowMatrix> columns_far_from_zero() {
  std::vector<RowMatrix> all{
      RowMatrix{{5, 9, 8}, {0, 9, 10}, {10, -9, -1}, {2, -5, -3}, {3, 6, 2}, {-7, 4, 8}, {-6, 1, -3}},
      RowMatrix{{1, 0x1p-52}, {1 + 0x1p-52, 1}, {1 - 0x1p-53, -1}},
      RowMatrix{{1e18, 1e300}, {-1e18, 1}, {1, -1e300}, {3, 1e-300}},
      RowMatrix{{5e-324, 1e-310}, {1e-320, -3e-311}, {0, 7e-309}},
      RowMatrix{{1, 1}, {0x1p-70, 2.541098841762901e-21}, {0, -1}, {0x1p-200, 7.62329652528870e-22}},
      RowMatrix{{0x1p53, 0x1p53 + 2}, {0x1p53 + 4, 0x1p53 - 1}, {0x1p53 + 6, 3}}};
  all[0] = (RowMatrix::Constant(7, 3, 1.7e18) + 256 * all[0]).eval();
  Random random(1, Stream::points);
  RowMatrix drawn(9, 4);
  for (double& x : drawn.reshaped()) x = 1e9 + random.normal();
  all.push_back(drawn);
  return all;
}

TEST(Center, IsTheMeanToTwiceADouble) {
  for (const RowMatrix& X : columns_far_from_zero()) {
    const Center center = mean_point(X);
    EXPECT_TRUE(((center.high + center.low).array() == center.high.array()).all());
    for (Index j = 0; j < X.cols(); ++j) {
      const Exact off = abs(Exact(center.high(j)) + Exact(center.low(j)) - mean_of(X, j));
      // Two doubles have 106 bits, of which six are left to what their sum rounds.
      EXPECT_LE(off, Exact(X.col(j).cwiseAbs().maxCoeff()) * 0x1p-100 + 0x1p-1074) << X.col(j).transpose();
    }
  }
}

TEST(Center, RowsAreWithinTheirErrorOfTheExactPoints) {
  for (const RowMatrix& X : columns_far_from_zero()) {
    const Center center = mean_point(X);
    Dataset data = points(X);
    normalize_rows(data, center);
    for (Index i = 0; i < X.rows(); ++i) {
      std::vector<Exact> point;
      Exact squares = 0, off = 0;
      for (Index j = 0; j < X.cols(); ++j) {
        point.push_back(Exact(X(i, j)) - Exact(center.high(j)) - Exact(center.low(j)));
        squares += point.back() * point.back();
      }
      for (Index j = 0; j < X.cols(); ++j) {
        const Exact wrong = point[static_cast<std::size_t>(j)] / sqrt(squares) - Exact(data.X(i, j));
        off += wrong * wrong;
      }
      EXPECT_LE(sqrt(off), unit_row_error(X.cols())) << X.row(i);
    }
  }
}

TEST(Center, OnlyARowAtTheMeanIsZero) {
  Dataset data = points(RowMatrix{{1, 2}, {3, 6}, {2, 4}});
  EXPECT_MESSAGE(DataError, normalize_rows(data, mean_point(data.X)), "1 row at the mean point", "record 2;");
  data = points(RowMatrix{{0, 1}, {0x1p-60, 1}, {0x1p-61, 1}});  // all but the last differ from it by 2^-61
  EXPECT_MESSAGE(DataError, normalize_rows(data, mean_point(data.X)), "record 2;");
}

TEST(NormalizeRows, IsExactOnPythagoreanRows) {
  Dataset data = points(RowMatrix{{3, 4}, {-6e300, 8e300}, {3e-300, 4e-300}});
  normalize_rows(data);
  EXPECT_EQ(data.X.row(0), (Eigen::RowVector2d{0.6, 0.8}));
  const RowMatrix expected{{0.6, 0.8}, {-0.6, 0.8}, {0.6, 0.8}};  // 6e300 and the others are rounded
  EXPECT_LE((data.X - expected).lpNorm<Eigen::Infinity>(), 2 * test::kUnit + unit_row_error(2)) << data.X;
}

// The reference norm: long double, Kahan summation, good to about 2^-63.
long double reference_norm(const double* row, Index d) {
  long double sum = 0, low = 0;
  for (Index j = 0; j < d; ++j) {
    const long double term = static_cast<long double>(row[j]) * row[j] - low;
    const long double next = sum + term;
    low = (next - sum) - term;
    sum = next;
  }
  return std::sqrt(sum);
}

TEST(NormalizeRows, KeepsItsErrorBoundOverTheRangeOfDoubles) {
  for (const double scale : {1.0, 1e-300, 1e300, 1e-3, 1e150, 1e-160})
    for (const Index d : {1, 2, 63, 128, 129, 3072}) {
      Random random(static_cast<std::uint64_t>(d), Stream::points);
      RowMatrix X(7, d);
      for (double& x : X.reshaped()) x = scale * random.normal();
      Dataset data = points(X);
      normalize_rows(data);
      const long double bound = unit_row_error(d);
      for (Index i = 0; i < X.rows(); ++i) {
        const long double length = reference_norm(X.row(i).data(), d);
        for (Index j = 0; j < d; ++j) {
          const long double exact = X(i, j) / length;
          ASSERT_LE(std::abs(data.X(i, j) - exact), bound * std::abs(exact)) << scale << " " << d;
        }
      }
    }
}

TEST(NormalizeRows, NamesTheFirstTenZeroRowsAndCountsThem) {
  Dataset data = points(RowMatrix::Zero(12, 3));
  EXPECT_MESSAGE(DataError, normalize_rows(data), "table", "12 zero rows",
                 "records 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...");
  data = points(RowMatrix{{1, 0}, {0, -0.0}});
  data.records = {4, 8};
  EXPECT_MESSAGE(DataError, normalize_rows(data), "1 zero row ", "record 8;");
  EXPECT_EQ(data.X(0, 0), 1) << "nothing is changed before the check";
}

TEST(CheckUnitRows, NamesTheFirstThatIsNot) {
  Dataset data = points(RowMatrix{{0.6, 0.8}, {1 + 5e-13, 0}, {0, 1 + 2e-12}});
  data.records = {4, 8, 15};
  EXPECT_MESSAGE(DataError, check_unit_rows(data), "record 15 has length 1.000000000002");
  data.X.row(2) << 0, 0;
  EXPECT_MESSAGE(DataError, check_unit_rows(data), "record 15 has length 0");
}

TEST(Targets, AreOneColumnForRegressionAndForTwoClasses) {
  Dataset data = points(RowMatrix::Ones(2, 1));
  data.task = Task::regression;
  data.y = Vector{{0.5, -3}};
  EXPECT_EQ(targets(data), Matrix(Vector{{0.5, -3}}));
  EXPECT_EQ(targets(labelled(Vector{{0, 1, 0}}, {"a", "b"})), Matrix(Vector{{-1, 1, -1}}));
}

TEST(Targets, AreOneVersusRestForMoreClasses) {
  const Matrix expected{{-1, -1, 1}, {1, -1, -1}, {-1, 1, -1}};
  EXPECT_EQ(targets(labelled(Vector{{2, 0, 1}}, {"a", "b", "c"})), expected);
}

TEST(Targets, NeedATaskAndTwoClasses) {
  EXPECT_MESSAGE(std::invalid_argument, targets(points(RowMatrix::Ones(2, 1))), "no targets");
  EXPECT_MESSAGE(DataError, targets(labelled(Vector{{0, 0}}, {"a"})), "1 classes", "at least two");
}

TEST(Targets, WhoseSquaresCannotBeComputedAreRefused) {
  Dataset data = points(RowMatrix::Ones(2, 1));
  data.task = Task::regression;
  for (const double largest : {1e139, 1e-139}) {
    data.y = Vector{{0, largest}};
    EXPECT_EQ(targets(data), Matrix(data.y));
  }
  for (const double largest : {-1e308, 1e140, 1e-140, 5e-324}) {
    data.y = Vector{{0, largest}};
    EXPECT_MESSAGE(DataError, targets(data), "out of scale");
  }
}

}  // namespace
}  // namespace zeroloss
