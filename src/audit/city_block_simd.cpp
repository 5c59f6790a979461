#include <cmath>

#include "audit/city_block.hpp"

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "audit/city_block_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace zeroloss::internal::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Four rows of B at once: every number of A's row is loaded once for them.
void Four(const double* a, const double* b, Index d, double* D) {
  const hn::ScalableTag<double> tag;
  const auto lanes = static_cast<Index>(hn::Lanes(tag));
  auto s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  Index k = 0;
  for (; k + lanes <= d; k += lanes) {
    const auto x = hn::LoadU(tag, a + k);
    s0 = hn::Add(s0, hn::Abs(hn::Sub(x, hn::LoadU(tag, b + k))));
    s1 = hn::Add(s1, hn::Abs(hn::Sub(x, hn::LoadU(tag, b + d + k))));
    s2 = hn::Add(s2, hn::Abs(hn::Sub(x, hn::LoadU(tag, b + 2 * d + k))));
    s3 = hn::Add(s3, hn::Abs(hn::Sub(x, hn::LoadU(tag, b + 3 * d + k))));
  }
  D[0] = hn::GetLane(hn::SumOfLanes(tag, s0));
  D[1] = hn::GetLane(hn::SumOfLanes(tag, s1));
  D[2] = hn::GetLane(hn::SumOfLanes(tag, s2));
  D[3] = hn::GetLane(hn::SumOfLanes(tag, s3));
  for (; k < d; ++k)
    for (int q = 0; q < 4; ++q) D[q] += std::abs(a[k] - b[q * d + k]);
}

double One(const double* a, const double* b, Index d) {
  const hn::ScalableTag<double> tag;
  const auto lanes = static_cast<Index>(hn::Lanes(tag));
  auto sum = hn::Zero(tag);
  Index k = 0;
  for (; k + lanes <= d; k += lanes)
    sum = hn::Add(sum, hn::Abs(hn::Sub(hn::LoadU(tag, a + k), hn::LoadU(tag, b + k))));
  double result = hn::GetLane(hn::SumOfLanes(tag, sum));
  for (; k < d; ++k) result += std::abs(a[k] - b[k]);
  return result;
}

void CityBlock(const double* A, Index n, const double* B, Index m, Index d, double* D, Index stride) {
  for (Index i = 0; i < n; ++i) {
    Index j = 0;
    for (; j + 4 <= m; j += 4) Four(A + i * d, B + j * d, d, D + i * stride + j);
    for (; j < m; ++j) D[i * stride + j] = One(A + i * d, B + j * d, d);
  }
}

}  // namespace zeroloss::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroloss::internal {

HWY_EXPORT(CityBlock);

void city_block(const double* A, Index n, const double* B, Index m, Index d, double* D, Index stride) {
  HWY_DYNAMIC_DISPATCH(CityBlock)(A, n, B, m, d, D, stride);
}

}  // namespace zeroloss::internal
#endif
