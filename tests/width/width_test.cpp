#include "zeroloss/width/width.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "kernel/exact_collinearity.hpp"
#include "support/temp_folder.hpp"
#include "support/two_layer.hpp"
#include "width/search.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/network/pairs.hpp"
#include "zeroloss/proof/certificate.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss {
namespace {

using namespace test;

Dataset points(RowMatrix X, Vector y) {
  Dataset data;
  data.name = "points";
  data.X = std::move(X);
  data.y = std::move(y);
  data.task = Task::regression;
  for (Index i = 0; i < data.n(); ++i) data.records.push_back(i);
  return data;
}

Dataset random_points(Index n, Index d, std::uint64_t seed) {
  return points(sphere(n, d, seed), normals(n, seed + 100));
}

const WidthRow& said(const WidthResult& r, std::string_view id) {
  return *std::ranges::find(r.rows, id, &WidthRow::id);
}

WidthOptions quick() { return {.restarts = 0, .published = false}; }

// ---- certify's rows ----

std::vector<WidthRow> in_short(const Dataset& data, const CertifyOptions& options = {}) {
  Progress silent;
  CertifyResult certified = certify(data, options);
  widths_in_short(data, options, certified, silent);
  return certified.widths;
}

TEST(InShort, RowsAreThoseOfTheWholeAnswer) {
  const Dataset data = random_points(40, 6, 5);
  const auto rows = in_short(data, {.accuracy = 1e-4, .seed = 3});
  ASSERT_EQ(rows.size(), 3u);
  WidthOptions options = quick();
  options.draws = 2;
  options.accuracy = 1e-4;
  options.seed = 3;
  const WidthResult whole = width(data, options);
  for (const WidthRow& row : rows) {
    const WidthRow* same = whole.row(row.id);
    ASSERT_NE(same, nullptr) << row.id;
    EXPECT_EQ(row.width, same->width);
    EXPECT_EQ(row.output_scale, same->output_scale);
    EXPECT_EQ(row.step, same->step);
    EXPECT_EQ(row.steps, same->steps);
    EXPECT_EQ(row.seed, same->seed);
    EXPECT_EQ(row.title, same->title);
  }
}

TEST(InShort, ManyPointsAreOnlyCounted) {
  const auto rows = in_short(random_points(1001, 30, 2));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, "too_few");
  EXPECT_EQ(rows[0].width, 34) << "1001/30, rounded up";
}

TEST(InShort, NothingWithoutLabelsOrWhereTheyContradict) {
  Dataset data = random_points(10, 3, 1);
  data.X.row(4) = data.X.row(9);
  EXPECT_TRUE(in_short(data).empty());
  data.task = Task::none;
  data.y.resize(0);
  EXPECT_TRUE(in_short(data).empty());
}

// ---- 1. too few ----

Index rank_of(const RowMatrix& X) { return internal::rank_bound(X, {}); }

TEST(TooFew, TheRankIsThatOfExactArithmetic) {
  EXPECT_EQ(rank_of(RowMatrix{{1, 2}, {2, 4}, {3, 6}}), 1);
  EXPECT_EQ(rank_of(RowMatrix{{1, 2}, {2, 4}, {3, std::nextafter(6.0, 7.0)}}), 2);
  EXPECT_EQ(rank_of(RowMatrix{{0, 1e-300, 0}, {0, 1e300, 0}}), 1) << "one column is not zero";
  EXPECT_EQ(rank_of(RowMatrix{{5}}), 1);
  std::mt19937 draw(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Index n = 1 + static_cast<Index>(draw() % 12), d = 1 + static_cast<Index>(draw() % 8),
                k = 1 + static_cast<Index>(draw() % 5);
    const auto whole = [&](Index rows, Index columns) {
      RowMatrix A(rows, columns);
      for (double& a : A.reshaped()) a = static_cast<double>(static_cast<int>(draw() % 7) - 3);
      return A;
    };
    const RowMatrix X = whole(n, k) * whole(k, d);  // exact
    const Index expected = Eigen::FullPivLU<Matrix>(X).rank();
    EXPECT_EQ(rank_of(X), expected) << X;
  }
}

