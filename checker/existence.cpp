// An exact network beside given weights, and gradient descent that arrives at one: docs/theory.md, sections 7
// and 16.

#include <algorithm>
#include <cmath>

#include "kinds.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {
namespace {

constexpr slong kBits = 160;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Balls residual_of(const Tangent& tangent, const Array& y, const Object& o) {
  std::vector<Balls> outputs;
  for (std::size_t i = 0; i < tangent.points(); ++i) {
    outputs.push_back(tangent.output(i));
  }
  return residual_at(tangent.distinct(), outputs, y, o);
}

void expect_misfit(const Object& o, const Ball& misfit) {
  if (!o.has("misfit")) {
    return;
  }
  const Ball most = o.number("misfit");
  if (misfit > most) {
    throw False("misfit >= " + down(misfit.lower()));
  }
  if (!(misfit <= most)) {
    throw Open("the misfit is too close to its bound to say");
  }
}

// lambda_min(J J^T) and ||J|| of a tangent, proved from one matrix that is formed once.
class Spectrum {
 public:
  explicit Spectrum(const Tangent& tangent) : tangent_(tangent), k_(tangent.gram()) {}

  // Whether s_min(J) >= s. s_min(J) is off by ||J - stored J||_F at most.
  bool least(double s) {
    const double moved = (s + tangent_.off()) * (1 + 1e-15);
    least_ = least_eigenvalue(k_, 1, moved * moved * (1 + 1e-15));
    return least_.lower >= moved * moved;
  }
  // What is then known of lambda_min(J J^T) from above.
  double most_of_least() const {
    const double root = std::sqrt(std::max(0.0, least_.upper)) + tangent_.off();
    return root * root * (1 + 1e-15);
  }
  // Whether ||J|| <= b.
  bool norm(double b) {
    const double moved = (b - tangent_.off()) * (1 - 1e-15);
    const double square = moved * moved * (1 - 1e-15);
    return moved > 0 && least_eigenvalue(k_, -1, -square).lower >= -square;
  }
  const Symmetric& stored() const { return k_; }
  Symmetric& stored() { return k_; }

 private:
  const Tangent& tangent_;
  Symmetric k_;
  Least least_{};
};

// Throws unless lambda_min(J J^T) is at least the claimed and the needed number.
void expect_least(Spectrum& spectrum, double needed, const Object& o, const std::string& why) {
  const double claimed = o.has("lambda_min") ? o.number("lambda_min") : 0;
  const double root = std::sqrt(std::max(claimed, 0.0)) * (1 + 1e-16);
  if (spectrum.least(std::max(root, needed))) {
    return;
  }
  const double most = spectrum.most_of_least();
  if (most < claimed) {
    throw False("lambda_min(J J^T) <= " + up(most));
  }
  throw Open(why + ": lambda_min(J J^T) would have to be " + up(needed * needed) + ", and is at most " +
             up(most));
}

double positive(const Object& o, const char* key) {
  const double x = o.number(key);
  if (!(x >= 0)) {
    o.fail(std::string(key) + " is below 0");
  }
  return x;
}

}  // namespace

