#include "cluster/tail.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "cluster/gather.hpp"
#include "processes/orders.hpp"

namespace zeroloss::internal {
namespace {

constexpr char kRun = 'r';

struct Job {
  Index n = 0, d = 0;
  PowerGrid grid;
};

// Rows of one process: whole tiles, as even as they get.
struct Share {
  Index begin = 0, end = 0;
  Index rows() const { return end - begin; }
};

Share share(Index n, int processes, int rank) {
  const Index tiles = (n + kTile - 1) / kTile;
  const auto at = [&](Index r) { return std::min(n, tiles * r / processes * kTile); };
  return {at(rank), at(rank + 1)};
}

// Every process has its rows, and rows of another that go round: after half a round all pairs have met.
// Called by all together.
class Ring {
 public:
  Ring(const Group& group, const Job& job) : group_(group), job_(job), tiles_(job.n, job.d, job.grid) {}

  // From process 0, which reads them a block at a time.
  void take_rows(const RowBlocks* X) {
    const Share own = mine();
    rows_.resize(own.rows(), job_.d);
    Index step = 0, count = 0;
    if (X != nullptr) step = X->rows_of_a_block(), count = X->count();
    step = from_leader(group_, step);
    count = from_leader(group_, count);
    RowMatrix part;
    for (Index k = 0; k < count; ++k) {
      const Index begin = k * step, end = std::min(job_.n, begin + step);
      std::optional<RowBlocks::Block> block;
      if (X != nullptr) block = X->load(k);
      for (int to = 0; to < group_.size(); ++to) {
        const Share theirs = share(job_.n, group_.size(), to);
        const Index from = std::max(begin, theirs.begin), until = std::min(end, theirs.end);
        if (from >= until) continue;
        const auto bytes = static_cast<std::size_t>((until - from) * job_.d) * sizeof(double);
        if (group_.leads()) {
          const double* data = block->X().data() + (from - begin) * job_.d;
          if (to == 0)
            std::copy_n(data, (until - from) * job_.d, rows_.data() + (from - own.begin) * job_.d);
          else
            group_.send(to, data, bytes);
        } else if (to == group_.rank()) {
          group_.receive(0, rows_.data() + (from - own.begin) * job_.d, bytes);
        }
      }
    }
  }

  // On process 0 the sums of all.
  PowerSums run(Floats weights, Progress& progress) {
    const Share own = mine();
    std::uint64_t count = weights.size();
    group_.broadcast(&count, sizeof count);
    weights.resize(count);
    group_.broadcast(std::span(weights));
    const int P = group_.size(), me = group_.rank();
    const Index powers = job_.grid.size();
    Matrix sums = Matrix::Zero(own.rows(), powers);
    if (own.rows() > 0) {
      const TailTiles::Block here(rows_, own.begin);
      tiles_.add(here, here, weights, sums, sums, progress);
    }
    RowMatrix visitor = rows_, next;
    for (int step = 1; step <= P / 2; ++step) {
      // To the right neighbour; what comes is of the process `step` places to the left.
      const int right = (me + 1) % P, left = (me + P - 1) % P;
      const int whose = (me + P - step) % P, returns = (me + step) % P;
      const Share theirs = share(job_.n, P, whose);
      next.resize(theirs.rows(), job_.d);
      group_.exchange(right, visitor.data(), sizeof(double) * static_cast<std::size_t>(visitor.size()), left,
                      next.data(), sizeof(double) * static_cast<std::size_t>(next.size()));
      visitor.swap(next);
      Matrix for_them = Matrix::Zero(theirs.rows(), powers), for_us = Matrix::Zero(own.rows(), powers);
      // Of an even number the last step brings every pair of processes together twice: each does half of it,
      // the one with the later rows their second half.
      const Share later = own.begin > theirs.begin ? own : theirs;
      const Share half = share(later.rows(), 2, me < whose ? 0 : 1);
      const Share part = 2 * step < P ? Share{0, later.rows()} : half;
      if (part.rows() > 0 && own.rows() > 0 && theirs.rows() > 0) {
        const bool ours = own.begin > theirs.begin;
        const RowMatrix some = (ours ? rows_ : visitor).middleRows(part.begin, part.rows());
        const TailTiles::Block rows(some, later.begin + part.begin);
        const TailTiles::Block columns(ours ? visitor : rows_, (ours ? theirs : own).begin);
        tiles_.add(rows, columns, weights, (ours ? sums : for_them).middleRows(part.begin, part.rows()),
                   ours ? for_them : sums, progress);
      }
      group_.exchange(whose, for_them.data(), sizeof(double) * static_cast<std::size_t>(for_them.size()),
                      returns, for_us.data(), sizeof(double) * static_cast<std::size_t>(for_us.size()));
      sums += for_us;
    }
    return gathered(sums);
  }

  double error() const { return tiles_.error(); }

 private:
  Share mine() const { return share(job_.n, group_.size(), group_.rank()); }

  PowerSums gathered(const Matrix& sums) {
    Closest closest = tiles_.take_closest();
    gather(group_, closest);
    const auto bytes_of = [](const Matrix& M) { return sizeof(double) * static_cast<std::size_t>(M.size()); };
    if (!group_.leads()) {
      group_.send(0, sums.data(), bytes_of(sums));
      return {};
    }
    PowerSums all{Matrix(job_.n, sums.cols()), std::move(closest)};
    all.of_rows.topRows(sums.rows()) = sums;
    for (int from = 1; from < group_.size(); ++from) {
      const Share theirs = share(job_.n, group_.size(), from);
      Matrix part(theirs.rows(), sums.cols());
      group_.receive(from, part.data(), bytes_of(part));
      all.of_rows.middleRows(theirs.begin, theirs.rows()) = part;
    }
    return all;
  }

  const Group group_;
  const Job job_;
  TailTiles tiles_;
  RowMatrix rows_;
};

class ClusterTail final : public TailPasses {
 public:
  ClusterTail(const Group& group, const RowBlocks& X, const PowerGrid& grid)
      : group_(group), ring_(group, {X.n(), X.d(), grid}), service_(group, kTailService) {
    collective(group_, [&] {
      from_leader(group_, Job{X.n(), X.d(), grid});
      ring_.take_rows(&X);
    });
  }

  PowerSums run(const Floats& weights, Progress& progress) override {
    // What this process does of all pairs: the diagonal of its own rows, and as many as fall to it.
    progress.stage("tails of the kernel");
    progress.check();
    group_.announce(Order{kRun, 0, ""}.text());
    Progress silent;
    PowerSums sums = collective(group_, [&] { return ring_.run(weights, silent); });
    progress.finish();
    return sums;
  }
  double error() const override { return ring_.error(); }

 private:
  const Group group_;
  Ring ring_;
  const Service service_;
};

}  // namespace

std::unique_ptr<TailPasses> cluster_tail(const Group& group, const RowBlocks& X, const PowerGrid& grid) {
  return std::make_unique<ClusterTail>(group, X, grid);
}

void serve_tail(const Group& group) {
  Ring ring(group, from_leader(group, Job{}));
  ring.take_rows(nullptr);
  Progress silent;
  while (Order::of(group.listen()).what == kRun) ring.run({}, silent);
}

}  // namespace zeroloss::internal
