#include "zeroloss/data/dataset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "data/choose.hpp"
#include "linalg/centered_row.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
namespace {

void check_center(const Dataset& data, const Center& center) {
  if (center.high.size() != center.low.size() || (!center.empty() && center.high.size() != data.d()))
    throw std::invalid_argument(fmt::format("center: {} and {} numbers for points of {}", center.high.size(),
                                            center.low.size(), data.d()));
}

Index record(const Dataset& data, Index i) {
  return data.records.empty() ? i : data.records[static_cast<std::size_t>(i)];
}

[[noreturn]] void fail(const Dataset& data, const std::string& what) {
  throw DataError(fmt::format("{}: {}", data.name.empty() ? "data" : data.name, what));
}

void check_targets(const Dataset& data) {
  if (data.task == Task::none) {
    if (data.y.size() != 0) fail(data, fmt::format("{} targets, but no task", data.y.size()));
    return;
  }
  if (data.y.size() != data.n()) fail(data, fmt::format("{} targets for {} points", data.y.size(), data.n()));
  for (Index i = 0; i < data.n(); ++i) {
    const double y = data.y(i);
    if (!std::isfinite(y)) fail(data, fmt::format("record {}: target {} is not finite", record(data, i), y));
    if (data.task != Task::classification) continue;
    if (y < 0 || y >= static_cast<double>(data.classes()) || y != std::floor(y))
      fail(data, fmt::format("record {}: class index {}; expected an integer from 0 to {}", record(data, i),
                             y, data.classes() - 1));
  }
}

}  // namespace

std::string name(Task task) {
  constexpr std::array names{"none", "regression", "classification"};
  return names[static_cast<std::size_t>(task)];
}

Sample sample(const Dataset& data, Index i) {
  Sample named{record(data, i), ""};
  if (data.task == Task::classification) named.label = data.class_names[static_cast<std::size_t>(data.y(i))];
  if (data.task == Task::regression) named.label = fmt::format("{}", data.y(i) + 0.0);  // all digits; -0 is 0
  if (!data.ids.empty()) named.id = data.ids[static_cast<std::size_t>(i)];
  return named;
}

RowMatrix rows_of_records(const Dataset& data, const RowMatrix& all, const std::string& what) {
  const Index last = data.records.empty() ? -1 : *std::ranges::max_element(data.records);
  if (data.source_records > 0 ? all.rows() != data.source_records : all.rows() <= last)
    throw DataError(fmt::format("{} has {}, and {} has {}{}: there has to be a row for each", what,
                                count(all.rows(), "row", "rows"), data.name,
                                data.source_records > 0 ? "" : "at least ",
                                count(std::max(data.source_records, last + 1), "record", "records")));
  return all(data.records, Eigen::all);
}

std::string describe(const Sample& sample) {
  const std::string who =
      sample.id.empty() ? fmt::format("{}", sample.record) : fmt::format("{} '{}'", sample.record, sample.id);
  return sample.label.empty() ? who : fmt::format("{} (label {})", who, sample.label);
}

void require_targets(const Dataset& data, const char* who) {
  if (data.task != Task::none) return;
  const auto& inputs = data.encoding.inputs;
  throw DataError(fmt::format("{}: {} needs targets; none were found: {}", data.name, who,
                              inputs.empty() ? "add labels"
                              : inputs.back().is == CellKind::text
                                  ? "the last column is text; say `target=-1`"
                                  : "name a column with `target`"));
}

CommonRecords common_records(const std::string& source, const std::vector<std::vector<Index>>& lists,
                             const ReadOptions& options) {
  std::map<Index, std::size_t> times;
  for (const auto& list : lists)
    for (const Index record : list) ++times[record];
  CommonRecords common;
  if (!lists.empty())
    std::ranges::copy_if(lists.front(), std::back_inserter(common.records),
                         [&](Index record) { return times[record] == lists.size(); });
  if (common.records.empty())
    throw DataError(source +
                    ": no record has all of the targets; leave out the one that is missing most often");
  common.others = std::ssize(times) - std::ssize(common.records);
  internal::keep(common.records, source, options.n, options.shuffle, options.seed, options.classes);
  return common;
}

std::vector<Index> places_of(const std::vector<Index>& records, const std::vector<Index>& list) {
  std::map<Index, Index> places;
  for (std::size_t i = 0; i < list.size(); ++i) places[list[i]] = static_cast<Index>(i);
  std::vector<Index> rows;
  rows.reserve(records.size());
  for (const Index record : records) rows.push_back(places.at(record));
  return rows;
}

void keep_records(Dataset& data, const CommonRecords& common) {
  if (common.others > 0)
    data.say(
        fmt::format("left out: {} without one of the targets", count(common.others, "record", "records")));
  if (common.records == data.records) return;
  const std::vector<Index> rows = places_of(common.records, data.records);
  for (RowMatrix* all : {&data.X, &data.embedding, &data.probabilities})
    if (all->rows() > 0) *all = RowMatrix((*all)(rows, Eigen::all));
  if (data.y.size() > 0) data.y = Vector(data.y(rows));
  if (data.targets.rows() > 0) data.targets = Matrix(data.targets(rows, Eigen::all));
  if (!data.ids.empty()) {
    std::vector<std::string> ids;
    for (const Index row : rows) ids.push_back(data.ids[static_cast<std::size_t>(row)]);
    data.ids = std::move(ids);
  }
  data.records = common.records;
}