// Kantorovich: with h = Lambda e/s^2 <= 1/2 an exact network lies within 2 e/(s (1 + sqrt(1 - 2 h))), if
// Lambda is of a ball of that radius R. Both say s >= max(sqrt(2 Lambda e), e/R + Lambda R/2).
std::string check_existence(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(
      claim, where,
      {"kind", "text", "network", "points", "targets", "radius", "misfit", "lambda_min", "witness", "kinks"});
  if (o.has("witness") || o.has("kinks")) {
    return check_kinks(folder, claim, where);
  }
  const double claimed = positive(o, "radius");
  const Bits bits(std::max(precision, kBits));
  const Points points(folder, o.text("points"));
  const Network network(folder, o.text("network"), points.dimension());
  const Tangent tangent(network, points);
  const Balls r = residual_of(tangent, folder.reals(o.text("targets")), o);
  const Ball misfit = length(r);
  expect_misfit(o, misfit);
  expect_memory(tangent.rows(), 8);
  // A smaller ball may do, and has a smaller Lambda.
  const Ball e = misfit.upper_end();
  double needed = kInfinity, lambda = 0;
  double radius = claimed;
  for (int attempt = 0; attempt < 60 && radius > 0; ++attempt, radius /= 2) {
    const double change = tangent.lipschitz(radius);
    if (std::isfinite(change)) {
      const Ball big(change);
      const Ball wanted = max(sqrt(Ball(2) * big * e), e / Ball(radius) + big * Ball(radius) / Ball(2));
      if (wanted.upper() < needed) {
        needed = wanted.upper(), lambda = change;
      } else if (std::isfinite(needed)) {
        break;
      }
    }
  }
  if (!std::isfinite(needed)) {
    throw Open("signs may change within the radius, so that no bound of how J changes is known");
  }
  Spectrum spectrum(tangent);
  // Within the radius outputs move by at most R ||J|| + Lambda R^2/2.
  const Ball reach(claimed),
      j_norm = Ball(1.001) * sqrt(Ball(spectrum.stored().trace())) + Ball(tangent.off());
  const double change = tangent.lipschitz(claimed);
  if (std::isfinite(change) && misfit > reach * j_norm + Ball(change) * square(reach) / Ball(2)) {
    throw False("the misfit is at least " + down(misfit.lower()) +
                ", which no weights within the radius can make up");
  }
  expect_least(spectrum, needed, o, "existence");
  return "misfit <= " + up(e.upper()) + ", lambda_min(J J^T) >= " + down(needed * needed * (1 - 1e-14)) +
         ", J changes by at most " + up(lambda) + " a unit: an exact network within " + up(claimed);
}

