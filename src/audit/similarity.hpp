#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/kernel/gram.hpp"

/// How alike two samples are, in [0, 1]: half the neural tangent kernel of a wide network on the sphere, half
/// exp(-mean |x_k - z_k|), the kernel of infinitely many cosine neurons with Cauchy weights (Rahimi & Recht
/// 2007). The first sees directions in all features together, the second single features, as trees do. Where
/// other features are derived from the samples, of patches of images or by somebody's model, it is, wholly or
/// for a part, the network's kernel of these.
namespace zeroloss::internal {

/// Points as numbers; n x 0 where these are not looked at.
struct Inputs {
  RowMatrix X;        ///< n x d, as given
  RowMatrix derived;  ///< n x p: features that something else made of them

  Inputs rows(Index begin, Index end) const;  ///< those from `begin` to before `end`
};

/// Features of points, ready to be compared. What counts for nothing has no columns.
struct Features {
  RowMatrix scaled;   ///< n x d
  RowMatrix ranks;    ///< n x d normal scores
  RowMatrix unit;     ///< n x (d + 1): (scaled, constant), divided by its length
  RowMatrix derived;  ///< n x (p + 1), likewise of those that were derived

  Index n() const { return std::max(unit.rows(), derived.rows()); }
  /// The matrices that are there.
  template <class F>
  static void each(const F& f) {
    for (RowMatrix Features::*part :
         {&Features::scaled, &Features::ranks, &Features::unit, &Features::derived})
      f(part);
  }
  Features rows(const std::vector<Index>& which) const;
};

/// Columns of training points, brought to one scale.
class Columns {
 public:
  Columns() = default;
  /// scale: columns, common or given, as for Similarity.
  Columns(const RowMatrix& X, const std::string& scale, bool ranks);

  Index width() const { return width_; }  ///< columns that are not constant, at least 1
  RowMatrix scaled(const RowMatrix& X) const;
  RowMatrix ranks(
      const RowMatrix& X) const;  ///< normal scores, interpolated between those of training points
  /// Rows of scaled() with a constant behind them, of length 1.
  RowMatrix unit(const RowMatrix& scaled) const;

 private:
  struct Column {
    double middle = 0, over = 0;             ///< scaled = (x - middle) over
    std::vector<double> values{}, scores{};  ///< distinct numbers, ascending, and their normal scores
  };
  /// f(column, number) of each number, 0 where the column is constant.
  template <class F>
  RowMatrix each(const RowMatrix& X, const F& f) const;

  std::vector<Column> columns_;
  Index width_ = 1;
};

/// What tile() knows beside the features.
struct SimilarityShape {
  bool ranks = false;
  Index width = 1;     ///< Columns::width()
  double derived = 0;  ///< share of the kernel of derived features, in [0, 1]; 1: others do not count
};

class Similarity {
 public:
  /// From training points, finite. scale: columns, common or given. columns: each column less its mean over
  /// its standard deviation, and beside it the normal scores of its ranks; common: columns less their means,
  /// all over one number; given: as they are. Constant columns count for nothing. derived: the share.
  Similarity(const Inputs& train, const std::string& scale, const std::string& activation, double derived);

  /// For tile() alone, of features made elsewhere.
  Similarity(const SimilarityShape& shape, const std::string& activation);

  const SimilarityShape& shape() const { return shape_; }
  const std::string& activation() const { return activation_; }

  /// Points with the columns of the training points.
  Features features(const Inputs& points) const;

  /// K[i stride + j] = k(a_i, b_j) for rows [i, i_end) of A and [j, j_end) of B, at most 256 each;
  /// `distances` gets mean |a_k - b_k| likewise, of derived features ||a - b||_2, unless it is
  /// null. k(x, x) = 1. On one thread.
  void tile(const Features& A, Index i, Index i_end, const Features& B, Index j, Index j_end, double* K,
            double* distances, Index stride) const;

 private:
  void tile_of_columns(const Features& A, Index i, Index i_end, const Features& B, Index j, Index j_end,
                       double* K, double* distances, Index stride) const;
  void add_derived(const Features& A, Index i, Index i_end, const Features& B, Index j, Index j_end,
                   double* K, double* distances, Index stride) const;

  SimilarityShape shape_;
  Columns columns_, derived_;
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
