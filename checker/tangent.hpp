#pragma once

// The derivative J of a network's outputs in its trained weights at the points of a claim, and how fast it
// changes. Formulas: docs/theory.md, sections 7 and 16.

#include <limits>
#include <string>
#include <vector>

#include "network.hpp"
#include "symmetric.hpp"

namespace check {

// A hidden layer: h' = s phi(W h + b), or h + s (U phi(W h + b) + c).
struct Layer {
  const Node* w = nullptr;
  const Activation* phi = nullptr;
  const Node* u = nullptr;  // of a residual layer, may be missing
  bool residual = false;
  double s = 1;
};

// A matrix of doubles, row by row.
struct Rows2 {
  std::size_t columns = 0;
  std::vector<double> numbers;
  double at(std::size_t i, std::size_t j) const { return numbers[i * columns + j]; }
};

// Throws False where equal points have different targets.
void expect_equal_targets(const Distinct& distinct, const Array& y);
// The residual at distinct points, whose targets that expects.
Balls residual_at(const Distinct& distinct, const std::vector<Balls>& outputs, const Array& y,
                  const Object& o);

// A part of J: row (point, output) is the outer product of a row of `left` and one of `right` (of the point),
// with a 1 beside it where a bias moves.
struct Block {
  Rows2 left, right;
  bool weight = false, bias = false;
};

// What is known at a point before the weights move, for each layer; upper bounds unless it says otherwise.
struct AtPoint {
  double h = 0;      // ||h_(l-1)||
  double a = 0;      // ||phi(z)||
  double slope = 0;  // max |phi'(z_j)|
};
// And for each output of it.
struct AtOutput {
  double u = 0, q = 0, g = 0, q_most = 0;
};

class Tangent {
 public:
  // Throws Open for a network of other nodes, Unreadable for one without trained weights.
  Tangent(const Network& network, const Points& points);

  std::size_t rows() const { return points_ * outputs_; }
  std::size_t points() const { return points_; }
  std::size_t outputs() const { return outputs_; }
  const Distinct& distinct() const { return distinct_; }
  const Balls& output(std::size_t i) const { return f_[i]; }
  double count(std::size_t i) const { return distinct_.count[i]; }

  // J J^T, and a bound of ||J - the J that it is of||_F.
  Symmetric gram() const;
  double off() const { return off_; }
  // Not below the change of J (spectral norm) for any two weights within R, for each unit between them;
  // infinite where a sign may change.
  double lipschitz(double radius) const;
  // Not below ||J(W') - J(W)|| for W' within R of W.
  double change(double radius) const;
  // One hidden layer without a bias whose W alone moves: the theorems of section 7 about it apply.
  bool two_layers() const;

  const std::vector<Layer>& layers() const { return layers_; }
  const Node& last() const { return *last_; }
  const Balls& input(std::size_t i) const { return input_[i]; }  // h_0
  double least_z(std::size_t i, std::size_t l, std::size_t j) const {
    return z_[l].at(i, j);
  }  // not above |z|
  double signed_slope(std::size_t i, std::size_t j) const {
    return slope_.at(i, j);
  }  // phi' of layer 1, rounded

 private:
  void read(const Network& network);
  void at_point(const Network& network, const Points& points, std::size_t i);
  double signs(double radius) const;
  double norm_of_points() const;

  std::vector<Layer> layers_;
  const Node* last_ = nullptr;
  std::size_t prepared_ = 0;  // nodes before the first layer
  Distinct distinct_;
  std::size_t points_, outputs_ = 0;
  std::vector<Balls> f_, input_;
  std::vector<Block> blocks_;
  std::vector<std::vector<AtPoint>> at_;         // [layer][point]
  std::vector<std::vector<AtOutput>> backward_;  // [layer][row]
  std::vector<double> last_h_;                   // ||h_L||
  std::vector<Rows2> z_;                         // [layer]: lower bounds of |z|
  Rows2 slope_;
  std::vector<Balls> transposed_w_, transposed_u_;
  std::vector<double> norm_w_, norm_u_;
  std::vector<std::vector<double>> rows_w_;  // ||w_j||
  mutable double norm_x_ = 0;
  double squares_ = 0;
  double off_ = 0;
};

// The inner products of rows of numbers.
Symmetric inner_products(std::size_t rows, std::size_t columns, const std::vector<double>& numbers);
// Not below the spectral norm of rows of numbers, which may be off by `off` in the Frobenius norm.
double spectral_norm(std::size_t rows, std::size_t columns, const std::vector<double>& numbers, double off);
// The ball lies between what a vector shows of that norm and what is proved.
Ball norm_between(std::size_t rows, std::size_t columns, const std::vector<double>& numbers, double off);

// Whether that norm is proved to be at most this.
bool norm_at_most(std::size_t rows, std::size_t columns, const std::vector<double>& numbers, double bound);

}  // namespace check
