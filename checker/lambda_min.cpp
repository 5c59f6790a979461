// lambda_min of a kernel matrix at the points of a claim, and the distance of points.

#include <algorithm>
#include <cmath>
#include <map>

#include "gram.hpp"
#include "kernel.hpp"
#include "kinds.hpp"
#include "symmetric.hpp"
#include "verdict.hpp"

namespace check {
namespace {

constexpr slong kEntryBits = 64;
constexpr std::size_t kMostForBalls = 2600;

// Bits that the recursion over layers takes from an entry: correlations close to 1 lose some at each.
slong lost(const Kernel& kernel) { return 8 * static_cast<slong>(kernel.depth()); }

Symmetric kernel_matrix(const Points& points, const Kernel& kernel) {
  Symmetric a(points.rows());
  Gram gram(points);
  const auto set = [&](std::size_t i, std::size_t j, const Ball& entry) {
    const double value = entry.middle();
    a.set(i, j, value, (entry - Ball(value)).size());
  };
  const Bits bits(kEntryBits + lost(kernel));
  const Ball one = kernel.at_one();
  for (std::size_t i = 0; i < points.rows(); ++i) {
    set(i, i, one);
  }
  gram.pairs(false, "forming the kernel",
             [&](std::size_t i, std::size_t j, const Ball& rho) { set(i, j, kernel.entry(rho)); });
  return a;
}

// Whether the kernel less s I has a factor in balls of this many bits, which proves that it is positive
// definite.
bool factors_in_balls(const Points& points, const Kernel& kernel, double s, slong bits_of_balls) {
  const Bits bits(bits_of_balls);
  const auto n = static_cast<slong>(points.rows());
  std::vector<Balls> rows;
  for (std::size_t i = 0; i < points.rows(); ++i) {
    rows.push_back(points.row(i));
  }
  arb_mat_t a, factor;
  arb_mat_init(a, n, n);
  arb_mat_init(factor, n, n);
  const Ball diagonal = kernel.at_one() - Ball(s);
  for (slong i = 0; i < n; ++i) {
    for (slong j = 0; j < i; ++j) {
      const Ball entry = kernel.entry(dot(rows[i], rows[j]));
      arb_set(arb_mat_entry(a, i, j), entry.get());
      arb_set(arb_mat_entry(a, j, i), entry.get());
    }
    arb_set(arb_mat_entry(a, i, i), diagonal.get());
  }
  const bool positive = arb_mat_cho(factor, a, precision) != 0;
  arb_mat_clear(a);
  arb_mat_clear(factor);
  return positive;
}

}  // namespace

std::string check_lambda_min(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "kernel", "at_least", "tail", "weights"});
  const Points points(folder, o.text("points"));
  std::vector<double> weights(points.rows(), 1);
  if (o.has("weights")) {
    weights = folder.reals(o.text("weights"), 1).reals();
    const bool fit =
        std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 1e-30 && w <= 1e30; });
    if (!o.has("tail") || weights.size() != points.rows() || !fit) {
      o.fail("weights are not a number from 1e-30 to 1e30 for each point, beside a tail");
    }
  }
  const bool tail = o.has("tail") || !fits_memory(points.rows(), 8);
  return expect_lambda_min(points, o.at("kernel"), where, o.number("at_least"), tail ? &weights : nullptr,
                           o.has("tail") ? o.count("tail", 10000) : 0);
}

std::string expect_lambda_min(const Points& points, const Json& of, const std::string& where, double s,
                              const std::vector<double>* weights, std::size_t power) {
  points.expect_unit();
  const Kernel kernel(of, where);
  // Theorems ask again for what another claim was about.
  static std::map<std::string, double> proved;
  const std::string key = points.id() + of.dump();
  if (const auto known = proved.find(key); known != proved.end() && known->second >= s) {
    return "lambda_min >= " + down(known->second);
  }
  if (weights != nullptr) {
    const double bound = tail_bound(points, kernel, power, *weights);
    if (bound >= s) {
      proved[key] = bound;
      return "lambda_min >= " + down(bound) + ", by the tail of the power series";
    }
  }
  expect_memory(points.rows(), 8);
  Least least{};
  {
    Symmetric a = kernel_matrix(points, kernel);
    least = least_eigenvalue(a, 1, s);
  }
  if (least.lower >= s) {
    proved[key] = least.lower;
    return "lambda_min >= " + down(least.lower);
  }
  const double upper = least.upper + static_cast<double>(points.rows()) * kernel.left_out() * 1.001;
  if (upper < s) {
    throw False("lambda_min <= " + up(upper));
  }
  if (points.rows() > kMostForBalls) {
    throw Open("doubles prove lambda_min >= " + down(least.lower) +
               ", and there are too many points for balls");
  }
  for (const slong bits : {slong{256}, slong{640}}) {
    if (factors_in_balls(points, kernel, s, std::max(bits + lost(kernel), precision))) {
      proved[key] = s;
      return "lambda_min >= " + down(s) + ", by a factor in balls of " + std::to_string(bits) + " bits";
    }
  }
  throw Open("neither proved nor disproved: lambda_min is between " + down(least.lower) + " and " +
             up(upper));
}

std::string check_separation(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "at_least", "angle"});
  return expect_separation(Points(folder, o.text("points")), o.number("at_least"),
                           o.has("angle") ? o.number("angle") : 0);
}

std::string expect_separation(const Points& points, double at_least, double angle) {
  const Ball s = at_least;
  Gram gram(points);
  // min(||x - x'||, ||x + x'||)^2 = 2 - 2 |rho|, and 2 asin of half its root is the angle of |rho|.
  const Bits bits(128);
  Ball bound = Ball(1) - square(s) / Ball(2);
  if (s <= 0) {
    bound = 2;
  } else if (s > 2) {
    bound = -1;
  }
  if (angle > 0) {
    bound = min(bound, cos(Ball(angle)));
    if (angle > 3.2) {
      bound = -1;
    }
  }
  std::size_t first = 0, second = 0;
  Ball closest(-1);
  bool open = false;
  const double sure = bound.lower();
  gram.pairs(false, "comparing points", [&](std::size_t i, std::size_t j, const Ball& rho) {
    if (rho.size() < sure) {
      return;
    }
    Ball size = abs(rho);
    for (slong more = 256; more <= 4096 && !(size <= bound || size > bound); more *= 2) {
      const Bits finer(more);
      size = abs(gram.exact(i, j));
    }
    if (size > bound && !(size < closest)) {
      closest = size, first = i, second = j;
    }
    open = open || !(size <= bound || size > bound);
  });
  if (closest > bound) {
    throw False("points " + std::to_string(second) + " and " + std::to_string(first) + " have the distance " +
                up(sqrt(Ball(2) - Ball(2) * closest).upper()));
  }
  if (open) {
    throw Open("a pair is too close to the bound to say");
  }
  return points.rows() == 1 ? "there is one point, and no pair"
                            : "all " + std::to_string(points.rows()) + " points are as far from each other";
}

}  // namespace check
