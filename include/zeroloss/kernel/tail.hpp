#pragma once
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/kernel/deep.hpp"
#include "zeroloss/kernel/engine.hpp"
#include "zeroloss/kernel/row_blocks.hpp"
#include "zeroloss/kernel/separation.hpp"

/// A proven lower bound of a kernel's lambda_min without the matrix: O(n^2 d) time, O(n d) memory (theory 3).
namespace zeroloss {

/// One pass over all pairs of points.
struct TailPass {
  double lambda_min = 0;  ///< what it proves; 0 where that is nothing
  double seconds = 0;
};
template <Is<TailPass> T, class Visitor>
void fields(T& p, const Visitor& visit) {
  visit(Field{"lambda_min", "What the pass proves; 0 where that is nothing."}, p.lambda_min);
  visit(Field{"seconds"}, p.seconds);
}

/// Of the kernel sum of c_r G^(o r) only the powers r >= N are kept: tau_N on the diagonal, and beside it
/// less than that in every row.
struct TailBound {
  double lambda_min = 0;           ///< the best of all passes, proven; 0 where they prove nothing
  double product = 0;              ///< proven lower bound of lambda_min(G o G); 0 where nothing is proved
  Index power = 1;                 ///< N of the best pass; 1 keeps all but c_0
  double diagonal = 0;             ///< tau_N, rounded down
  double row_sum = 0;              ///< largest weighted sum beside the diagonal, rounded up
  Index row = 0;                   ///< where it is: the point that holds the bound down
  Vector parts = {};               ///< n: what each point has in that row, itself diagonal; >= 0, sum 1
  std::vector<TailPass> passes;    ///< the first with weights 1
  std::vector<Pair> closest = {};  ///< as those of Gram
  Index near_pairs = 0;            ///< so
  double separation = 0;           ///< so
};
template <Is<TailBound> T, class Visitor>
void fields(T& b, const Visitor& visit) {
  visit(Field{"power", "N: of the kernel the powers rho^r, r >= N, are kept."}, b.power);
  visit(Field{"diagonal", "tau_N, the sum of their coefficients, rounded down."}, b.diagonal);
  visit(Field{"row_sum", "Largest weighted sum of a row beside the diagonal, rounded up."}, b.row_sum);
  visit(Field{"passes", "Over all pairs, the first with weights 1."}, b.passes);
}

/// For the rows of X, n x d, unit length to the accuracy of normalize_rows, and one of the library's
/// activations: lambda_min of tangent(activation, depth) >= tau_N - max_i sum over j of t_N(|rho_ij|)
/// w_j/w_i, the best N of a grid; `passes` >= 1, each further one with weights w that the one before found.
/// Inner products are float32, with their error; pairs that this error would blur are measured in double.
/// Holds for the exactly normalised rows; no result depends on the number of threads. Cost of a pass: n^2 d/2
/// multiply-adds in float32 and some 50 n^2 more; memory 4 n d + 384 n bytes. Throws std::invalid_argument
/// for a user's activation, a depth out of range, more than 2^20 features, values that are not finite or
/// passes < 1; ResourceError; Interrupted when cancelled.
TailBound tail_bound(const RowMatrix& X, const Activation& activation, const Depth& depth, Index passes,
                     Progress& progress);

/// The same with two blocks of rows in memory, 12 bytes a number: the others are read for every block that is
/// compared with them. Sums are added in another order, so that the last digits may differ.
TailBound tail_bound(const RowBlocks& X, const Activation& activation, const Depth& depth, Index passes,
                     Progress& progress);
TailBound tail_bound(const RowBlocks& X, const Activation& activation, const Depth& depth, Index passes,
                     Progress& progress, Engine& engine);

}  // namespace zeroloss