TEST(TooFew, OfManyColumnsOnlyTheDifferentOnesCount) {
  RowMatrix X(40, 60);  // too many columns for elimination
  X << RowMatrix::Zero(40, 20), normals(40 * 20, 1).reshaped(40, 20), normals(40 * 20, 1).reshaped(40, 20);
  EXPECT_EQ(rank_of(X), 20);
}

TEST(TooFew, AColumnThatIsTheCenterIsZero) {
  const RowMatrix X{{3, 1}, {3, 2}, {3, 5}};
  EXPECT_EQ(internal::rank_bound(X, Center{Vector{{3, 2}}, Vector::Zero(2)}), 1);
  EXPECT_EQ(rank_of(X), 2);
}

TEST(TooFew, IsTheQuotient) {
  const Activation &relu = activation("relu"), &square = activation("quadratic");
  EXPECT_EQ(internal::necessary_width(relu, 357, 54), 7);
  EXPECT_EQ(internal::necessary_width(relu, 54, 54), 1);
  EXPECT_EQ(internal::necessary_width(relu, 55, 54), 2);
  EXPECT_EQ(internal::necessary_width(square, 6, 3), 2);
  EXPECT_EQ(internal::necessary_width(square, 7, 3), std::nullopt) << "x^T A x with six numbers";
}

// Below that width Gauss-Newton's limit, the image of f, has no room for random targets.
TEST(TooFew, FewerUnitsLeaveAMisfit) {
  const Dataset data = random_points(13, 3, 5);
  ASSERT_EQ(width(data, quick()).row("too_few")->width, 5);
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_GT(
        fit(data, {.width = 4, .optimizer = "gauss_newton", .max_steps = 300, .seed = seed}).relative_misfit,
        1e-6);  // far above rounding
}

// ---- 3. and 4. enough ----

// The network of a row, as fit draws it.
Problem start_of_row(const Dataset& data, const WidthRow& row, const std::string& phi) {
  Problem p{data.X, data.y, {}, activation(phi)};
  p.network = draw_pairs({.width = static_cast<Index>(*row.width),
                          .d = data.d(),
                          .seed = *row.seed,
                          .output_scale = *row.output_scale},
                         p.phi, p.X);
  return p;
}

TEST(Enough, DescentReachesTheLabelsAndAnyOthers) {
  int seen = 0;
  for (const auto& [phi, n, d, seed] : {std::tuple{"relu", 8, 3, 1},
                                        {"relu", 12, 4, 2},
                                        {"leaky_relu", 9, 3, 3},
                                        {"relu", 1, 1, 4},
                                        {"tanh", 6, 3, 5},
                                        {"softplus", 5, 3, 6}}) {
    SCOPED_TRACE(testing::Message() << phi << " " << n);
    const Dataset data = random_points(n, d, static_cast<std::uint64_t>(seed));
    WidthOptions options = quick();
    options.activation = phi;
    const WidthResult r = width(data, options);
    const WidthRow *these = r.row("these_labels"), *any = r.row("any_labels");
    ASSERT_TRUE(these != nullptr && any != nullptr) << r.conclusion;
    EXPECT_EQ(*these->width, *any->width);
    EXPECT_LE(*these->output_scale, *any->output_scale);
    EXPECT_GE(*any->width, 2 * std::ceil(static_cast<double>(n) / static_cast<double>(d)));
    for (const WidthRow* row : {these, any}) {
      Problem p = start_of_row(data, *row, phi);
      for (int labels = 0; labels < (row == any ? 4 : 1); ++labels) {
        if (labels > 0) {  // as long as is claimed
          p.y = normals(n, static_cast<std::uint64_t>(50 + labels));
          p.y *= r.norm_y / p.y.norm() * (1 - test::gamma_of(n + 4.0));
        }
        Progress progress;
        const Certificate c = certify_descent(p.network, p.phi, {p.X, p.y}, progress);
        EXPECT_EQ(c.kind, "descent") << c.reason;
        EXPECT_LE(*row->step, c.step);
        ++seen;
      }
    }
  }
  EXPECT_EQ(seen, 6 * 5);
}

