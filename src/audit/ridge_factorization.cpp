#include "audit/ridge_factorization.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <optional>

#include "cluster/block_cyclic.hpp"
#include "processes/orders.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kBlock = 64;

class FactorHere final : public RidgeFactor {
 public:
  FactorHere(Packed<double> K, double ridge, Progress& progress) : L_(std::move(K)) {
    const auto n = static_cast<double>(L_.n());
    shift_diagonal(L_, ridge);
    progress.stage("Cholesky factorisation", n * n * n / 6);
    if (!factor(L_, progress)) not_definite(ridge);
  }
  Matrix solve(const Matrix& V) const override {
    Matrix W = V;
    zeroloss::solve(L_, W);
    return W;
  }
  Vector inverse_diagonal(Progress& progress) const override {
    const auto n = static_cast<double>(L_.n());
    progress.stage("predictions without each sample", n * n * n / 3);
    return zeroloss::inverse_diagonal(L_, progress);
  }

 private:
  Packed<double> L_;
};

// What all processes know of the similarity before they have any features.
struct Dealing {
  Sizes sizes;
  Index d = 0, derived = 0;  // columns
  SimilarityShape shape;
  double ridge = 0;
};

// Features of the rows and of the columns that a process has.
struct Part {
  Features rows, columns;
};

Part deal_features(const BlockCyclic& all, const Dealing& shape, const Features* features) {
  Part part;
  const auto deal = [&](Index columns, RowMatrix Features::*which) {
    if (columns == 0) return;
    all.deal_rows(features != nullptr ? &(features->*which) : nullptr, columns, part.rows.*which,
                  part.columns.*which);
  };
  deal(shape.d, &Features::scaled);
  deal(shape.shape.ranks ? shape.d : 0, &Features::ranks);
  deal(shape.d > 0 ? shape.d + 1 : 0, &Features::unit);
  deal(shape.derived, &Features::derived);
  return part;
}

// The entries, and of all samples the nearest one among the pairs seen here.
Nearest fill(BlockCyclic& all, const Similarity& similarity, const Part& part, const Dealing& shape) {
  std::vector<Nearest> found(static_cast<std::size_t>(thread_count()), nobody(shape.sizes.n));
  const SerialBlas serial;
  all.fill(1 + shape.ridge, kSide, [&](Index i, Index i_end, Index j, Index j_end, double* at, Index stride) {
    RowMatrix tile(j_end - j, i_end - i), apart(tile.rows(), tile.cols());  // a column a row
    similarity.tile(part.columns, j, j_end, part.rows, i, i_end, tile.data(), apart.data(), tile.cols());
    for (Index q = 0; q < tile.rows(); ++q) std::copy_n(tile.row(q).data(), tile.cols(), at + q * stride);
    Nearest& mine = found[static_cast<std::size_t>(omp_get_thread_num())];
    for (Index q = j; q < j_end; ++q)
      for (Index r = i; r < i_end; ++r) {
        const Index row = all.rows().global(r), column = all.columns().global(q);
        if (row <= column) continue;
        offer(mine, row, column, apart(q - j, r - i));
        offer(mine, column, row, apart(q - j, r - i));
      }
  });
  Nearest nearest = nobody(shape.sizes.n);
  for (const Nearest& one : found) join(nearest, one);
  return nearest;
}

void gather(const Group& group, Nearest& nearest) {
  const std::size_t n = nearest.index.size();
  if (!group.leads()) {
    group.send(0, nearest.index.data(), n * sizeof(Index));
    group.send(0, nearest.distance.data(), n * sizeof(double));
    return;
  }
  Nearest theirs = nearest;
  for (int from = 1; from < group.size(); ++from) {
    group.receive(from, theirs.index.data(), n * sizeof(Index));
    group.receive(from, theirs.distance.data(), n * sizeof(double));
    join(nearest, theirs);
  }
}

enum RidgeOrder : char { kFactorRidge = 'c', kSolveRidge = 's', kInverseRidge = 'i' };

class FactorTogether final : public RidgeFactor {
 public:
  FactorTogether(const Group& group, const Similarity& similarity, const Features& features, double ridge,
                 Nearest& nearest, Progress& progress)
      : group_(group) {
    const Index n = features.n();
    const Dealing shape{
        {n, 0, kBlock}, features.scaled.cols(), features.derived.cols(), similarity.shape(), ridge};
    if (const std::string why = BlockCyclic::refused(group.size(), shape.sizes); !why.empty())
      throw ResourceError(why);
    progress.stage("similarities");
    progress.check();
    service_.emplace(group_, kAuditService);
    std::string failure;
    collective(group_, [&] {
      from_leader(group_, shape);
      std::string activation = similarity.activation();
      group_.broadcast(activation);
      all_ = std::make_unique<BlockCyclic>(group_, shape.sizes, failure);
      if (!failure.empty()) return;
      const Part part = deal_features(*all_, shape, &features);
      nearest = fill(*all_, similarity, part, shape);
      gather(group_, nearest);
    });
    if (!failure.empty()) throw ResourceError(failure);
    progress.stage("Cholesky factorisation");  // throws where it is interrupted: the others wait for an order
    group_.announce(Order{kFactorRidge, 0, ""}.text());
    const bool definite = collective(group_, [&] { return all_->factor(); });
    progress.finish();
    if (!definite) not_definite(ridge);
  }

  Matrix solve(const Matrix& V) const override {
    group_.announce(Order{kSolveRidge, 0, ""}.text());
    return collective(group_, [&] { return all_->solve(V); });
  }
  Vector inverse_diagonal(Progress& progress) const override {
    progress.check();
    group_.announce(Order{kInverseRidge, 0, ""}.text());
    return collective(group_, [&] { return all_->inverse_diagonal(); });
  }

 private:
  const Group group_;
  std::unique_ptr<BlockCyclic> all_;
  std::optional<Service> service_;  // ends before the matrix: all let go of it together
};

}  // namespace

void not_definite(double ridge) {
  throw DataError("the kernel with the ridge " + fmt::to_string(ridge) +
                  " is not numerically positive definite; take a larger `ridge`");
}

std::unique_ptr<RidgeFactor> factored(Packed<double> K, double ridge, Progress& progress) {
  return std::make_unique<FactorHere>(std::move(K), ridge, progress);
}

std::unique_ptr<RidgeFactor> factored(const Group& group, const Similarity& similarity,
                                      const Features& features, double ridge, Nearest& nearest,
                                      Progress& progress) {
  return std::make_unique<FactorTogether>(group, similarity, features, ridge, nearest, progress);
}

double dealt_bytes(const Group& group, Index n, Index columns) {
  return BlockCyclic::bytes(group.size(), {n, columns, kBlock}) + 32.0 * static_cast<double>(n);
}

void serve_similarities(const Group& group) {
  const auto shape = from_leader(group, Dealing{});
  std::string activation, failure;
  group.broadcast(activation);
  BlockCyclic all(group, shape.sizes, failure);
  if (failure.empty()) {
    const Similarity similarity(shape.shape, activation);
    const Part part = deal_features(all, shape, nullptr);
    Nearest nearest = fill(all, similarity, part, shape);
    gather(group, nearest);
  }
  const Matrix nothing;
  while (true) {
    switch (Order::of(group.listen()).what) {
      case kFactorRidge:
        all.factor();
        break;
      case kSolveRidge:
        all.solve(nothing);
        break;
      case kInverseRidge:
        all.inverse_diagonal();
        break;
      default:
        return;
    }
  }
}

}  // namespace zeroloss::internal
