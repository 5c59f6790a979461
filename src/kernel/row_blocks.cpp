#include "zeroloss/kernel/row_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace zeroloss {
namespace {

constexpr Index kNumbers = Index{1} << 22;  // of a block

std::vector<Index> range(Index begin, Index end) {
  std::vector<Index> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

}  // namespace

RowBlocks::RowBlocks(const RowMatrix& X)
    : n_(X.rows()), d_(X.cols()), rows_(std::max<Index>(n_, 1)), whole_(&X) {}

RowBlocks::RowBlocks(Index n, Index d, Read read, Index rows)
    : n_(n),
      d_(d),
      rows_(rows > 0 ? rows : std::max<Index>(kNumbers / d / kWhole, 1) * kWhole),
      read_(std::move(read)) {
  if (rows_ % kWhole != 0)
    throw std::invalid_argument("RowBlocks: rows must be a multiple of " + fmt::to_string(kWhole));
}

RowBlocks::Block RowBlocks::load(Index k) const {
  Block block;
  block.begin = k * rows_;
  if (whole_ != nullptr)
    block.whole_ = whole_;
  else
    block.own_ = read_(range(block.begin, std::min(n_, block.begin + rows_)));
  return block;
}

RowMatrix RowBlocks::rows(const std::vector<Index>& wanted) const {
  return whole_ != nullptr ? RowMatrix((*whole_)(wanted, Eigen::all)) : read_(wanted);
}

}  // namespace zeroloss
