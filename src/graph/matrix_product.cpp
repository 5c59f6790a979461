#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/broadcast.hpp"
#include "graph/product.hpp"
#include "linalg/lapack.hpp"

// Products of two matrices that both depend on the sample, as attention has them.
namespace zeroloss::internal::graph {
namespace {

using Block = Eigen::Map<const RowMatrix>;

// The matrices of a value: their sizes, and the shape in front of them.
struct Stack {
  Index rows, cols;
  Shape ahead;
};

Stack stack_of(const Value& x, bool row) {
  if (x.shape.size() == 1) return {row ? 1 : x.shape[0], row ? x.shape[0] : 1, {}};
  return {x.shape[x.shape.size() - 2], x.shape.back(), {x.shape.begin(), x.shape.end() - 2}};
}

// |A| with what A may be off by; of the sum of both ||A + dA|| is at most the smaller one of its Frobenius
// norm and sqrt(||A||_1 ||A||_inf).
double norm_above(const RowMatrix& size) {
  const double rows = size.rowwise().sum().maxCoeff<Eigen::PropagateNaN>(),
               cols = size.colwise().sum().maxCoeff<Eigen::PropagateNaN>();
  return smaller(length_above(size.data(), size.size()), std::sqrt(rows * kUp) * std::sqrt(cols * kUp) * kUp);
}

// One product, and bounds of what its entries are off by, beside rounding and errors of both factors.
struct One {
  Block A, A_error, B, B_error;  // no rows: exact
  RowMatrix A_size = {}, B_size = {};

  void multiply(const Rounding& r, double* Y, double* Y_error) {
    const Index m = A.rows(), k = A.cols(), p = B.cols();
    Eigen::Map<RowMatrix> y(Y, m, p), error(Y_error, m, p);
    const auto [both, runtime] = roundings_of_terms(k, r);
    A_size = A.cwiseAbs();
    B_size = B.cwiseAbs();
    RowMatrix weight = both * B_size;
    if (A_error.size() > 0) A_size += A_error;
    if (B_error.size() > 0) B_size += B_error, weight += (1 + runtime) * B_error;
    if (r.precise)
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < p; ++j) {
          long double sum = 0;
          for (Index t = 0; t < k; ++t) sum += static_cast<long double>(A(i, t)) * B(t, j);
          y(i, j) = static_cast<double>(sum);
        }
    else
      lapack::gemm('N', 'N', p, m, k, 1.0, B.data(), p, A.data(), k, 0.0, Y, p);
    lapack::gemm('N', 'N', p, m, k, 1.0, weight.data(), p, A_size.data(), k, 0.0, Y_error, p);
    if (A_error.size() > 0)
      lapack::gemm('N', 'N', p, m, k, 1.0, B_size.data(), p, A_error.data(), k, 1.0, Y_error, p);
    const bool fits = A_size.maxCoeff<Eigen::PropagateNaN>() < r.factor_largest &&
                      B_size.maxCoeff<Eigen::PropagateNaN>() < r.factor_largest;
    const Vector of_rows = A_size.rowwise().sum(), of_cols = B_size.colwise().sum();
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < p; ++j) {
        double& e = error(i, j);
        e = (e + lost_of_terms(k, of_rows(i) + of_cols(j), r) + u * std::abs(y(i, j))) * kUp + kTiny;
        if (!(fits && std::isfinite(y(i, j)) && (r.exact() || e / both < r.largest))) e = kInfinite;
      }
  }
};

}  // namespace

Value product_of_two(const Call& call, const Value& A, const Value& B) {
  const Stack a = stack_of(A, true), b = stack_of(B, false);
  if (a.cols != b.rows)
    call.refuse(fmt::format("it multiplies matrices of {} columns and of {} rows", a.cols, b.rows));
  const Value before{.type = A.type, .shape = a.ahead, .h = {}, .e = {}, .eps = {}},
      behind{.type = B.type, .shape = b.ahead, .h = {}, .e = {}, .eps = {}};
  const Shape ahead = spread_shape(call, {&before, &behind});
  const auto of_A = spread_places(a.ahead, ahead), of_B = spread_places(b.ahead, ahead);
  Shape shape = ahead;
  if (A.shape.size() > 1) shape.push_back(a.rows);
  if (B.shape.size() > 1) shape.push_back(b.cols);
  Value made = blank(A.type, std::move(shape), A.varies || B.varies, std::max(A.h.rows(), B.h.rows()));
  made.terms = a.cols;
  const Rounding r = call.rounding(made);
  const auto [both, runtime] = roundings_of_terms(a.cols, r);
  const Index from_A = a.rows * a.cols, from_B = b.rows * b.cols, to = a.rows * b.cols;
  const auto of = [](const RowMatrix& all, Index row, Index place, Index rows, Index cols) {
    return all.size() == 0 ? Block(nullptr, 0, 0)
                           : Block(all.row(row).data() + place * rows * cols, rows, cols);
  };
  const double copies_A = std::sqrt(static_cast<double>(of_A.size() * static_cast<std::size_t>(from_A)) /
                                    static_cast<double>(A.size())) *
                          kUp,
               copies_B = std::sqrt(static_cast<double>(of_B.size() * static_cast<std::size_t>(from_B)) /
                                    static_cast<double>(B.size())) *
                          kUp;
  Vector known(made.h.rows());
  for (Index i = 0; i < made.h.rows(); ++i) {
    const Index row_A = A.varies ? i : 0, row_B = B.varies ? i : 0;
    double norm_A = 0, norm_B = 0, sizes = 0;
    for (std::size_t s = 0; s < of_A.size(); ++s) {
      One one{of(A.h, row_A, of_A[s], a.rows, a.cols), of(A.e, row_A, of_A[s], a.rows, a.cols),
              of(B.h, row_B, of_B[s], b.rows, b.cols), of(B.e, row_B, of_B[s], b.rows, b.cols)};
      const auto place = static_cast<Index>(s) * to;
      one.multiply(r, made.h.row(i).data() + place, made.e.row(i).data() + place);
      norm_A = std::max(norm_A, norm_above(one.A_size));
      norm_B = std::max(norm_B, norm_above(one.B_size));
      sizes += one.A_size.sum() + one.B_size.sum();
    }
    // (A + dA) dB + dA B, and what is rounded, of ||A|| ||B|| in the Frobenius norm.
    const double off_A = A.exact() ? 0 : A.eps(row_A), off_B = B.exact() ? 0 : B.eps(row_B);
    const double length_A = (length_above(A.h.row(row_A).data(), A.size()) + off_A) * copies_A,
                 length_B = (length_above(B.h.row(row_B).data(), B.size()) + off_B) * copies_B;
    known(i) = (norm_A * off_B * copies_B + off_A * copies_A * norm_B + both * length_A * length_B +
                u * length_above(made.h.row(i).data(), made.size()) +
                std::sqrt(static_cast<double>(made.size())) * lost_of_terms(a.cols, sizes, r)) *
                   kUp +
               kTiny * static_cast<double>(made.size());
    if (!made.e.row(i).allFinite()) known(i) = kInfinite;
  }
  settle(made, known);
  return made;
}

}  // namespace zeroloss::internal::graph
