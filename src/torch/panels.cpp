#include "torch/panels.hpp"

#include <algorithm>

#include "base/as_double.hpp"
#include "torch/probe.hpp"

namespace zeroloss::internal {
TorchPanels::TorchPanels(Index n, Index width, const torch::Device& device)
    : n_(n), width_(width), device_(device) {
  const auto doubles = torch::TensorOptions().dtype(torch::kDouble).device(device);
  for (Index j = 0; begin(j) < n_; ++j) panels_.push_back(torch::empty({rows(j), columns(j)}, doubles));
}

double TorchPanels::bytes(Index n, Index width) {
  return 4 * as_double(n) * (as_double(n) + as_double(std::min(n, width)));
}

void TorchPanels::probe(Index rows, Index inner, Index columns) const {
  if (!device_.is_cuda() || !probed_.emplace(rows, inner, columns).second) return;
  check_products(device_, torch::kDouble, rows, inner, columns);
}

void TorchPanels::copy(const TorchPanels& other) {
  for (std::size_t j = 0; j < panels_.size(); ++j) panels_[j].copy_(other.panels_[j]);
}

void TorchPanels::scale(double factor) {
  for (torch::Tensor& panel : panels_) panel.mul_(factor);
}

void TorchPanels::shift_diagonal(double shift) {
  for (Index j = 0; j < count(); ++j) diagonal_block(j).diagonal().add_(shift);
}

Vector TorchPanels::diagonal() const {
  Vector values(n_);
  for (Index j = 0; j < count(); ++j)
    values.segment(begin(j), columns(j)) = to_host(diagonal_block(j).diagonal().unsqueeze(1)).col(0);
  return values;
}

torch::Tensor TorchPanels::to_device(const Matrix& V) const {
  return torch::from_blob(const_cast<double*>(V.data()), {V.cols(), V.rows()}, torch::kDouble)
      .to(device_, torch::kDouble, /*non_blocking=*/false, /*copy=*/true)
      .t()
      .contiguous();
}

Matrix TorchPanels::to_host(const torch::Tensor& values) {
  const torch::Tensor host = values.t().contiguous().to(torch::kCPU);
  return Eigen::Map<const Matrix>(host.data_ptr<double>(), values.size(0), values.size(1));
}

// Entries below the diagonal act twice, from the right and from the left.
Matrix TorchPanels::product(const Matrix& V, bool relied_on) const {
  const torch::Tensor v = to_device(V);
  torch::Tensor result = torch::zeros_like(v);
  for (Index j = 0; j < count(); ++j) {
    const Index first = begin(j), end = first + columns(j);
    if (relied_on) {
      probe(columns(j), columns(j), V.cols());
      if (end < n_) probe(n_ - end, columns(j), V.cols()), probe(columns(j), n_ - end, V.cols());
    }
    const torch::Tensor lower = diagonal_block(j).tril();
    const torch::Tensor whole = lower + lower.tril(-1).t(), above = v.slice(0, first, end);
    torch::Tensor here = result.slice(0, first, end);
    here.addmm_(whole, above);
    if (end == n_) continue;
    const torch::Tensor rest = below(j, end);
    result.slice(0, end).addmm_(rest, above);
    // In memory as what is probed.
    here.addmm_(relied_on ? rest.t().contiguous() : rest.t(), v.slice(0, end));
  }
  return to_host(result);
}

// Left-looking: a panel loses what those before it have of it, then its diagonal block is factored and what
// is below divided by it.
bool TorchPanels::factor(Progress& progress) {
  for (Index j = 0; j < count(); ++j) {
    const Index first = begin(j), end = first + columns(j);
    torch::Tensor whole = panel(j);
    for (Index k = 0; k < j; ++k) {
      const torch::Tensor left = below(k, first);
      whole.addmm_(left, left.slice(0, 0, columns(j)).t(), 1, -1);
      progress.check();
    }
    torch::Tensor block = diagonal_block(j);
    const auto [L, info] = at::linalg_cholesky_ex(block);
    if (info.item<std::int64_t>() != 0) return false;
    const torch::Tensor pivots = L.diagonal();
    if (!pivots.gt(0).logical_and(pivots.isfinite()).all().item<bool>()) return false;
    block.copy_(L.tril());
    if (end < n_) {
      torch::Tensor rest = below(j, end);
      rest.copy_(at::linalg_solve_triangular(L.t(), rest, /*upper=*/true, /*left=*/false));
    }
    progress.advance(as_double(rows(j)) * as_double(columns(j)) * as_double(first + columns(j) / 2));
  }
  return true;
}

Matrix TorchPanels::solve(const Matrix& V) const {
  torch::Tensor x = to_device(V);
  const auto rows_of = [&](Index j) { return x.slice(0, begin(j), begin(j) + columns(j)); };
  for (Index j = 0; j < count(); ++j) {
    const Index end = begin(j) + columns(j);
    torch::Tensor here = rows_of(j);
    here.copy_(at::linalg_solve_triangular(diagonal_block(j), here, /*upper=*/false));
    if (end < n_) x.slice(0, end).addmm_(below(j, end), here, 1, -1);
  }
  for (Index j = count(); j-- > 0;) {
    const Index end = begin(j) + columns(j);
    torch::Tensor here = rows_of(j);
    if (end < n_) here.addmm_(below(j, end).t(), x.slice(0, end), 1, -1);
    here.copy_(at::linalg_solve_triangular(diagonal_block(j).t(), here, /*upper=*/true));
  }
  return to_host(x);
}

// By products whose depth is a panel's width.
torch::Tensor TorchPanels::product_panel(Index j, Progress& progress) const {
  torch::Tensor products = torch::zeros({rows(j), columns(j)}, panel(j).options());
  for (Index k = 0; k <= j; ++k) {
    const torch::Tensor left = below(k, begin(j));
    probe(rows(j), columns(k), columns(j));
    products.addmm_(left, left.slice(0, 0, columns(j)).t());
    progress.check();
  }
  return products;
}

}  // namespace zeroloss::internal
