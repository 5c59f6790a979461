#include <cstdio>
#include <zeroloss/proof/certificate.hpp>

// Exits 0 if zeroloss::proof alone proves that an exact network lies beside one whose targets are near its
// outputs.
int main() {
  zeroloss::RowMatrix X(2, 2);
  X << 1, 0, 0, 1;
  const zeroloss::Activation tanh = zeroloss::activation("tanh");
  const zeroloss::TwoLayer network = zeroloss::draw({.width = 64, .d = 2});
  const zeroloss::Vector y = zeroloss::outputs(network, tanh, X).array() + 1e-6;
  zeroloss::Progress progress;
  const auto certificate = zeroloss::certify_descent(network, tanh, {X, y}, progress);
  std::printf("%s within %.3g\n", certificate.kind.c_str(), certificate.radius);
  return certificate.holds ? 0 : 1;
}
