#include <cstdio>
#include <zeroloss/theory/certify.hpp>
#include <zeroloss/version.hpp>

// Exits 0 if the installed library certifies a few points on a sphere.
int main() {
  const auto data = zeroloss::read_dataset("sphere:n=20,d=5");
  const auto result = zeroloss::certify(data);
  const double bound = result.lambda_min_verified.value_or(0);
  std::printf("zeroloss %s: lambda_min_verified %.6g\n", ZEROLOSS_VERSION, bound);
  return bound > 0 ? 0 : 1;
}
