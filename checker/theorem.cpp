// The rows of published theorems: docs/theory.md, section 4.

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel.hpp"
#include "kinds.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {
namespace {

// What a row says: from this width on, with this step, misfits fall by this a step (of the flow: of exp(-rate
// t)).
struct Row {
  Ball width;
  Ball step, rate;  // 0: the theorem has none
};

struct Given {
  Ball n, d, norm, lambda, p, y;  // y = ||y||; p of one network
  const Activation& activation;
};

Ball cube(const Ball& x) { return x * x * x; }

// rho of the two theorems in `ntk` scaling, p' = p/3.
Ball start_ntk(const Given& g) {
  const Ball first = g.y + sqrt(g.n * log(Ball(12) / g.p) / Ball::pi());
  return sqrt(square(first) + Ball(341) * g.n / Ball(1000)) + g.norm * sqrt(Ball(2) * log(Ball(6) / g.p));
}

Ball decimal(unsigned long hundredths) { return Ball(static_cast<double>(hundredths)) / Ball(100); }

Ball chernoff(const Given& g, const Ball& b) {
  return decimal(652) * log(g.n / g.p) * square(b) * square(g.norm) / g.lambda;
}

Row relu_ntk(const Given& g, bool flow) {
  const Ball many = square(cube(g.norm)) * square(start_ntk(g)) / square(square(g.lambda));
  if (flow) {
    return {Ball(488) * many, 0, g.lambda / Ball(2)};
  }
  return {Ball(2510) * many, Ball(1) / (Ball(3) * square(g.norm)), g.lambda / (Ball(14) * square(g.norm))};
}

Row relu_balanced(const Given& g) {
  const Ball d0 = g.norm * sqrt(Ball(2) * log(Ball(3) / g.p) / g.n);
  const Ball width =
      Ball(2510) * square(decimal(116) + d0) * g.n * square(cube(g.norm)) / square(square(g.lambda)) +
      Ball(2);
  return {width, g.n / (Ball(3) * square(g.y) * square(g.norm)), g.lambda / (Ball(14) * square(g.norm))};
}

// Its start and Lemma 1 may fail with probability p/events each.
Ball smooth_width(const Given& g, const Ball& factor, const Ball& events) {
  const Ball b = g.activation.most_slope(), m = g.activation.most_curvature();
  const Ball d0 = g.norm * sqrt(Ball(2) * log(events / g.p) / g.n);
  const Ball a = factor * m * (sqrt(Ball(1) + square(b)) + d0 * b) * sqrt(g.n) * g.norm / g.lambda;
  Given part = g;
  part.p = g.p / events;
  return max(square((a + sqrt(square(a) + Ball(4))) / Ball(2)), chernoff(part, b) + Ball(1));
}

Row smooth_balanced(const Given& g) {
  const Ball b = g.activation.most_slope();
  return {smooth_width(g, decimal(745), 2), g.n / (Ball(2) * square(b) * square(g.y) * square(g.norm)),
          g.lambda / (Ball(28) * square(b) * square(g.norm))};
}

// nu falls with the width, so that what holds at this one holds at wider ones.
Row smooth_stochastic(const Given& g, const Ball& width) {
  const Ball b = g.activation.most_slope(), b4 = square(square(b));
  const Ball root_of = exp(log(Ball(3) * b * g.norm / sqrt(g.lambda)) / (width * g.d));
  const Ball nu = max(Ball(3), Ball(4) * root_of / (decimal(90) * g.p));
  const Ball x = square(g.lambda) * (width - Ball(1)) / (Ball(144) * width * g.n * nu * b4 * square(g.norm));
  return {smooth_width(g, Ball(32) * nu, 20),
          g.lambda * g.n / (Ball(9) * nu * b4 * square(g.y) * square(g.norm)),
          x / (Ball(1) + sqrt(Ball(1) - x))};  // of the root of the mean square
}

// lambda is that of the kernel of outputs; any t will do.
Row output_layer(const Given& g) {
  const Ball start = sqrt(g.n * Dual(g.activation).output_at_one());
  const Ball beta = g.activation.most_slope() * g.norm;
  Ball least = Ball(1) / Ball(0);
  for (int k = 1; k <= 40 * 64; ++k) {
    const Ball x = Ball(k) / Ball(64), most = start + x * beta;
    const Ball tail =
        (square(most) + Ball(2) * square(beta) + Ball(2) * beta * start / x) * exp(-square(x) / Ball(2));
    if (const Ball width = square(most) / (g.lambda - tail); tail < g.lambda && !(width >= least)) {
      least = width;
    }
  }
  return {decimal(652) * log(g.n / g.p) * least, 0, 0};
}

// ||X||, of the same points once.
const Ball& norm_of(const Points& points) {
  static std::map<std::string, Ball> known;
  const std::string id = points.id();
  if (const auto at = known.find(id); at != known.end()) {
    return at->second;
  }
  std::vector<double> numbers;
  Ball off;
  for (std::size_t i = 0; i < points.rows(); ++i) {
    for (const Ball& x : points.row(i)) {
      numbers.push_back(x.middle());
      off += square(x - Ball(numbers.back()));
    }
  }
  const Ball norm = norm_between(points.rows(), points.dimension(), numbers, sqrt(off).upper());
  return known.emplace(id, norm).first->second;
}

}  // namespace

