#pragma once
#include <string>
#include <vector>

#include "memorize/exact_sums.hpp"
#include "zeroloss/memorize/memorizer.hpp"

/// One network, of a given hidden width (theory 11).
namespace zeroloss::internal {

/// What is to be memorised: the same for every width.
struct Memory {
  const Dataset& data;
  const Matrix* Y;  ///< n x r real-valued targets; null: classes, one output each
  const MemorizeOptions& options;
  Vector scale;  ///< d powers of two, which A_0 has taken in
  Index r = 0;
  double largest_target = 0;  ///< largest ||y|| of the real-valued ones
  Columns columns = {};       ///< of data.X, for float32
  ExactWeights exact = {};    ///< of the first layer of a float32 network, if there are any

  bool single() const { return options.precision == "float32"; }
  bool same_target(Index i, Index j) const {
    return Y == nullptr ? data.y(i) == data.y(j) : Y->row(i) == Y->row(j);
  }
};

/// Where the first layer looks from: z = A_0 (x - mean), or A_0 (x, 1), lengths of x by the scales.
struct Origin {
  std::string name;       ///< linear | constant | centred
  Vector mean = {};       ///< empty = 0
  double longest = 0;     ///< largest ||x - mean||
  bool constant = false;  ///< a constant feature is appended
};

struct Construction {
  Memorizer network;  ///< whole unless there is a failure
  Index n_distinct = 0;
  double min_margin = 0;
  std::vector<double> block_margins = {};
  std::vector<Index> points = {};    ///< the point whose image neuron a is
  std::vector<Index> neurons = {};   ///< of every point, the neuron of its image; norm_ordered
  std::vector<Sample> closest = {};  ///< as in MemorizeResult
  std::string failure = {};          ///< why there is no network, in a sentence
};

/// "samples 3 (label a) and 5 (label b)"; of fewer than two, codes take the others' place.
std::string names(const std::vector<Sample>& points);

/// Throws DataError for equal points with different targets, ResourceError, Interrupted.
Construction construct(const Memory& memory, const Origin& origin, Index hidden, Progress& progress);

// ---- its parts ----

/// x as the network stores it.
inline double stored(double x, bool single) {
  return single ? static_cast<double>(static_cast<float>(x)) : x;
}

/// r unit vectors of R^k, far apart: +-1 for k = 1, evenly on the circle for k = 2, otherwise each the best
/// of some random candidates.
RowMatrix unit_codes(Index r, Index k, std::uint64_t seed);

/// The points as a construction sees them: row a of U (padded with rows of 0 to whole blocks) is the image
/// z_a of point rows[a]. Codes are what the blocks move them to.
struct Images {
  std::vector<Index> rows;
  Vector squares;    ///< ||z_a||^2
  RowMatrix Q;       ///< r x k, codes of classes
  double scale = 1;  ///< real-valued targets: the code of y is scale (y, 0), a power of two

  Index count() const { return static_cast<Index>(rows.size()); }
};

/// Thresholds t_a for every image: s of the blocks, and margins, the lesser of ||z_a||^2 - t_a and t_a - p_a,
/// divided by ||z_a||^2 as stored (theory 11); then V. Fills in network.s, network.V and `margins`.
void order_by_norm(const Memory& memory, const Images& images, Memorizer& network, Vector& margins,
                   Progress& progress);

/// The conditions of [HM, Lemma B.2] as corrected in theory 11, on images of points and codes of unit length.
struct PaperCheck {
  double rho = 0;               ///< rho' of the construction; 0 if there is none
  double product = 0;           ///< no inner product of two of them is larger
  Index first = 0, second = 0;  ///< the first pair that violates them: images, then codes
  std::string failure = {};     ///< by how much; empty if they hold
};
PaperCheck check_paper(const Images& images, const RowMatrix& Z, Progress& progress);

/// The same threshold t, about 1 - 2 rho', for every image: fills in as order_by_norm does.
void apply_paper(const Memory& memory, const Images& images, const PaperCheck& check, double t,
                 Memorizer& network, Vector& margins);

/// V of block `block` from the inner products G of its images and their thresholds, as stored: the images
/// move to their codes. V T = (q_i - z_i), T_ai = relu(<z_a, z_i> - t_a) lower triangular.
void solve_block(const Memory& memory, const Images& images, Index block, const Eigen::Ref<const Matrix>& G,
                 Memorizer& network);

}  // namespace zeroloss::internal
