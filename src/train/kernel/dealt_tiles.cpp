#include "train/kernel/dealt_tiles.hpp"

#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/as_double.hpp"
#include "kernel/entries.hpp"
#include "kernel/kernel_named.hpp"
#include "processes/orders.hpp"

namespace zeroloss::internal {
namespace {

constexpr char kPass = 'p', kKeep = 'k', kProduct = 'm';

struct Sizes {
  Index n = 0, d = 0;
};

std::size_t bytes_of(const Matrix& A) { return sizeof(double) * static_cast<std::size_t>(A.size()); }

/// The groups of tiles that a process has.
std::vector<Index> groups_of(int rank, int processes) {
  std::vector<Index> groups;
  for (Index g = rank; g < kGroupsOfTiles; g += processes) groups.push_back(g);
  return groups;
}

/// One process and its share of the tiles. Members are called by all together, `V` matters on process 0.
class Share {
 public:
  Share(const Group& group, const RowMatrix& X, const Kernel& kernel)
      : group_(group), X_(X), kernel_(kernel), mine_(groups_of(group.rank(), group.size())) {}

  /// On process 0 the sums of all groups, in order.
  std::vector<GroupSum> pass(const Matrix& V, Progress& progress) {
    const Matrix shared = on_all(V);
    std::vector<GroupSum> sums = group_sums(X_, kernel_, shared, mine_, progress);
    if (!group_.leads()) {
      for (const GroupSum& sum : sums) {
        const double seen[] = {sum.near_pairs, sum.singular_sum, sum.squares};
        group_.send(0, seen, sizeof seen);
        group_.send(0, sum.product.data(), bytes_of(sum.product));
      }
      return {};
    }
    std::vector<GroupSum> all(static_cast<std::size_t>(kGroupsOfTiles));
    for (std::size_t k = 0; k < sums.size(); ++k)
      all[static_cast<std::size_t>(mine_[k])] = std::move(sums[k]);
    for (int from = 1; from < group_.size(); ++from)
      for (const Index g : groups_of(from, group_.size())) {
        GroupSum& sum = all[static_cast<std::size_t>(g)];
        double seen[3];
        group_.receive(from, seen, sizeof seen);
        sum = {Matrix(V.rows(), V.cols()), seen[0], seen[1], seen[2]};
        group_.receive(from, sum.product.data(), bytes_of(sum.product));
      }
    return all;
  }

  void keep(KernelStorage storage, Progress& progress) {
    floats_.reset();
    doubles_.reset();
    if (storage == KernelStorage::float32) floats_.emplace(X_, kernel_, mine_, progress);
    if (storage == KernelStorage::float64) doubles_.emplace(X_, kernel_, mine_, progress);
  }
  bool keeps() const { return floats_ || doubles_; }

  /// Of the tiles that are kept; the sum over all on process 0.
  Matrix product(const Matrix& V) {
    const Matrix shared = on_all(V);
    Matrix sum = floats_ ? floats_->product(shared) : doubles_->product(shared);
    group_.sum_to(0, sum.data(), static_cast<std::size_t>(sum.size()));
    return sum;
  }

 private:
  Matrix on_all(const Matrix& V) {
    const Index columns = from_leader(group_, V.cols());
    Matrix shared = group_.leads() ? V : Matrix(X_.rows(), columns);
    group_.broadcast(shared.data(), bytes_of(shared));
    return shared;
  }

  const Group group_;
  const RowMatrix& X_;
  const Kernel& kernel_;
  const std::vector<Index> mine_;
  std::optional<KeptTiles<float>> floats_;
  std::optional<KeptTiles<double>> doubles_;
};

bool known(const Kernel& kernel) {
  try {
    return kernel_named(kernel.name).name == kernel.name;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

class DealtTiles final : public KernelTiles {
 public:
  DealtTiles(const Group& group, const RowMatrix& X, const Kernel& kernel)
      : group_(group), X_(X), kernel_(kernel), share_(group, X, kernel), service_(group, kTilesService) {
    collective(group_, [&] {
      std::string name = kernel.name;
      group_.broadcast(name);
      from_leader(group_, Sizes{X.rows(), X.cols()});
      // Group sends what it is given and writes on the others alone.
      group_.broadcast(const_cast<double*>(X.data()), sizeof(double) * static_cast<std::size_t>(X.size()));
    });
  }

  TilePass pass(const Matrix& V, Progress& progress) override {
    auto sums = all_of(kPass, 0, progress, [&](Progress& p) { return share_.pass(V, p); });
    return pass_of(std::move(sums), kernel_, X_.cols());
  }
  void keep(KernelStorage storage, Progress& progress) override {
    all_of(kKeep, static_cast<double>(storage), progress, [&](Progress& p) { share_.keep(storage, p); });
  }
  Matrix product(const Matrix& V, Progress& progress) override {
    if (!share_.keeps()) return pass(V, progress).product;
    return all_of(kProduct, 0, progress, [&](Progress&) { return share_.product(V); });
  }
  double bytes(KernelStorage storage) const override {
    const double number = storage == KernelStorage::float64 ? 8 : storage == KernelStorage::float32 ? 4 : 0;
    const double share = as_double(std::ssize(groups_of(0, group_.size()))) / as_double(kGroupsOfTiles);
    return number * as_double(X_.rows()) * as_double(X_.rows() + kTile) / 2 * share;
  }

 private:
  // The others wait in what is begun, which is therefore not cancelled on the way.
  template <class Work>
  std::invoke_result_t<const Work&, Progress&> all_of(char what, double number, Progress& progress,
                                                      const Work& work) {
    progress.check();
    group_.announce(Order{what, number, ""}.text());
    Progress silent;
    return collective(group_, [&] { return work(silent); });
  }

  const Group group_;
  const RowMatrix& X_;
  const Kernel& kernel_;
  Share share_;
  const Service service_;
};

}  // namespace

std::unique_ptr<KernelTiles> dealt_tiles(const Group& group, const RowMatrix& X, const Kernel& kernel) {
  if (group.size() == 1 || !known(kernel)) return kernel_tiles(X, kernel);
  return std::make_unique<DealtTiles>(group, X, kernel);
}

void serve_tiles(const Group& group) {
  std::string name;
  group.broadcast(name);
  const Kernel kernel = kernel_named(name);
  const auto [n, d] = from_leader(group, Sizes{});
  RowMatrix X(n, d);
  group.broadcast(X.data(), sizeof(double) * static_cast<std::size_t>(X.size()));
  Share share(group, X, kernel);
  Progress silent;
  for (;;) {
    const Order order = Order::of(group.listen());
    if (order.what == kPass)
      share.pass({}, silent);
    else if (order.what == kKeep)
      share.keep(static_cast<KernelStorage>(order.number), silent);
    else if (order.what == kProduct)
      share.product({});
    else
      return;
  }
}

}  // namespace zeroloss::internal
