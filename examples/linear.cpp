// How small can the layers of an exact deep linear residual network be, and does gradient descent find one?
#include <cstdio>
#include <zeroloss/base/text.hpp>
#include <zeroloss/linear/linear.hpp>

int main() {
  const zeroloss::Matrix R{{0, -2, 0}, {1, 0, 0}, {0, 0, 0.5}};
  const auto problem = zeroloss::population(R, zeroloss::Matrix::Identity(3, 3));
  zeroloss::LinearOptions options;
  options.layers = {12};
  const auto answer = zeroloss::linear(problem, options);
  std::printf("%s\n", answer.conclusion.c_str());
  const auto& factors = answer.depths.back().smallest();
  const std::string error = zeroloss::decimal(factors.reconstruction_error, 2, zeroloss::Rounding::up);
  std::printf("%s: (I + A_12) .. (I + A_1) is within %s of R\n", factors.name.c_str(), error.c_str());
  zeroloss::save_linear("linear.safetensors", answer);
  return factors.max_norm < 1 ? 0 : 1;
}