Dataset joined_targets(std::vector<Dataset> of_each, const ReadOptions& options) {
  if (of_each.empty()) throw std::invalid_argument("joined_targets: there is none");
  std::vector<std::vector<Index>> records;
  for (const Dataset& one : of_each) records.push_back(one.records);
  const bool known = !of_each.front().records.empty();  // else these are points made by hand
  if (known) {
    const CommonRecords common = common_records(of_each.front().name, records, options);
    for (Dataset& one : of_each) keep_records(one, common);
  }
  Dataset& first = of_each.front();
  Matrix targets(first.n(), std::ssize(of_each));
  std::vector<std::string> names;
  for (std::size_t k = 0; k < of_each.size(); ++k) {
    const Dataset& one = of_each[k];
    if (one.n() != first.n()) fail(one, "it has another number of points than the first");
    if (one.task != Task::regression) fail(one, fmt::format("target {} is no number", one.target_name));
    targets.col(static_cast<Index>(k)) = one.y;
    names.push_back(one.target_name);
  }
  Dataset all = std::move(first);
  if (targets.cols() > 1) {
    all.targets = std::move(targets);
    all.target_name = fmt::format("{}", fmt::join(names, ", "));
  }
  return all;
}

void check_around_points(const Dataset& data) {
  if (data.n() < 1 || data.d() < 1)
    fail(data, fmt::format("{} points of {} numbers; expected at least one of each", data.n(), data.d()));
  const auto agrees = [](std::size_t size, Index expected) {
    return size == 0 || static_cast<Index>(size) == expected;
  };
  if (!agrees(data.records.size(), data.n()))
    fail(data, fmt::format("{} record numbers for {} points", data.records.size(), data.n()));
  if (!agrees(data.feature_names.size(), data.d()))
    fail(data, fmt::format("{} feature names for {} features", data.feature_names.size(), data.d()));
  check_targets(data);
}

void check_dataset(const Dataset& data) {
  check_around_points(data);
  if (data.stored)
    fail(data, "its points were left in their file, where the tail of certify alone reads them");
  for (Index i = 0; i < data.n(); ++i)
    for (Index j = 0; j < data.d(); ++j)
      if (!std::isfinite(data.X(i, j)))
        fail(data, fmt::format("record {}, column {}: {}; expected a finite number", record(data, i), j,
                               data.X(i, j)));
}

void normalize_rows(Dataset& data, const Center& center) {
  check_center(data, center);
  std::vector<Index> zero = unit_rows(data.X, center);
  if (!zero.empty()) {
    for (Index& i : zero) i = record(data, i);
    const std::size_t shown = std::min<std::size_t>(zero.size(), 10);
    fail(data,
         fmt::format("{} {} cannot be normalised: record{} {}{}; remove {}, or {}", zero.size(),
                     center.empty() ? (zero.size() == 1 ? "zero row" : "zero rows")
                                    : (zero.size() == 1 ? "row at the mean point" : "rows at the mean point"),
                     zero.size() == 1 ? "" : "s",
                     fmt::join(zero.begin(), zero.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     zero.size() > shown ? ", ..." : "", zero.size() == 1 ? "it" : "them",
                     center.empty() ? "append a constant: `bias=1`" : "do not centre"));
  }
}

void subtract(Dataset& data, const Center& center) {
  check_center(data, center);
  std::vector<long double> row;
  for (Index i = 0; i < data.n(); ++i) {
    internal::centered_row(data.X, i, center, row);
    for (Index j = 0; j < data.d(); ++j) data.X(i, j) = static_cast<double>(row[static_cast<std::size_t>(j)]);
  }
}

void check_unit_rows(const Dataset& data, const Center& center) {
  check_center(data, center);
  std::vector<long double> row;
  for (Index i = 0; i < data.n(); ++i) {
    internal::centered_row(data.X, i, center, row);
    if (const auto length = static_cast<double>(internal::length_of(row)); !(std::abs(length - 1) <= 1e-12))
      fail(data,
           fmt::format(
               "record {} has length {:.17g}; rows that are not divided by their lengths must have length 1",
               record(data, i), length));
  }
}

Matrix targets(const Dataset& data) {
  if (data.task == Task::none)
    throw std::invalid_argument(
        "targets: the data set has no targets; give task regression or classification");
  if (data.task == Task::regression) {
    const double largest = data.n() > 0 ? data.y.cwiseAbs().maxCoeff() : 0;
    if (largest != 0 && !(largest > 1e-140 && largest < 1e140))  // squares leave the range of numbers
      fail(data, fmt::format("targets of up to {:.3g} are out of scale: divide them by it", largest));
    return data.y;
  }
  if (data.classes() < 2)
    fail(data, fmt::format("{} classes; classification needs at least two", data.classes()));
  if (data.classes() == 2) return (2 * data.y.array() - 1).matrix();
  Matrix columns = Matrix::Constant(data.n(), data.classes(), -1);
  for (Index i = 0; i < data.n(); ++i) columns(i, static_cast<Index>(data.y(i))) = 1;
  return columns;
}

}  // namespace zeroloss
