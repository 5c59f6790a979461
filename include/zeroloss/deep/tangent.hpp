#pragma once
#include <vector>

#include "zeroloss/deep/network.hpp"

/// The tangent kernel of a given network, also called its empirical NTK (theory 16).
namespace zeroloss {

/// J J^T, N x N with N = n K, of rows of X (n x d): entry (i K + k, j K + p) is the inner product of the
/// gradients of output k at point i and output p at point j, in the weights of the layers that move (L hidden
/// ones, then the output layer; empty = all). J itself, N times the weights, is never formed. Cost: N times
/// the weights, and N^2/2 times the units; memory 8 N^2 bytes and some 16 N times the units. Bits do not
/// depend on threads. Throws DataError for points that do not fit the network, std::invalid_argument for
/// another number of layers, ResourceError, Interrupted.
Matrix tangent_kernel(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                      const std::vector<bool>& moving = {}, const Progress& progress = {});

}  // namespace zeroloss
