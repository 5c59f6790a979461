#pragma once

// Products of matrices of doubles, tile by tile: sums of products in some order, fused or not.

#include <cstddef>
#include <vector>

namespace check {

constexpr std::size_t kTile = 128;   // rows and columns of a tile
constexpr std::size_t kDepth = 256;  // products that are packed at a time
constexpr std::size_t kLane = 8;

// Up to kTile rows of up to kDepth numbers, eight rows beside each other.
class Panel {
 public:
  Panel() : numbers_(kTile * kDepth) {}
  // Row i of `rows`, number k from `from` to `to`, is get(i, k); rows up to kTile are 0.
  template <class Get>
  void pack(std::size_t rows, std::size_t from, std::size_t to, Get&& get) {
    depth_ = to - from;
    for (std::size_t i = 0; i < kTile; ++i) {
      double* out = numbers_.data() + i / kLane * kLane * depth_ + i % kLane;
      for (std::size_t k = 0; k < depth_; ++k) {
        out[k * kLane] = i < rows ? get(i, from + k) : 0.0;
      }
    }
  }
  const double* lane(std::size_t i) const { return numbers_.data() + i * kLane * depth_; }
  std::size_t depth() const { return depth_; }

 private:
  std::vector<double> numbers_;
  std::size_t depth_ = 0;
};

struct Tile {
  Tile() : numbers(kTile * kTile) {}
  double& at(std::size_t i, std::size_t j) { return numbers[i * kTile + j]; }
  double at(std::size_t i, std::size_t j) const { return numbers[i * kTile + j]; }
  void clear() { numbers.assign(numbers.size(), 0.0); }
  std::vector<double> numbers;
};

// c += a b^T
void add_products(const Panel& a, const Panel& b, Tile& c);

}  // namespace check
