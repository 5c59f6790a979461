#include <algorithm>
#include <cmath>

#include "split.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {
namespace {

// The largest eigenvalue of the tridiagonal matrix with `diagonal` and `beside` it, computed by the power
// method, of which a step costs little here; x becomes its vector.
double largest_of_tridiagonal(const std::vector<double>& diagonal, const std::vector<double>& beside,
                              std::vector<double>& x) {
  const std::size_t n = diagonal.size();
  std::vector<double> y(n);
  x.assign(n, 1);
  double norm = 0;
  for (int step = 0; step < 20000; ++step) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = diagonal[i] * x[i] + (i > 0 ? beside[i - 1] * x[i - 1] : 0) +
             (i + 1 < n ? beside[i] * x[i + 1] : 0);
      squares += y[i] * y[i];
    }
    const double now = std::sqrt(squares);
    if (now == 0 || std::fabs(now - norm) < 1e-15 * now) {
      return now;
    }
    norm = now;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = y[i] / now;
    }
  }
  return norm;
}

// The largest eigenvalue, computed by Lanczos's method; x becomes a vector that shows it. Each new direction
// is made orthogonal to all before it, twice.
double estimated(const Symmetric& a, std::vector<double>& x) {
  const std::size_t n = a.size(), most = std::min<std::size_t>(n, 200);
  std::vector<std::vector<double>> q;
  std::vector<double> diagonal, beside, y(n);
  const auto times = [&](const std::vector<double>& u, const std::vector<double>& v) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += u[i] * v[i];
    }
    return sum;
  };
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = 1 + std::sin(static_cast<double>(i));
  }
  double scale = 0;
  for (double norm = std::sqrt(times(y, y)); q.size() < most && norm > 1e-14 * scale;) {
    for (double& value : y) {
      value /= norm;
    }
    q.push_back(y);
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = 0;
      for (std::size_t j = 0; j < n; ++j) {
        y[i] += a.get(i, j) * q.back()[j];
      }
    }
    diagonal.push_back(times(q.back(), y));
    scale = std::max(scale, std::fabs(diagonal.back()));
    for (int twice = 0; twice < 2; ++twice) {
      for (const std::vector<double>& before : q) {
        const double part = times(before, y);
        for (std::size_t i = 0; i < n; ++i) {
          y[i] -= part * before[i];
        }
      }
    }
    norm = std::sqrt(times(y, y));
    beside.push_back(norm);
  }
  std::vector<double> parts;
  const double largest = largest_of_tridiagonal(diagonal, beside, parts);
  x.assign(n, 0);
  for (std::size_t k = 0; k < q.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += parts[k] * q[k][i];
    }
  }
  return largest;
}

// The smaller of the two matrices of inner products, of rows or of columns.
Symmetric smaller_gram(std::size_t rows, std::size_t columns, const std::vector<double>& numbers) {
  if (columns > rows) {
    return inner_products(rows, columns, numbers);
  }
  std::vector<double> turned(numbers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      turned[j * rows + i] = numbers[i * columns + j];
    }
  }
  return inner_products(columns, rows, turned);
}

bool at_most(Symmetric& gram, double bound) {
  const double square = std::nextafter(bound * bound, 0.0);
  return least_eigenvalue(gram, -1, -square).lower >= -square;
}

}  // namespace

Symmetric inner_products(std::size_t rows, std::size_t columns, const std::vector<double>& numbers) {
  double longest = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < columns; ++k) {
      sum += numbers[i * columns + k] * numbers[i * columns + k];
    }
    longest = std::max(longest, sum);
  }
  Symmetric a(rows);
  const Grid grid(root_up(longest), columns);
  const double error = grid.error(static_cast<double>(columns));
  const auto from = [&](std::size_t first) {
    return Rows{grid,
                [&, first](std::size_t i, std::size_t k) { return numbers[(first + i) * columns + k]; }};
  };
  Multiplier multiplier;
  Products product;
  for (std::size_t i0 = 0; i0 < rows; i0 += kTile) {
    for (std::size_t j0 = 0; j0 <= i0; j0 += kTile) {
      multiplier.products(std::min(kTile, rows - i0), from(i0), std::min(kTile, rows - j0), from(j0), columns,
                          product);
      for (std::size_t i = i0; i < std::min(rows, i0 + kTile); ++i) {
        for (std::size_t j = j0; j < std::min({rows, j0 + kTile, i + 1}); ++j) {
          const double value = product.high.at(i - i0, j - j0) + product.low.at(i - i0, j - j0);
          a.set(i, j, value, kUnit * std::fabs(value) * 1.001 + error);
        }
      }
    }
  }
  return a;
}

bool norm_at_most(std::size_t rows, std::size_t columns, const std::vector<double>& numbers, double bound) {
  if (!(bound > 0)) {
    return bound == 0 && std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
  }
  Symmetric a = smaller_gram(rows, columns, numbers);
  return at_most(a, bound);
}

double spectral_norm(std::size_t rows, std::size_t columns, const std::vector<double>& numbers, double off) {
  Ball all;
  for (const double x : numbers) {
    all += square(Ball(x));
  }
  const double frobenius = (sqrt(all) + Ball(off)).upper();
  if (std::min(rows, columns) == 1 || frobenius < 1e-100) {
    return frobenius;
  }
  Symmetric a = smaller_gram(rows, columns, numbers);
  std::vector<double> x;
  const double norm = std::sqrt(estimated(a, x));
  for (double more = 1e-12; more < 0.1; more *= 30) {
    const double bound = norm * (1 + more);
    if (at_most(a, bound)) {
      return (bound + off) * (1 + 1e-15);
    }
  }
  return frobenius;
}

Ball norm_between(std::size_t rows, std::size_t columns, const std::vector<double>& numbers, double off) {
  const Symmetric a = smaller_gram(rows, columns, numbers);
  std::vector<double> x;
  estimated(a, x);
  const Ball least = max(sqrt(a.rayleigh(x)) - Ball(off), 0),
             most = spectral_norm(rows, columns, numbers, off);
  return Ball::make([&](arb_t z) { arb_union(z, least.get(), most.get(), precision); });
}

void expect_equal_targets(const Distinct& distinct, const Array& y) {
  for (std::size_t i = 0; i < distinct.group.size(); ++i) {
    const std::size_t first = distinct.first[distinct.group[i]];
    for (std::size_t k = 0; k < y.columns(); ++k) {
      if (y.real(i * y.columns() + k) != y.real(first * y.columns() + k)) {
        throw False("points " + std::to_string(first) + " and " + std::to_string(i) +
                    " are equal and have different targets");
      }
    }
  }
}

Balls residual_at(const Distinct& distinct, const std::vector<Balls>& outputs, const Array& y,
                  const Object& o) {
  const std::size_t width = outputs[0].size();
  if (y.rows() != distinct.group.size() || y.columns() != width) {
    o.fail("targets are not of a row for each point and a column for each output");
  }
  expect_equal_targets(distinct, y);
  Balls r;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    const Ball root = sqrt(Ball(distinct.count[i]));
    for (std::size_t k = 0; k < width; ++k) {
      r.push_back(root * (outputs[i][k] - Ball(y.real(distinct.first[i] * width + k))));
    }
  }
  return r;
}

}  // namespace check
