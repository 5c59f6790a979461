#pragma once
#include <optional>

#include "graph/operators.hpp"

/// Products of matrices, and how far they are off.
namespace zeroloss::internal::graph {

/// What the roundings of a sum of so many products are, there and here, of the sum of their absolute values;
/// those of a runtime alone in the second.
std::pair<double, double> roundings_of_terms(Index terms, const Rounding& r);
/// What such a sum may lose to underflow where all its factors are at most `size` in sum.
double lost_of_terms(Index terms, double size, const Rounding& r);

/// W (m x k) and b (m), or none, which may be off themselves; ||W||, where it is known already.
class Product {
 public:
  Product(RowMatrix W, RowMatrix W_error, Vector b, Vector b_error, std::optional<double> spectral = {});

  Index outputs() const { return W_.rows(); }
  Index inputs() const { return W_.cols(); }
  double spectral() const { return spectral_; }  ///< ||W|| and more
  double frobenius() const { return frobenius_; }

  /// Y = X W^T + b of `rows` rows of k numbers, with their errors (null: exact); length_error (rows, null:
  /// exact) is what each is off by in the 2-norm. Writes rows x m.
  void of_rows(const double* X, const double* X_error, const double* length_error, Index rows,
               const Rounding& r, double* Y, double* Y_error) const;
  /// Y = W X + b of `columns` columns, k x columns row-major; each is off by at most length_error.
  void of_columns(const double* X, const double* X_error, double length_error, Index columns,
                  const Rounding& r, double* Y, double* Y_error) const;

  /// What all outputs of a sample are off by in the 2-norm, where `positions` products take numbers of 2-norm
  /// `length` together, which are off by `off`; each number goes into `overlap` of them at most.
  double length_of_error(double length, double off, double overlap, double positions,
                         const Rounding& r) const;
  /// Of this what is rounded here, without what came.
  double length_of_rounding(double length, double off, double overlap, double positions,
                            const Rounding& r) const;

 private:
  RowMatrix W_, W_error_, size_;  // size: |W| with its error
  Vector b_, b_error_;
  Vector row_length_, row_sum_, row_error_;  // of |W| with errors: 2-norm and sum; 2-norm of the errors
  double spectral_, frobenius_, error_length_, b_length_, largest_;
};

/// A B of two values, matrices in their last two axes, spread over the axes in front as NumPy does it.
Value product_of_two(const Call& call, const Value& A, const Value& B);

}  // namespace zeroloss::internal::graph