namespace {

// The theorem on one cell: no sign changes. lambda_min(J J^T) is at least `rate`, and ||J||^2 at most 1/step.
bool arrives_in_cell(const Tangent& tangent, Spectrum& spectrum, const Balls* r, const Ball& misfit,
                     double rate, double radius) {
  const std::size_t n = tangent.points();
  Ball most_c, reach;  // of ||K^-1 r||, and (r^T K^-1 r)^(1/2)
  if (r == nullptr) {
    most_c = misfit / Ball(rate);
    reach = misfit / sqrt(Ball(rate));
  } else {
    std::vector<double> c;
    for (const Ball& x : *r) {
      c.push_back(x.middle());
    }
    Symmetric& k = spectrum.stored();
    if (!k.factor(1, 0)) {
      return false;
    }
    k.solve(c);
    const Balls exact_c(c.begin(), c.end());
    Balls row(n), rest(n);
    Ball norm;  // of J, from the trace
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        row[j] = k.get(i, j);
      }
      rest[i] = (*r)[i] - dot(row, exact_c);
      norm += row[i];
    }
    norm = Ball(1.001) * sqrt(norm) + Ball(tangent.off());
    const Ball length_c = length(exact_c);
    const Ball off = Ball(k.error()) + Ball(tangent.off()) * (Ball(2) * norm + Ball(tangent.off()));
    const Ball rho = length(rest) + off * length_c;
    most_c = length_c + rho / Ball(rate);
    reach = sqrt(dot(exact_c, *r) + rho * misfit / Ball(rate));
  }
  if (!(reach <= Ball(radius))) {
    return false;
  }
  const std::size_t m = tangent.layers()[0].w->out;
  const Balls& v = tangent.last().weights;
  std::vector<Balls> inner(n);  // <x_i, x_k>, of the rows that need them
  for (std::size_t i = 0; i < n; ++i) {
    const Ball moves = length(tangent.input(i)) * reach;
    for (std::size_t j = 0; j < m; ++j) {
      const Ball z(tangent.least_z(i, 0, j));
      if (v[j].size() == 0 || moves < z) {
        continue;
      }
      if (!(z > 0)) {
        return false;
      }
      if (inner[i].empty()) {
        for (std::size_t k = 0; k < n; ++k) {
          inner[i].push_back(dot(tangent.input(i), tangent.input(k)));
        }
      }
      Ball sum;
      for (std::size_t k = 0; k < n; ++k) {
        const Ball entry = Ball(tangent.signed_slope(k, j)) * v[j] * inner[i][k];
        sum += Ball(tangent.count(k)) * square(entry);
      }
      if (!(most_c * sqrt(sum) < z)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::string check_descent(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where,
                 {"kind", "text", "network", "points", "targets", "distance", "step", "rate", "radius",
                  "misfit", "lambda_min"});
  if (o.has("targets") == o.has("distance")) {
    o.fail("has not just one of targets and distance");
  }
  const double step = positive(o, "step"), rate = positive(o, "rate");
  const double radius = o.has("radius") ? positive(o, "radius") : kInfinity;
  if (step == 0 || rate == 0) {
    o.fail("a step or a rate of 0 says nothing");
  }
  const Bits bits(std::max(precision, kBits));
  const Points points(folder, o.text("points"));
  const Network network(folder, o.text("network"), points.dimension());
  const Tangent tangent(network, points);
  Balls r;
  if (o.has("targets")) {
    r = residual_of(tangent, folder.reals(o.text("targets")), o);
  }
  const Ball misfit = o.has("targets") ? length(r) : Ball(positive(o, "distance"));
  expect_misfit(o, misfit);
  expect_memory(tangent.rows(), 8);
  Spectrum spectrum(tangent);
  // A larger rate than the claimed one means a shorter way: the largest that is proved.
  const bool cells = tangent.two_layers() && tangent.layers()[0].phi->kinked() &&
                     spectrum.norm(std::sqrt(1 / step) * (1 - 1e-15));
  double proved = 0, beyond = kInfinity, tried = rate;
  for (int attempt = 0; cells && attempt < 40 && proved < beyond * (1 - 1e-5); ++attempt) {
    const bool least = spectrum.least(std::sqrt(tried) * (1 + 1e-15));
    if (least && arrives_in_cell(tangent, spectrum, o.has("targets") ? &r : nullptr, misfit.upper_end(),
                                 tried, std::min(radius, 1e300))) {
      expect_least(spectrum, 0, o, "descent");
      return "no sign changes on the way";
    }
    (least ? proved : beyond) = tried;
    if (!least) {
      beyond = std::min(beyond, spectrum.most_of_least());
    }
    if (proved == 0) {
      break;
    }
    tried = std::min(2 * proved, (proved + beyond) / 2);
  }
  // Any a with a^2 >= rate and R = 5 e/(3 a) <= radius will do, the least one that has e(R) <= a/3.
  const double e = misfit.upper();
  double a = std::sqrt(rate) * (1 + 1e-15);
  if (std::isfinite(radius) && e > 0) {
    a = std::max(a, 5 * e / (3 * radius) * (1 + 1e-14));
  }
  const auto enough = [&](double a) {
    return tangent.change(5 * e / (3 * a) * (1 + 1e-14)) * 3 * (1 + 1e-14) <= a;
  };
  double too_little = 0;
  for (int attempt = 0; !enough(a); ++attempt, too_little = a, a *= 1.05) {
    if (attempt == 400) {
      throw Open("J may change too much on the way");
    }
  }
  for (double between; too_little > 0 && a - too_little > 1e-6 * a;) {
    between = (a + too_little) / 2;
    (enough(between) ? a : too_little) = between;
  }
  expect_least(spectrum, 2 * a * (1 + 1e-15), o, "descent");
  const double b = (std::sqrt(0.48 / step) - a / 3) * (1 - 1e-14);
  if (!spectrum.norm(b)) {
    throw Open("the step: ||J|| is not proved to be at most " + down(b));
  }
  return "misfit <= " + up(e) + ", s_min(J) >= " + down(2 * a * (1 - 1e-14)) + ", ||J|| <= " + up(b) +
         ", and J changes by a third of s_min/2 at most";
}

}  // namespace check
