#pragma once
#include "zeroloss/network/network.hpp"

/// Networks that begin at zero: hidden units in pairs, whose output weights cancel (theory 7).
namespace zeroloss {

/// Draws of which a pair takes the one whose boundary is farthest from every point, for a phi with a kink; of
/// those with a quarter to three quarters of the points on either side, for others tell too few apart.
constexpr Index kCandidates = 64;

/// width = 2 q: W = (w_1 .. w_q, w_1 .. w_q), v = output_scale/sqrt(width) (1 .. 1, -1 .. -1), so f = 0 at
/// every point. w_j is N(0, I); where phi has a kink, that one of 64 draws which splits the rows of X with
/// the largest min_i |<w, x_i>|/||x_i||. More pairs of the same seed begin with the same ones; `scaling`, n
/// and norm_y are not looked at. Cost: 64 q n d multiply-adds. Throws std::invalid_argument for an odd width,
/// points of other than d features, and what draw() refuses.
TwoLayer draw_pairs(const Draw& start, const Activation& activation, const RowMatrix& X);

/// Gives pairs the output weights that they are drawn with for this scale, > 0.
void scale_pairs(TwoLayer& pairs, double output_scale);

}  // namespace zeroloss
