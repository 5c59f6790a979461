// Existence for relu next to weights where some pre-activations are to be 0: docs/theory.md, section 7.

#include <algorithm>
#include <cmath>
#include <set>

#include "kinds.hpp"
#include "network.hpp"
#include "progress.hpp"
#include "symmetric.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {
namespace {

const Node& hidden(const Network& network) { return network.nodes()[0]; }
const Node& output(const Network& network) { return network.nodes()[2]; }

void expect_relu(const Network& network) {
  const std::vector<Node>& nodes = network.nodes();
  const bool fits = nodes.size() == 3 && nodes[0].op == "affine" && nodes[1].op == "activation" &&
                    nodes[2].op == "affine" && nodes[1].activation->kinked() &&
                    nodes[1].activation->slope() == 0 && nodes[0].moves && nodes[0].biases.empty() &&
                    nodes[2].biases.empty() && !nodes[2].moves && nodes[2].out == 1;
  if (!fits) {
    throw Open("existence on kinks is known of relu networks of two layers, one output and no biases alone");
  }
}

struct KinkRow {
  std::size_t point;
  std::size_t unit;  // of a kink; of an equation f(x) = y none
};

}  // namespace

// F(W) = sum over the units that are on of v_j <w_j, x>, A the rows of its derivative and of <x, w_j> at
// kinks. Within rho = ||(F - y, z of the kinks)||/s_min(A) lies a solution of all these equations; it is
// exact where no other sign changes.
std::string check_kinks(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(
      claim, where,
      {"kind", "text", "network", "points", "targets", "radius", "misfit", "lambda_min", "witness", "kinks"});
  const Bits bits(std::max<slong>(precision, 160));
  const Points points(folder, o.text("points"));
  const Network given(folder, o.text("network"), points.dimension());
  const Network network(folder, o.has("witness") ? o.text("witness") : o.text("network"), points.dimension());
  expect_relu(given);
  expect_relu(network);
  const Array& y = folder.reals(o.text("targets"));
  if (y.size() != points.rows() || o.has("misfit") || o.has("lambda_min")) {
    o.fail("targets are not as many as points, or misfit or lambda_min stands beside kinks");
  }
  const std::size_t m = hidden(network).out, d = points.dimension();
  if (hidden(given).out != m) {
    o.fail("the witness has another width");
  }
  Ball distance;
  for (std::size_t i = 0; i < m * d; ++i) {
    distance += square(hidden(given).weights[i] - hidden(network).weights[i]);
  }
  for (std::size_t j = 0; j < m; ++j) {
    if (!(abs(output(given).weights[j] - output(network).weights[j]) <= 0)) {
      o.fail("the witness has other output weights, which are not trained");
    }
  }
  std::set<std::pair<std::size_t, std::size_t>> kinks;
  if (o.has("kinks")) {
    const Array& list = folder.integers(o.text("kinks"), 2);
    if (list.columns() != 2) {
      o.fail("kinks are not of two columns");
    }
    for (std::size_t q = 0; q < list.rows(); ++q) {
      const std::int64_t i = list.integer(2 * q), j = list.integer(2 * q + 1);
      if (i < 0 || j < 0 || static_cast<std::size_t>(i) >= points.rows() ||
          static_cast<std::size_t>(j) >= m) {
        o.fail("a kink is not a row and a hidden unit");
      }
      kinks.emplace(i, j);  // of rows, and below of distinct points
    }
  }
  // Equal points are one equation, and kinks of any of them one of the first.
  const Distinct distinct(points);
  const std::size_t n = distinct.size();
  expect_equal_targets(distinct, y);
  std::set<std::pair<std::size_t, std::size_t>> at_rows;
  at_rows.swap(kinks);
  for (const auto& [i, j] : at_rows) {
    kinks.emplace(distinct.group[i], j);
  }
  std::vector<Balls> x(n), z(n);
  std::vector<std::vector<bool>> on(n, std::vector<bool>(m));
  std::vector<KinkRow> rows;
  Balls right;
  const Balls& v = output(network).weights;
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = points.row(distinct.first[i]);
    z[i] = apply_affine(hidden(network), x[i]);
    Ball f;
    for (std::size_t j = 0; j < m; ++j) {
      on[i][j] = !kinks.contains({i, j}) && z[i][j] > 0;
      if (on[i][j]) {
        f.add_product(v[j], z[i][j]);
      }
    }
    rows.push_back({i, m});
    right.push_back(f - Ball(y.real(distinct.first[i])));
  }
  for (const auto& [i, j] : kinks) {
    if (v[j].size() > 0) {
      rows.push_back({i, j});
      right.push_back(z[i][j]);
    }
  }
  const std::size_t size = rows.size();
  expect_memory(size, 8);
  Symmetric a(size);
  Progress progress("forming the equations", size);
  Balls squares(m);
  for (std::size_t j = 0; j < m; ++j) {
    squares[j] = square(v[j]);
  }
  for (std::size_t p = 0; p < size; ++p) {
    progress.at(p);
    for (std::size_t q = 0; q <= p; ++q) {
      const KinkRow& s = rows[p];
      const KinkRow& t = rows[q];
      Ball weight;
      if (s.unit == m && t.unit == m) {
        for (std::size_t j = 0; j < m; ++j) {
          if (on[s.point][j] && on[t.point][j]) {
            weight += squares[j];
          }
        }
      } else if (s.unit == m || t.unit == m) {
        const std::size_t unit = std::min(s.unit, t.unit);
        const std::size_t equation = s.unit == m ? s.point : t.point;
        weight = on[equation][unit] ? v[unit] : Ball(0);
      } else {
        weight = s.unit == t.unit ? 1 : 0;
      }
      const Ball entry = weight.size() == 0 ? Ball(0) : weight * dot(x[s.point], x[t.point]);
      const double value = entry.middle();
      a.set(p, q, value, (entry - Ball(value)).size());
    }
  }
  // rho has to leave the signs and fit into the radius.
  const Ball e = length(right);
  Ball rho = Ball(o.number("radius")) - sqrt(distance);
  for (std::size_t i = 0; i < n; ++i) {
    const Ball norm = length(x[i]);
    for (std::size_t j = 0; j < m; ++j) {
      if (!kinks.contains({i, j}) && v[j].size() > 0) {
        rho = min(rho, abs(z[i][j]) / norm);
      }
    }
  }
  const double most = rho.lower();
  if (!(most > 0)) {
    throw Open("a sign may change, or the witness is not within the radius");
  }
  const double needed = square(e / Ball(most)).upper();
  const Least least = least_eigenvalue(a, 1, needed);
  if (least.lower < needed) {
    throw Open("lambda_min(A A^T) would have to be " + up(needed) + ", and is at most " + up(least.upper));
  }
  return std::to_string(kinks.size()) + " kinks, misfit <= " + up(e.upper()) +
         ", lambda_min(A A^T) >= " + down(least.lower);
}

}  // namespace check