TEST(Enough, StepsAreEnough) {
  const Dataset data = random_points(10, 5, 7);
  WidthOptions options = quick();
  options.accuracy = 1e-2;
  options.max_width = 400;
  const WidthResult r = width(data, options);
  ASSERT_FALSE(r.drawn.empty());
  const DrawnWidth& last = r.drawn.back();
  ASSERT_TRUE(last.any_scale && last.steps < 1e5) << last.steps;
  WidthRow row;
  row.width = static_cast<double>(last.width);
  row.output_scale = last.any_scale;
  row.seed = last.seed;
  Problem p = start_of_row(data, row, "relu");
  for (double k = 0; k < last.steps; ++k) p.step(last.step);
  EXPECT_LE(p.r().norm(), options.accuracy * p.y.norm() + descent_error(p, last.steps));
}

TEST(Enough, TheScaleIsNoLargerThanItHasToBe) {
  const Dataset data = random_points(12, 4, 9);
  const WidthResult r = width(data, quick());
  Problem p = start_of_row(data, *r.row("any_labels"), "relu");
  Progress progress;
  const double margin = certify_descent(p.network, p.phi, {p.X, p.y}, progress).any_margin;
  EXPECT_GT(margin, 1);
  EXPECT_LT(margin, 1.02) << "three digits, and two thousandths";
  scale_pairs(p.network, *r.row("any_labels")->output_scale / 2);
  EXPECT_LT(certify_descent(p.network, p.phi, {p.X, p.y}, progress).any_margin, 0.52);
}

TEST(Enough, WidthsOfTheTableAscendAndSayWhatWasDrawn) {
  const WidthResult r = width(random_points(20, 4, 11), quick());
  ASSERT_GE(r.drawn.size(), 2U);
  EXPECT_EQ(r.drawn.front().width, 10);
  for (std::size_t k = 0; k < r.drawn.size(); ++k) {
    const DrawnWidth& w = r.drawn[k];
    EXPECT_EQ(w.draws, 5);
    EXPECT_LE(w.full_rank, w.draws);
    EXPECT_EQ(w.any_scale.has_value(), w.these_scale.has_value());
    if (w.any_scale) {
      EXPECT_GT(w.full_rank, 0);
      EXPECT_GE(w.condition, 1);
    }
    if (k > 0) {
      EXPECT_GT(w.width, r.drawn[k - 1].width);
    }
  }
}

TEST(Enough, EqualPointsCount) {
  Dataset data = random_points(8, 3, 13);
  data.X.row(7) = 2 * data.X.row(2);
  data.y(7) = data.y(2);
  const WidthResult r = width(data, quick());
  EXPECT_EQ(r.n_distinct, 7);
  ASSERT_NE(r.row("any_labels"), nullptr);
  const WidthRow& row = *r.row("these_labels");
  const FitResult trained = fit(data, {.width = static_cast<Index>(*row.width),
                                       .output_scale = *row.output_scale,
                                       .max_steps = 0,
                                       .seed = *row.seed,
                                       .start = read_start("pairs")});
  EXPECT_EQ(trained.status, Status::certified);
}

// ---- 2. measured ----

TEST(Measured, FindsAWidthWhoseTrainingEndsCertified) {
  const Dataset data = random_points(12, 4, 15);
  const WidthResult r = width(data, {.draws = 0, .restarts = 4, .published = false});
  const WidthRow* row = r.row("measured");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->status, "measured");
  const FitResult again =
      fit(data, {.width = static_cast<Index>(*row->width), .optimizer = "gauss_newton", .seed = *row->seed});
  EXPECT_EQ(again.status, Status::certified);
  for (const MeasuredWidth& m : r.measured)
    if (m.width < static_cast<Index>(*row->width)) {
      EXPECT_TRUE(!m.certified && m.tries == 4) << m.width;
    }
  // Where pairs are proved, it is never wider than they are.
  const WidthResult both = width(data, {.restarts = 1, .published = false});
  EXPECT_LE(both.width_of("measured"), both.width_of("these_labels"));
  EXPECT_EQ(r.row("any_labels"), nullptr);
  EXPECT_EQ(said(r, "any_labels").says, "no network was drawn");
}

TEST(Measured, EndsWithItsTime) {
  const WidthResult r = width(random_points(200, 3, 17),
                              {.draws = 0, .restarts = 1000, .max_seconds = 0.2, .published = false});
  EXPECT_LT(r.seconds, 20);
  EXPECT_NE(r.rows.at(1).says.find("0.2 s were over"), std::string::npos) << r.rows.at(1).says;
}

