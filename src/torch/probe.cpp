#include "torch/probe.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "torch/device.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

// Row i of A and column j of B share one place where neither is 0, and there are large numbers that are no
// large numbers of fewer digits; then one entry that is tiny beside the others of its row but not beside
// those that it meets. Every entry of the product is one product, exact in the type asked for and in none
// that is narrower.
struct Probe {
  double large, other;  // of one digit less than the type has when multiplied
  double tiny;          // of full length, beside 1 in its row
  double grown;         // a power of two, whose square is beyond all digits and within the range
};

Probe probe_of(torch::ScalarType type) {
  if (type == torch::kFloat) return {4097, 4095, 0x1p-40 * (1 + 0x1p-22), 0x1p40};
  return {0x1p26 + 1, 0x1p26 - 1, 0x1p-120 * (1 + 0x1p-50), 0x1p80};
}

void require_exact(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                   Index columns, const Multiply& multiply) {
  at::globalContext().setAllowTF32CuBLAS(false);
  // cuBLAS reads these when a handle is made; what a user has set for other programs must not count here.
  setenv("NVIDIA_TF32_OVERRIDE", "0", /*replace=*/1);
  setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "0", /*replace=*/1);
  setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "0", /*replace=*/1);
  if (products_exact(device, type, rows, inner, columns, multiply)) return;
  throw BackendError(fmt::format(
      "{} does not multiply {} x {} by {} x {} in true {}: {} was asked for a product that is known "
      "exactly, and a proof cannot rest on what it answered; switch off emulation of floating point, or "
      "leave out `device`",
      device_name(device), rows, inner, inner, columns, type == torch::kFloat ? "float32" : "float64",
      libtorch_version()));
}

}  // namespace

bool products_exact(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                    Index columns, const Multiply& multiply) {
  const Probe probe = probe_of(type);
  const auto doubles = torch::TensorOptions().dtype(torch::kDouble).device(device);
  const auto row = torch::arange(rows, doubles.dtype(torch::kLong)),
             column = torch::arange(columns, doubles.dtype(torch::kLong));
  // Large numbers in one place of the sum, small signs in another: the exact entries.
  const Index here = inner / 2, there = inner - 1;
  const auto signs = [](const torch::Tensor& k) { return (1 - 2 * (k % 2)).to(torch::kDouble); };
  torch::Tensor A = torch::zeros({rows, inner}, doubles), B = torch::zeros({inner, columns}, doubles);
  A.select(1, here).copy_(signs(row) * probe.large);
  B.select(0, here).copy_(signs(column) * probe.other);
  torch::Tensor exact = at::outer(signs(row), signs(column)) * (probe.large * probe.other);
  if (there != here) {
    A.select(1, there).copy_(signs(row));
    B.select(0, there).copy_(signs(column));
    exact += at::outer(signs(row), signs(column));
  }
  const auto same = [&](const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& wanted) {
    const auto found = multiply(a.to(type), b.to(type));
    return found.scalar_type() == type && found.to(torch::kDouble).equal(wanted);
  };
  if (!same(A, B, exact)) return false;
  if (there == here) return true;
  // The same with one half of the rows and of the columns scaled up, and both halves of the sum in use: what
  // adds parts of one row to another loses the small ones, as Strassen's method does.
  const auto grown = [&](Index of, Index from) {
    return at::where(torch::arange(of, doubles.dtype(torch::kLong)).lt(from), probe.grown, 1.0)
        .to(torch::kDouble);
  };
  const torch::Tensor of_rows = grown(rows, rows / 2), of_columns = grown(columns, columns / 2);
  A.select(1, 0).copy_(A.select(1, here).clone());
  B.select(0, 0).copy_(B.select(0, here).clone());
  if (here != 0) A.select(1, here).zero_();
  if (!same(A * of_rows.unsqueeze(1), B * of_columns.unsqueeze(0), exact * at::outer(of_rows, of_columns)))
    return false;
  // 1 in the row of A meets 0, the tiny number meets 1: what scales a row by its largest number loses it.
  A.zero_();
  B.zero_();
  A.select(1, here).fill_(1);
  A.select(1, there).copy_(signs(row) * probe.tiny);
  B.select(0, there).copy_(signs(column));
  return same(A, B, at::outer(signs(row), signs(column)) * probe.tiny);
}

void check_products(const torch::Device& device, torch::ScalarType type, Index rows, Index inner,
                    Index columns) {
  require_exact(device, type, rows, inner, columns, [](const torch::Tensor& A, const torch::Tensor& B) {
    return at::mm(A, B.t().contiguous().t());
  });
}

void check_column_sums(const torch::Device& device, torch::ScalarType type, Index count, Index rows,
                       Index inner) {
  require_exact(device, type, rows, inner, 1, [&](const torch::Tensor& A, const torch::Tensor& B) {
    const torch::Tensor all = at::bmm(A.t().contiguous().repeat({count, 1, 1}).transpose(1, 2),
                                      B.contiguous().repeat({count, 1, 1}));
    const torch::Tensor last = all[count - 1];
    return all.eq(last).all().item<bool>() ? last : at::full_like(last, NAN);
  });
}

void check_batched_products(const torch::Device& device, Index count, Index rows, Index inner,
                            Index columns) {
  require_exact(device, torch::kDouble, rows, inner, columns,
                [&](const torch::Tensor& A, const torch::Tensor& B) {
                  const torch::Tensor beside = B.unsqueeze(1).repeat({1, count, 1}).transpose(0, 1);
                  const torch::Tensor all = at::bmm(A.unsqueeze(0).repeat({count, 1, 1}), beside);
                  const torch::Tensor last = all[count - 1];
                  return all.eq(last).all().item<bool>() ? last : at::full_like(last, NAN);
                });
}

}  // namespace zeroloss::internal
