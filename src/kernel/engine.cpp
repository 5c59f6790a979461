#include "zeroloss/kernel/engine.hpp"

#include "kernel/tail_passes.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// Blocks of rows one after the other, each with those before it.
class PassesHere final : public TailPasses {
 public:
  PassesHere(const RowBlocks& X, const PowerGrid& grid) : X_(X), tiles_(X.n(), X.d(), grid) {}

  PowerSums run(const Floats& weights, Progress& progress) override {
    PowerSums result{Matrix::Zero(X_.n(), tiles_.grid().size()), {}};
    const auto sums_of = [&](const TailTiles::Block& block) {
      return result.of_rows.middleRows(block.begin, block.X.rows());
    };
    progress.stage("tails of the kernel", TailTiles::tiles_of_all(X_.n()));
    for (Index a = 0; a < X_.count(); ++a) {
      const RowBlocks::Block loaded = X_.load(a);
      const TailTiles::Block rows(loaded.X(), loaded.begin);
      for (Index b = 0; b < a; ++b) {
        const RowBlocks::Block before = X_.load(b);
        const TailTiles::Block columns(before.X(), before.begin);
        tiles_.add(rows, columns, weights, sums_of(rows), sums_of(columns), progress);
      }
      tiles_.add(rows, rows, weights, sums_of(rows), sums_of(rows), progress);
    }
    progress.finish();
    result.closest = tiles_.take_closest();
    return result;
  }

  double error() const override { return tiles_.error(); }

 private:
  const RowBlocks& X_;
  TailTiles tiles_;
};

}  // namespace

double Engine::matrix_bytes(Index n, Index /*d*/, Index columns) const {
  return 1.05 * Packed<double>::bytes(n) + 8 * static_cast<double>(columns) * static_cast<double>(n);
}

double Engine::available_bytes() const { return static_cast<double>(available_memory_bytes()); }

std::unique_ptr<KernelMatrix> Engine::matrix(const RowMatrix& X) { return std::make_unique<PackedMatrix>(X); }

std::unique_ptr<TailPasses> Engine::tail_passes(const RowBlocks& X, const PowerGrid& grid) {
  return std::make_unique<PassesHere>(X, grid);
}

Engine& this_process() {
  static Engine engine;
  return engine;
}

}  // namespace zeroloss
