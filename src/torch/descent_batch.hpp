#pragma once
#include <torch/types.h>

#include <memory>
#include <vector>

#include "torch/cuda.hpp"
#include "zeroloss/network/descents.hpp"

namespace zeroloss::internal {

/// Relu networks side by side in tensors: W is networks x m x d, every product a batched one. Smaller ones
/// are filled up: with points 0 whose target is 0, inputs that are 0 everywhere, neurons of output weight 0.
/// These add zeros to sums, and none of their weights ever moves. A step is a fixed list of operations on
/// tensors that stay where they are, whether networks have ended or not: those that have keep their weights.
/// So it can be recorded.
class DescentBatch {
 public:
  /// The networks at `places` of the list, which must outlive it. X, y, v, step and start are rounded to the
  /// precision.
  DescentBatch(const std::vector<Descent>& list, std::vector<std::size_t> places, const DescentRules& rules,
               const torch::Device& device);

  /// In which all have a place.
  static DescentShape shape_of(const std::vector<Descent>& list);
  /// Of the device, for one network.
  static double bytes(const DescentShape& shape, const DescentRules& rules);

  Index size() const { return static_cast<Index>(places_.size()); }
  Index going() const { return going_; }

  /// So many steps of each network that has not ended before.
  void advance(Index steps);
  /// Those that have ended since the last call, with their places in the list.
  std::vector<std::pair<std::size_t, Descended>> take_ended();
  /// Leaves out all that have ended.
  void keep_going_ones();

 private:
  void make_room();
  void move();
  void look();
  void step();

  const std::vector<Descent>& list_;
  torch::Device device_;
  torch::ScalarType type_;
  std::vector<std::size_t> places_;
  std::vector<char> taken_;  // by place in the batch: handed out already
  Index going_;

  torch::Tensor X_, y_, v_, pull_;            // b x n x d, b x n, b x m x 1, and -step v
  torch::Tensor low_, high_, most_;           // b: squares of ||r|| between which it goes on, float64; steps
  torch::Tensor W_, r_;                       // b x m x d; b x n, 0 of those that have ended
  torch::Tensor slopes_;                      // b x n x m, phi'(Z), then phi'(Z) times r
  torch::Tensor squares_, steps_, ended_;     // b: ||r||^2 in float64, int64, bool
  torch::Tensor Z_, f_, moved_, r64_, sums_;  // work
  std::unique_ptr<cuda::Graph> graph_;
};

}  // namespace zeroloss::internal
