#include "torch/pairs.hpp"

#include <algorithm>

namespace zeroloss::internal {

std::vector<Found> largest_pairs(const torch::Tensor& size, double least, double error, double all) {
  constexpr std::int64_t kClosest = 16;
  const torch::Tensor flat = size.flatten();
  const torch::Tensor top =
      std::get<0>(flat.topk(std::min(kClosest, flat.numel()), /*dim=*/0, /*largest=*/true, /*sorted=*/true));
  const auto last = top[top.numel() - 1].item().toDouble();
  // What is compared with floats is rounded to one.
  const double rounding = size.scalar_type() == torch::kFloat ? 0x1p-22 : 0;
  const double from = std::max(0.0, std::min(all, std::max(least, last - 2 * error)) - rounding);
  const torch::Tensor places = flat.ge(from).nonzero().flatten();
  const torch::Tensor sizes = flat.index_select(0, places).to(torch::kCPU, torch::kDouble);
  const torch::Tensor where = places.to(torch::kCPU);
  std::vector<Found> found(static_cast<std::size_t>(where.numel()));
  for (std::size_t k = 0; k < found.size(); ++k)
    found[k] = {where.data_ptr<std::int64_t>()[k], sizes.data_ptr<double>()[k]};
  return found;
}

}  // namespace zeroloss::internal
