#pragma once
#include <memory>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/deep/network.hpp"

/// The tangent kernel of a given network, also called its empirical NTK (theory 16): J J^T, N x N with N = n
/// K, of rows of X (n x d). Entry (i K + k, j K + p) is the inner product of the gradients of output k at
/// point i and output p at point j, in the weights of the layers that move: `moving` has a flag for each of L
/// hidden ones, then the output layer; empty = all. J itself, N times the weights, is never formed. Bits do
/// not depend on threads. All throw DataError for points that do not fit the network, std::invalid_argument
/// for another number of layers, ResourceError, Interrupted.
namespace zeroloss {

namespace internal {
struct TangentFactors;
}

/// All of it. Cost: N times the weights, and N^2/2 times the units; memory 8 N^2 bytes and some 16 N times
/// the units.
Matrix tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                      const std::vector<bool>& moving = {}, const Progress& progress = {});

/// It as the factors of J, of which its rows and its products with vectors are made: some 16 N times the
/// units bytes, whatever N^2 is.
struct TangentKernel {
  Index points = 0, outputs = 0;
  std::shared_ptr<const internal::TangentFactors> factors = {};

  Index side() const { return points * outputs; }  ///< N
};
/// Cost: N times the weights.
TangentKernel factored_tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                      const std::vector<bool>& moving = {}, const Progress& progress = {});

/// Rows of points first to first + count - 1, count K x N, with the bits of tangent_kernel(). Cost: count K N
/// times the units, for whole tiles of points_together(). Throws std::invalid_argument for points that are
/// not there.
RowMatrix rows_of(const TangentKernel& kernel, Index first, Index count, const Progress& progress = {});
/// Points of which rows are best asked for together, or a multiple of it.
Index points_together(const TangentKernel& kernel);

/// J (J^T V) for V of N x m. Cost: m times (n times the weights + N times the units), far less than that of
/// rows. Throws std::invalid_argument for V of other rows.
Matrix product(const TangentKernel& kernel, const Matrix& V, const Progress& progress = {});
Vector diagonal(const TangentKernel& kernel);  ///< of N numbers

/// lambda_min(J J^T).
struct TangentLambdaMin {
  bool verified = false;
  double lambda_min = 0;  ///< verified: lower bound in exact arithmetic, rounding included, > 0; else 0
  double estimate = 0;    ///< as computed
  std::string method;     ///< how `estimate` was made
  std::string reason;     ///< why there is no bound; empty: verified
};
template <Is<TangentLambdaMin> T, class Visitor>
void fields(T& l, const Visitor& visit) {
  visit(Field{"verified", "`lambda_min` is a lower bound in exact arithmetic, rounding included."},
        l.verified);
  visit(Field{"lambda_min", "That bound; 0 if none is proved."}, l.lambda_min);
  visit(Field{"estimate", "As computed; where that is said from above."}, l.estimate);
  visit(Field{"method", "How the estimate was made."}, l.method);
  visit(Field{"reason", "Why there is no bound; empty where there is one."}, l.reason);
}

/// Verified where J J^T fits into memory packed, 4 N^2 bytes and some 30 N times the units, by three
/// factorisations, N^3/6 multiply-adds each. Elsewhere `estimate` is the least Ritz value of Lanczos on J
/// J^T, which is at or above the true one, but for rounding.
TangentLambdaMin tangent_lambda_min(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                    const std::vector<bool>& moving, Progress& progress);

namespace internal {
/// The same for so many bytes of memory.
TangentLambdaMin tangent_lambda_min_within(double bytes, const DeepNetwork& network,
                                           const Eigen::Ref<const RowMatrix>& X,
                                           const std::vector<bool>& moving, Progress& progress);
}  // namespace internal

}  // namespace zeroloss
