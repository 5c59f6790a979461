#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/kernel/gram.hpp"

/// How alike two samples are, in [0, 1]: half the neural tangent kernel of a wide network on the sphere, half
/// exp(-mean |x_k - z_k|), the kernel of infinitely many cosine neurons with Cauchy weights (Rahimi & Recht
/// 2007). The first sees directions in all features together, the second single features, as trees do.
namespace zeroloss::internal {

/// Features of points, ready to be compared.
struct Features {
  RowMatrix scaled;  ///< n x d
  RowMatrix ranks;   ///< n x d normal scores, or empty
  RowMatrix unit;    ///< n x (d + 1): (scaled, constant), divided by its length

  Index n() const { return scaled.rows(); }
  Features rows(const std::vector<Index>& which) const;
};

class Similarity {
 public:
  /// From training points, n x d, finite. scale: columns, common or given. columns: each column less its mean
  /// over its standard deviation, and beside it the normal scores of its ranks; common: columns less their
  /// means, all over one number; given: as they are. Constant columns count for nothing.
  Similarity(const RowMatrix& X, const std::string& scale, const std::string& activation);

  /// For tile() alone, of features made elsewhere: whether they have ranks, and width() there.
  Similarity(bool ranks, Index width, const std::string& activation);

  Index width() const { return width_; }  ///< columns that are not constant, at least 1
  const std::string& activation() const { return activation_; }

  /// Points with the columns of the training points. Ranks of new numbers are interpolated.
  Features features(const RowMatrix& X) const;

  /// K[i stride + j] = k(a_i, b_j) for rows [i, i_end) of A and [j, j_end) of B, at most 256 each;
  /// `distances` gets mean |a_k - b_k| likewise, unless it is null. k(x, x) = 1. On one thread.
  void tile(const Features& A, Index i, Index i_end, const Features& B, Index j, Index j_end, double* K,
            double* distances, Index stride) const;

 private:
  struct Column {
    double middle = 0, over = 0;             ///< scaled = (x - middle) over
    std::vector<double> values{}, scores{};  ///< distinct numbers, ascending, and their normal scores
  };
  std::vector<Column> columns_;
  bool ranks_;
  Index width_;
  std::string activation_;
  Kernel kernel_;
  double at_one_;
};

constexpr Index kSide = 256;  ///< of tiles

/// Of every sample its nearest other one.
struct Nearest {
  std::vector<Index> index;
  std::vector<double> distance;  ///< infinite where there is no other
};

/// An empty table of nearest neighbours, for n samples.
Nearest nobody(Index n);
/// Keeps what is nearer, of equals the one before: the order of offers does not matter.
void offer(Nearest& nearest, Index i, Index j, double distance);
void join(Nearest& all, const Nearest& more);

/// The kernel of all pairs; `nearest` is filled unless it is null. Tiles of fixed size, one thread a tile: no
/// bit depends on the number of threads. n^2 d subtractions and as many multiply-adds.
Packed<double> similarities(const Similarity& similarity, const Features& A, Nearest* nearest,
                            Progress& progress);

/// k(a_i, b_j), rows of A beside all of B, and the nearest of B's rows to each of A's, unless it is null.
RowMatrix similarities(const Similarity& similarity, const Features& A, const Features& B, Nearest* nearest);

}  // namespace zeroloss::internal
