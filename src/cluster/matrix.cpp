#include "cluster/matrix.hpp"

#include <optional>

#include "kernel/kernel_named.hpp"
#include "processes/orders.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {
namespace {

enum MatrixOrder : char {
  kForm = 'f',
  kEigenvalues = 'v',
  kFactor = 'c',
  kProduct = 'p',
  kSolve = 's',
  kInverse = 'i',
  kResidual = 'r'
};

class ClusterMatrix final : public KernelMatrix {
 public:
  ClusterMatrix(const Group& group, const RowMatrix& X, Index block) : group_(group), X_(X) {
    const Sizes sizes{X.rows(), X.cols(), block};
    if (const std::string why = BlockCyclic::refused(group.size(), sizes); !why.empty())
      throw ResourceError(why);
    service_.emplace(group_, kMatrixService);
    std::string failure;
    collective(group_, [&] {
      from_leader(group_, sizes);
      all_ = std::make_unique<BlockCyclic>(group_, sizes, failure);
      if (failure.empty()) all_->take_points(&X);
    });
    if (!failure.empty()) throw ResourceError(failure);
  }

  Index n() const override { return X_.rows(); }

  template <class Work>
  auto ask(const Order& what, Progress& progress, const Work& work) {
    progress.check();
    order(what);
    return collective(group_, work);
  }

  void form(const Kernel& kernel, double shift, Progress& progress) override {
    progress.stage("kernel " + kernel.name);
    check(kernel);
    const auto pass = ask({kForm, shift, kernel.name}, progress, [&] { return all_->form(kernel, shift); });
    seen_.near_pairs = pass.closest.near_pairs();
    seen_.closest = pass.closest.pairs(X_);
    seen_.separation = separation_bound(seen_.closest, seen_.near_pairs, static_cast<double>(X_.cols()));
    seen_.entry_error = error_of(kernel, pass);
    progress.finish();
  }
  bool factor(Progress& progress) override {
    return ask({kFactor, 0, ""}, progress, [&] { return all_->factor(); });
  }
  Matrix product(const Matrix& V) override {
    return ask({kProduct, 0, ""}, silent_, [&] { return all_->product(V); });
  }
  Matrix solve(const Matrix& V) override {
    return ask({kSolve, 0, ""}, silent_, [&] { return all_->solve(V); });
  }
  Vector inverse_diagonal(Progress& progress) override {
    return ask({kInverse, 0, ""}, progress, [&] { return all_->inverse_diagonal(); });
  }
  double residual(const Kernel& kernel, double shift, Progress& progress) override {
    check(kernel);
    const auto [bound, pass] =
        ask({kResidual, shift, kernel.name}, progress, [&] { return all_->residual(kernel, shift); });
    seen_.entry_error = error_of(kernel, pass);
    return bound;
  }
  Vector eigenvalues() override {
    auto values = ask({kEigenvalues, 0, ""}, silent_, [&] { return all_->eigenvalues(); });
    if (!values)
      throw ResourceError(
          "all eigenvalues: a process has no memory for its part of the kernel twice; leave out `spectrum`, "
          "or take more processes");
    return std::move(*values);
  }

 private:
  void order(const Order& order) const { group_.announce(order.text()); }

  double error_of(const Kernel& kernel, const BlockCyclic::Pass& pass) const {
    return entry_error(kernel, static_cast<double>(X_.rows()), static_cast<double>(X_.cols()),
                       static_cast<double>(pass.closest.near_pairs()), pass.singular_sum);
  }
  static void check(const Kernel& kernel) { (void)kernel_named(kernel.name); }

  const Group group_;
  const RowMatrix& X_;
  std::unique_ptr<BlockCyclic> all_;
  std::optional<Service> service_;  // ends before the matrix: all let go of it together
  Progress silent_;
};

}  // namespace

std::unique_ptr<KernelMatrix> cluster_matrix(const Group& group, const RowMatrix& X, Index block) {
  return std::make_unique<ClusterMatrix>(group, X, block);
}

void serve_matrix(const Group& group) {
  const auto sizes = from_leader(group, Sizes{});
  std::string failure;
  BlockCyclic all(group, sizes, failure);
  if (failure.empty()) all.take_points(nullptr);
  const Matrix nothing;
  while (true) {
    const Order order = Order::of(group.listen());
    switch (order.what) {
      case kForm:
        all.form(kernel_named(order.name), order.number);
        break;
      case kEigenvalues:
        all.eigenvalues();
        break;
      case kFactor:
        all.factor();
        break;
      case kProduct:
        all.product(nothing);
        break;
      case kSolve:
        all.solve(nothing);
        break;
      case kInverse:
        all.inverse_diagonal();
        break;
      case kResidual:
        all.residual(kernel_named(order.name), order.number);
        break;
      default:
        return;
    }
  }
}

}  // namespace zeroloss::internal