// ---- groups of points, for units with biases ----

Index rank_of_rows(const Dataset& data, const std::vector<Index>& rows) {
  std::vector<internal::Integers> integers;
  for (const Index i : rows) integers.push_back(internal::direction(data.X, i, {}));
  return internal::rank(std::move(integers));
}

// By elimination in whole numbers, which shares nothing with arithmetic modulo a prime.
void expect_groups(const Dataset& data, const std::vector<std::vector<Index>>& groups) {
  std::vector<Index> all;
  for (const auto& group : groups) {
    const auto size = static_cast<Index>(group.size());
    EXPECT_EQ(rank_of_rows(data, group), size);
    for (Index i = 0; i < data.n(); ++i) {
      if (std::ranges::find(group, i) != group.end()) continue;
      auto with = group;
      with.push_back(i);
      EXPECT_EQ(rank_of_rows(data, with), size + 1) << "sample " << i;
    }
    all.insert(all.end(), group.begin(), group.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(static_cast<Index>(all.size()), data.n());
  for (Index i = 0; i < data.n(); ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

WidthOptions groups_only() { return {.draws = 0, .restarts = 0, .published = false}; }

TEST(Biased, GroupsAreIndependentAndApart) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Index n = 1 + static_cast<Index>(seed % 12), d = 2 + static_cast<Index>(seed % 5);
    Dataset data = random_points(n, d, seed);
    if (seed % 2 == 1)  // many dependent points: small whole numbers
      for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) data.X(i, k) = std::round(2 * data.X(i, k)) + (k == 0 ? 3 : 0);
    const WidthResult r = width(data, groups_only());
    if (r.n_distinct < n) continue;
    ASSERT_NE(r.row("biased"), nullptr) << r.rows.back().says;
    EXPECT_EQ(*r.row("biased")->width, 4.0 * static_cast<double>(r.groups.size()));
    expect_groups(data, r.groups);
  }
}

// In general position a group has d - 1 points. Of those in a space of half the dimension it has one less
// than that at most, so that here four groups are the least.
TEST(Biased, GroupsAreFew) {
  EXPECT_EQ(width(random_points(45, 10, 3), groups_only()).groups.size(), 5U);
  Dataset flat = random_points(12, 6, 4);
  flat.X.topRightCorner(8, 3).setZero();
  const WidthResult r = width(flat, groups_only());
  expect_groups(flat, r.groups);
  EXPECT_GE(r.groups.size(), 4U);
  EXPECT_LE(r.groups.size(), 6U);
}

// The network of theory 13, made of a group's vectors by Eigen, fits labels that were drawn.
TEST(Biased, TheNetworkFitsAnyLabels) {
  const Index d = 5;
  const Dataset data = random_points(17, d, 6);
  const WidthResult r = width(data, groups_only());
  Vector f = Vector::Zero(data.n()), size = f;  // of what is added up, over delta
  const auto relu = [](double z) { return std::max(z, 0.0); };
  for (const auto& group : r.groups) {
    Matrix S(static_cast<Index>(group.size()), d);
    Vector y(S.rows());
    for (Index i = 0; i < S.rows(); ++i) {
      S.row(i) = data.X.row(group[static_cast<std::size_t>(i)]);
      y(i) = data.y(group[static_cast<std::size_t>(i)]);
    }
    const Eigen::JacobiSVD<Matrix> svd(S, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Vector u = svd.matrixV().rightCols(d - S.rows()).rowwise().sum(), v = svd.solve(y);
    const Vector t = data.X * u, s = data.X * v;
    double tau = 1e300;
    for (Index i = 0; i < data.n(); ++i)
      if (std::ranges::find(group, i) == group.end()) tau = std::min(tau, std::abs(t(i)));
    const double epsilon = tau / 2, delta = epsilon / s.cwiseAbs().maxCoeff();
    for (Index i = 0; i < data.n(); ++i)
      f(i) += (relu(t(i) + delta * s(i) + epsilon) - relu(t(i) + delta * s(i) - epsilon) -
               relu(t(i) + epsilon) + relu(t(i) - epsilon)) /
              delta;
    size += (data.X.cwiseAbs() * u.cwiseAbs() + delta * (data.X.cwiseAbs() * v.cwiseAbs())) / delta;
    size.array() += epsilon / delta;
  }
  EXPECT_LT((f - data.y).norm(), backward_error(static_cast<double>(d)) * size.norm());
}

TEST(Biased, NothingWithoutAKinkOrOfOppositePoints) {
  WidthOptions options = groups_only();
  options.activation = "tanh";
  for (const WidthRow& row : width(random_points(6, 3, 7), options).rows) EXPECT_NE(row.id, "biased");
  Dataset opposite = random_points(6, 3, 8);
  opposite.X.row(4) = -opposite.X.row(1);
  const WidthResult r = width(opposite, groups_only());
  EXPECT_EQ(r.row("biased"), nullptr);
  EXPECT_NE(r.rows.back().says.find("opposite"), std::string::npos) << r.rows.back().says;
  const WidthResult out =
      width(random_points(300, 8, 9), {.draws = 0, .restarts = 0, .max_seconds = 1e-9, .published = false});
  EXPECT_NE(out.rows.back().says.find("were over"), std::string::npos) << out.rows.back().says;
}

TEST(Biased, HoldsOfPointsOfAnySize) {
  Dataset data = random_points(13, 4, 10);
  for (Index i = 0; i < data.n(); ++i) data.X.row(i) *= std::pow(10.0, static_cast<double>(i % 7) * 40 - 120);
  expect_groups(data, width(data, groups_only()).groups);
}

// Less their mean, which takes more than one number, these three add to zero: any two span the third.
TEST(Biased, TheCenterIsExact) {
  const double little = std::ldexp(3.0, -60);
  const Dataset data = points(RowMatrix{{3, 1, 0}, {little, -1, 1}, {0, 0, -1}}, Vector{{1, 2, 3}});
  WidthOptions options = groups_only();
  EXPECT_EQ(width(data, options).groups.size(), 1U);
  options.center = true;
  EXPECT_EQ(width(data, options).groups.size(), 3U);
}

// ---- the whole answer ----

TEST(Width, RowsGoFromTooFewToThePapers) {
  const WidthResult r = width(random_points(9, 3, 19), {.restarts = 1});
  ASSERT_GE(r.rows.size(), 5U);
  const char* first[] = {"too_few", "measured", "these_labels", "any_labels", "biased"};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(r.rows[k].id, first[k]);
  for (std::size_t k = 6; k < r.rows.size(); ++k) EXPECT_GE(*r.rows[k].width, *r.rows[k - 1].width);
  for (const WidthRow& row : r.rows) {
    EXPECT_TRUE(row.id != "zl_b" && row.id != "zl_c") << "the kernel at the start fits nothing";
    if (row.id == "zl_a") {
      EXPECT_EQ(row.about.find("any labels, by output weights"), 0U);
    }
  }
  EXPECT_LE(*r.row("too_few")->width, *r.row("any_labels")->width);
  EXPECT_GT(*r.rows[5].width, *r.row("any_labels")->width);
}

TEST(Width, NothingFitsEqualPointsWithDifferentLabels) {
  Dataset data = random_points(6, 3, 21);
  data.X.row(5) = data.X.row(0);
  const WidthResult r = width(data, quick());
  EXPECT_NE(r.conclusion.find("are the same point, but their labels differ"), std::string::npos)
      << r.conclusion;
  EXPECT_TRUE(r.rows.empty());
}

TEST(Width, EqualPointsAreSaid) {
  Dataset data = random_points(6, 3, 22);
  data.X.row(5) = data.X.row(0);
  data.y(5) = data.y(0);
  const WidthResult r = width(data, quick());
  EXPECT_NE(r.conclusion.find("any labels on these 5 distinct points"), std::string::npos) << r.conclusion;
  EXPECT_NE(r.row("any_labels")->about.find("equal on equal points"), std::string::npos);
}

// Each class has a network that begins at the same weights; centred, to see the center on its way.
TEST(Enough, HoldsForEveryClass) {
  Dataset data = random_points(15, 3, 31);
  data.task = Task::classification;
  data.class_names = {"ant", "bee", "cow"};
  for (Index i = 0; i < 15; ++i) data.y(i) = static_cast<double>(i % 3);
  WidthOptions options = quick();
  options.center = true;
  const WidthResult r = width(data, options);
  EXPECT_EQ(r.outputs, 3);
  EXPECT_NE(r.conclusion.find("for each class"), std::string::npos);
  for (const char* id : {"these_labels", "any_labels"}) {
    const WidthRow* row = r.row(id);
    ASSERT_NE(row, nullptr) << r.conclusion;
    FitOptions start;
    start.width = static_cast<Index>(*row->width);
    start.output_scale = *row->output_scale;
    start.seed = *row->seed;
    start.start = read_start("pairs");
    start.center = true;
    start.max_steps = 0;
    const FitResult trained = fit(data, start);
    EXPECT_EQ(trained.status, Status::certified) << id;
    for (const OutputResult& output : trained.outputs) EXPECT_LE(*row->step, output.certificate.step);
  }
}

TEST(Enough, StepAndScaleAreThreeDigits) {
  const WidthResult r = width(random_points(15, 4, 33), quick());
  for (const char* id : {"these_labels", "any_labels"})
    for (const double value : {*r.row(id)->output_scale, *r.row(id)->step})
      EXPECT_EQ(value, std::stod(fmt::format("{:.2e}", value))) << "as it is printed";
}

TEST(Enough, EndsWithItsTime) {
  WidthOptions options = quick();
  options.max_seconds = 1e-9;
  const WidthResult r = width(random_points(30, 3, 35), options);
  EXPECT_EQ(r.rows.back().status, "open");
  EXPECT_EQ(said(r, "any_labels").says, "1e-09 s were over");
}

TEST(Width, SaysWhyNothingIsProved) {
  const Dataset data = random_points(12, 2, 23);
  WidthOptions options = quick();
  options.activation = "quadratic";
  const WidthResult square = width(data, options);
  EXPECT_EQ(square.row("too_few"), nullptr);
  EXPECT_NE(square.rows.front().says.find("no width can"), std::string::npos);
  EXPECT_EQ(square.rows.back().says, "J J^T is singular at every width");
  options = quick();
  options.max_width = 4;
  const WidthResult narrow = width(data, options);
  EXPECT_EQ(said(narrow, "any_labels").says, "pairs of full rank have 12 units or more (`max_width=12`)");
  EXPECT_EQ(said(narrow, "any_labels").status, "open");
  EXPECT_EQ(narrow.row("any_labels"), nullptr);
}

TEST(Width, TargetsOfZeroNeedNoScale) {
  Dataset data = random_points(5, 3, 25);
  data.y.setZero();
  const WidthResult r = width(data, quick());
  ASSERT_NE(r.row("any_labels"), nullptr) << r.conclusion;
  EXPECT_GT(*r.row("any_labels")->output_scale, 0);
}

TEST(Width, HugeAndTinyTargetsScaleAlong) {
  Dataset data = random_points(7, 3, 27);
  const double usual = *width(data, quick()).row("any_labels")->output_scale;
  for (const double factor : {1e-9, 1e6}) {
    Dataset other = data;
    other.y *= factor;
    const WidthResult r = width(other, quick());
    ASSERT_NE(r.row("any_labels"), nullptr) << factor;
    EXPECT_NEAR(*r.row("any_labels")->output_scale / (factor * usual), 1, 0.02);
  }
}

TEST(Width, RefusesOptionsOutOfRange) {
  const Dataset data = random_points(4, 2, 29);
  const auto refused = [&](const WidthOptions& options, const char* name) {
    EXPECT_MESSAGE(std::invalid_argument, width(data, options), name);
  };
  refused({.draws = -1}, "draws");
  refused({.restarts = -1}, "restarts");
  refused({.max_width = 1}, "max_width");
  refused({.accuracy = 1}, "accuracy");
  refused({.failure_probability = 0}, "failure_probability");
  refused({.max_seconds = 0}, "max_seconds");
  refused({.seed = (std::uint64_t{1} << 53) - 1}, "seed");
  refused({.activation = "swash"}, "swash");
  Dataset unlabelled = data;
  unlabelled.task = Task::none;
  unlabelled.y = {};
  EXPECT_THROW(width(unlabelled, quick()), DataError);
}

}  // namespace
}  // namespace zeroloss