std::string check_theorem(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where,
                 {"kind", "text", "id", "points", "activation", "lambda", "failure_probability", "targets",
                  "networks", "width", "step", "rate"});
  const std::string id = o.text("id");
  const Bits bits(std::max<slong>(precision, 128));
  const Activation activation(o.at("activation"), where);
  const Points points(folder, o.text("points"));
  points.expect_unit();
  const std::size_t n = points.rows();
  const std::size_t networks = o.has("networks") ? o.count("networks") : 1;
  const double p = o.number("failure_probability"), lambda = o.number("lambda");
  if (!(p > 0 && p < 1) || !(lambda > 0) || networks == 0) {
    o.fail("failure_probability is not in (0, 1), lambda not above 0, or networks is 0");
  }
  // The number lambda is decided here too: in zl_a it is the least angle of the points, in os_3_2 at most
  // lambda_min of the outputs' kernel, in all others of the hidden weights' kernel, however it was found. Of
  // equal points, one counts.
  const Points distinct = points.distinct();
  if (id == "zl_a") {
    if (!(Ball(lambda) <= Ball::pi() / Ball(2))) {
      throw False("no angle up to sign is above pi/2");
    }
    expect_separation(distinct, 0, lambda);
  } else {
    const Json kernel{{"of", id == "os_3_2" ? "output" : "hidden"}, {"activation", o.at("activation")}};
    expect_lambda_min(distinct, kernel, where, lambda);
  }
  const bool relu = activation.kinked() && activation.slope() == 0;
  const bool smooth = !activation.kinked();
  const auto needs = [&](bool holds, const std::string& what) {
    if (!holds) {
      throw False("the theorem is about " + what);
    }
  };
  const Ball norm = norm_of(points);
  Given g{static_cast<double>(n),
          static_cast<double>(points.dimension()),
          norm,
          lambda,
          Ball(p) / Ball(static_cast<double>(networks)),
          0,
          activation};
  const bool of_labels = id.starts_with("dzps") || (id.starts_with("os") && o.has("step"));
  if (of_labels || o.has("targets")) {  // the longest column counts
    const Array& a = folder.reals(o.text("targets"));
    if (a.rows() != n || (a.columns() != 1 && a.columns() != networks)) {
      o.fail("targets are not as many as points, or have not a column for each network");
    }
    expect_equal_targets(Distinct(points), a);
    for (std::size_t k = 0; k < a.columns(); ++k) {
      Ball sum;
      for (std::size_t i = 0; i < n; ++i) {
        sum += square(Ball(a.real(i * a.columns() + k)));
      }
      g.y = max(g.y, sqrt(sum));
    }
  }
  const double width = o.number("width");
  Row row;
  if (id == "dzps_3_1" || id == "dzps_4_1") {
    needs(relu, "relu");
    row = relu_ntk(g, id == "dzps_3_1");
  } else if (id == "os_6_3" || id == "os_2_3" || id == "os_2_5") {
    needs(relu, "relu");
    row = relu_balanced(g);
  } else if (id == "os_6_2" || id == "os_2_1" || id == "os_2_6") {
    needs(smooth && activation.most_slope().finite(), "smooth activations with a bounded slope");
    row = id == "os_2_6" ? smooth_stochastic(g, width) : smooth_balanced(g);
  } else if (id == "os_3_2") {
    needs(activation.most_slope().finite(), "activations with a bounded slope");
    row = output_layer(g);
  } else if (id == "zl_a") {  // lambda is the least angle of the points
    needs(relu, "relu");
    const Ball l = log(Ball(1) / g.p);
    row = {Ball(4) * Ball::pi() / g.lambda * (g.n + sqrt(Ball(2) * g.n * l) + l), 0, 0};
  } else if (id == "zl_b" || id == "zl_c") {
    needs(activation.most_slope().finite(), "activations with a bounded slope");
    row = {chernoff(g, activation.most_slope()) * Ball(id == "zl_c" ? 2 : 1), 0, 0};
  } else {
    throw Open("the theorem " + id + " is not known here");
  }
  if (row.width > Ball(width)) {
    throw False("the width has to be " + up(row.width.upper()));
  }
  if (!(row.width <= Ball(width))) {
    throw Open("the width is too close to say");
  }
  const auto at_most = [&](const char* key, const Ball& allowed) {
    if (!o.has(key)) {
      return;
    }
    const Ball said = o.number(key);
    if (!(said > 0)) {
      o.fail(std::string(key) + " is not above 0");
    }
    if (said > allowed) {
      throw False(std::string("the ") + key + " may be " + down(allowed.lower()) + " at most");
    }
    if (!(said <= allowed)) {
      throw Open(std::string("the ") + key + " is too close to say");
    }
  };
  at_most("step", row.step);
  // The rate is that of the step: a smaller one has a smaller rate.
  const Ball share = row.step > 0 && o.has("rate") ? Ball(o.number("step")) / row.step : Ball(1);
  const Ball x = row.rate * (Ball(2) - row.rate) * share;  // of the mean square
  at_most("rate", id == "os_2_6" ? x / (Ball(1) + sqrt(Ball(1) - x)) : row.rate * share);
  return "from width " + up(row.width.upper()) + " on";
}

}  // namespace check
