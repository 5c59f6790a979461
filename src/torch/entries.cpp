#include "torch/entries.hpp"

#include <numbers>

#include "kernel/deep_kernel.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {

using std::numbers::pi;

// asin is taken to be within 4 ulp. Documented: 1 ulp by SLEEF (Sleef_asind4_u10 and its like) and by Intel's
// MKL (VML_HA), of which LibTorch takes one on a processor, 1 by glibc for what is left over; 2 by the CUDA
// C++ Programming Guide (mathematical functions, double precision). Roots and reciprocals are taken to be
// within 1 ulp: MKL's roots are off by up to 0.53. Sums and products are rounded correctly, fused or not.

TorchEntries::TorchEntries(const Kernel& kernel, const torch::Device& device) : kernel_(kernel) {
  if (kernel.deep) {
    const SphereTable& table = kernel.deep->table();
    terms_ = torch::empty({SphereTable::kTerms, 2 * SphereTable::kPieces}, torch::kDouble);
    for (int r = 0; r < SphereTable::kTerms; ++r)
      std::copy_n(table.terms(r), 2 * SphereTable::kPieces,
                  terms_.data_ptr<double>() + r * 2 * SphereTable::kPieces);
    terms_ = terms_.to(device);
    return;
  }
  const auto& full = kernel.dual.coefficients;
  bool any[2] = {false, false};
  for (std::size_t r = 0; r < full.size(); ++r) any[r % 2] |= full[r] != 0;
  squared_ = !(any[0] && any[1]);
  const bool odd = any[1] && !any[0];
  for (std::size_t r = odd; r < full.size(); r += squared_ ? 2 : 1) coefficients_.push_back(full[r]);
  if (coefficients_.empty()) coefficients_.push_back(0);
  factors_ = static_cast<int>(odd) + static_cast<int>(kernel.times_rho);
}

torch::Tensor TorchEntries::polynomial(const torch::Tensor& rho) const {
  const torch::Tensor x = squared_ ? rho * rho : rho;
  torch::Tensor value = torch::full_like(x, coefficients_.back());
  for (std::size_t r = coefficients_.size() - 1; r-- > 0;) value.mul_(x).add_(coefficients_[r]);
  for (int factor = 0; factor < factors_; ++factor) value.mul_(rho);
  return value;
}

// SphereTable: one polynomial in t = 1 - |rho| less the middle of its interval, both of which t's bits tell.
torch::Tensor TorchEntries::table(const torch::Tensor& rho) const {
  constexpr int kShift = SphereTable::kIndexShift;
  const torch::Tensor t = (1 - rho.abs()).clamp_(SphereTable::kLeast, 1 - 0x1p-53);
  torch::Tensor piece = at::bitwise_right_shift(t.view(torch::kLong), at::Scalar(kShift));
  const torch::Tensor middle = at::bitwise_left_shift(piece, at::Scalar(kShift))
                                   .bitwise_or_(at::Scalar(std::int64_t{1} << (kShift - 1)))
                                   .view(torch::kDouble);
  const torch::Tensor y = t - middle;
  piece.sub_(SphereTable::kFirstIndex)
      .add_(rho.lt(0), SphereTable::kPieces)
      .clamp_(0, 2 * SphereTable::kPieces - 1);  // of NaN any piece will do
  const torch::Tensor at_piece = piece.flatten();
  const auto term = [&](int r) { return terms_.select(0, r).index_select(0, at_piece).view_as(y); };
  torch::Tensor value = term(SphereTable::kTerms - 1);
  for (int r = SphereTable::kTerms - 1; r-- > 0;) value.mul_(y).add_(term(r));
  return value;
}

void TorchEntries::map(torch::Tensor& rho) const {
  rho.clamp_(-1, 1);
  if (kernel_.deep) {
    rho.copy_(table(rho));
    return;
  }
  const double leak = kernel_.dual.leak, share = kernel_.dual.share();
  torch::Tensor value;
  switch (kernel_.dual.form) {
    case DualForm::polynomial:
      rho.copy_(polynomial(rho));
      return;
    case DualForm::leak_derivative:  // h = leak + share (1/4 + asin(rho)/(2 pi))
      value = rho.asin().mul_(share * (0.5 / pi)).add_(leak + share * 0.25);
      break;
    case DualForm::leak: {  // h~ = leak rho + share (sqrt(1 - rho^2) + rho (pi/2 + asin(rho)))/(2 pi)
      const torch::Tensor sine = (1 - rho).mul_(1 + rho).sqrt_();
      value = rho.asin().add_(pi / 2).mul_(rho).add_(sine).mul_(share * (0.5 / pi));
      if (leak != 0) value.add_(rho * leak);
      break;
    }
    case DualForm::erf_derivative:  // h = (4/pi)/sqrt(9 - 4 rho^2)
      value = (rho * 4).mul_(rho).neg_().add_(9).sqrt_().reciprocal_().mul_(4 / pi);
      break;
    case DualForm::erf:  // h~ = (2/pi) asin(2 rho/3)
      value = (rho * (2.0 / 3)).asin_().mul_(2 / pi);
      break;
  }
  if (kernel_.times_rho) value.mul_(rho);
  rho.copy_(value);
}

}  // namespace zeroloss::internal
