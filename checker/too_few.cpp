// Widths that are too few: the rank of the points, in whole numbers.

#include <algorithm>

#include "activation.hpp"
#include "kinds.hpp"
#include "points.hpp"
#include "progress.hpp"
#include "verdict.hpp"
#include "whole.hpp"

namespace check {
namespace {

constexpr std::size_t kMostForElimination = 400;

class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) {
    fmpz_mat_init(m_, static_cast<slong>(rows), static_cast<slong>(columns));
  }
  ~Matrix() { fmpz_mat_clear(m_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  fmpz* at(std::size_t i, std::size_t j) {
    return fmpz_mat_entry(m_, static_cast<slong>(i), static_cast<slong>(j));
  }
  fmpz_mat_struct* get() { return m_; }

 private:
  fmpz_mat_t m_;
};

// Columns that are neither 0 nor equal to an earlier one. Rows may be multiplied by any numbers without a
// change of it.
std::vector<std::size_t> different_columns(Matrix& x, std::size_t rows, std::size_t columns) {
  std::vector<std::size_t> order, found;
  for (std::size_t j = 0; j < columns; ++j) {
    order.push_back(j);
  }
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (const int c = fmpz_cmp(x.at(i, a), x.at(i, b)); c != 0) {
        return c;
      }
    }
    return 0;
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
  for (std::size_t p = 0; p < columns; ++p) {
    bool zero = true;
    for (std::size_t i = 0; i < rows && zero; ++i) {
      zero = fmpz_is_zero(x.at(i, order[p])) != 0;
    }
    if (!zero && (p == 0 || compare(order[p - 1], order[p]) != 0)) {
      found.push_back(order[p]);
    }
  }
  return found;
}

}  // namespace

std::string check_too_few(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "points", "activation", "width", "rank_at_most", "biases"});
  const Points points(folder, o.text("points"));
  const std::size_t width = o.count("width", std::size_t{1} << 31);
  const std::size_t most = o.count("rank_at_most", std::size_t{1} << 31);
  const Activation activation(o.at("activation"), where);
  const std::size_t n = points.rows(), d = points.dimension();

  // Of rows that were divided by their lengths a column of ones has no whole numbers: it adds 1 at most.
  const bool ones = o.truth("biases") && !points.unit();
  const std::size_t beside = o.truth("biases") && points.unit() ? 1 : 0;
  Matrix x(n, d + (ones ? 1 : 0));
  const Distinct distinct(points);
  Progress progress("reading points", n);
  for (std::size_t i = 0; i < n; ++i) {
    progress.at(i);
    Balls row = points.exact_row(i);
    if (ones) {
      row.emplace_back(1.0);
    }
    Whole whole(row);
    whole.primitive();
    for (std::size_t j = 0; j < row.size(); ++j) {
      fmpz_set(x.at(i, j), whole.data() + j);
    }
  }

  const std::vector<std::size_t> columns = different_columns(x, n, d + (ones ? 1 : 0));
  std::size_t rank = std::min(n, columns.size());
  bool exact = false;
  if (rank + beside > most && columns.size() <= kMostForElimination) {
    // rank(X) = rank(X^T X)
    Matrix left(columns.size(), n), right(n, columns.size()), gram(columns.size(), columns.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        fmpz_set(left.at(j, i), x.at(i, columns[j]));
        fmpz_set(right.at(i, j), x.at(i, columns[j]));
      }
    }
    fmpz_mat_mul(gram.get(), left.get(), right.get());
    fmpz_t denominator;
    fmpz_init(denominator);
    rank = static_cast<std::size_t>(fmpz_mat_rref(gram.get(), denominator, gram.get()));
    fmpz_clear(denominator);
    exact = true;
  }
  rank += beside;
  const std::string found = std::to_string(distinct.size()) + " different points of rank " +
                            (exact && beside == 0 ? "" : "at most ") + std::to_string(rank);
  if (rank > most) {
    if (exact && beside == 0) {
      throw False(found);
    }
    throw Open(found + ": the rank was not found");
  }
  const std::size_t least = std::min(most, rank);
  const bool parameters = width * least < distinct.size();
  const bool squares = activation.name() == "quadratic" && least * (least + 1) / 2 < distinct.size();
  if (!parameters && !squares) {
    throw False(found + ": " + std::to_string(width) + " units are not fewer than these ask for");
  }
  return found;
}

}  // namespace check
