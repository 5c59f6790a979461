#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/choices.hpp"
#include "base/parallel_for.hpp"
#include "data/choose.hpp"
#include "linalg/decompositions.hpp"
#include "sources/table_source.hpp"
#include "tables/spelling.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class T>
const T& at(const std::vector<T>& values, Index i) {
  return values[static_cast<std::size_t>(i)];
}

/// The class of every record, and the sorted names of the classes.
struct Classes {
  std::vector<std::string> names;
  std::vector<Index> of;
};

/// Of all records that have a target, be they used or not; those of the others are meaningless.
template <class T, class Has>
Classes classes_of(const std::vector<T>& values, const Has& has) {
  std::set<T> sorted;
  for (const T& value : values)
    if (has(value)) sorted.insert(value);
  const std::vector<T> order(sorted.begin(), sorted.end());
  Classes classes;
  for (const T& value : order) classes.names.push_back(fmt::format("{}", value));
  classes.of.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (has(values[i])) classes.of[i] = std::ranges::lower_bound(order, values[i]) - order.begin();
  return classes;
}

Classes classes_of(const Source& source) {
  if (source.texts.empty()) return classes_of(source.numbers, [](double y) { return std::isfinite(y); });
  return classes_of(source.texts,
                    [&](const std::string& text) { return source.table == nullptr || !text.empty(); });
}

/// What the names say if each is a number, larger than the one before; empty otherwise.
std::vector<double> increasing_numbers(const std::vector<std::string>& names) {
  std::vector<double> values;
  for (const std::string& name : names) {
    const auto value = parsed_number(name);
    if (!value || !std::isfinite(*value) || (!values.empty() && *value <= values.back())) return {};
    values.push_back(*value);
  }
  return values;
}

Task task_of(const Source& source, const std::vector<Index>& used, const ReadOptions& options,
             std::vector<std::string>& remarks) {
  if (source.numbers.empty() && source.texts.empty()) {
    if (options.task != "auto")
      throw DataError(fmt::format("{}: has no targets, so its task cannot be {}", source.name, options.task));
    return Task::none;
  }
  if (options.task == "classification") return Task::classification;
  if (options.task == "regression") {
    if (source.texts.empty()) return Task::regression;
    throw DataError(fmt::format("{}: {} holds text (record 0: '{}'); a regression target must be numbers",
                                source.name, excerpt(source.target_name), excerpt(source.texts.front())));
  }
  if (source.task != Task::none) return source.task;
  if (!source.texts.empty()) return Task::classification;
  const double most = std::max(20.0, std::sqrt(static_cast<double>(used.size())));
  std::set<double> distinct;
  for (const Index i : used) {
    const double y = at(source.numbers, i);
    distinct.insert(y);
    if (y != std::floor(y) || static_cast<double>(distinct.size()) > most) return Task::regression;
  }
  // More integers than a few of which most occur once are no classes, unless they count from 0 or 1.
  constexpr std::size_t kFew = 5, kMost = 10;
  const bool counting = (*distinct.begin() == 0 || *distinct.begin() == 1) &&
                        *distinct.rbegin() - *distinct.begin() + 1 == static_cast<double>(distinct.size());
  const bool all_differ = used.size() > kMost && distinct.size() == used.size();
  if (!all_differ && (counting || distinct.size() <= kFew || 2 * distinct.size() <= used.size())) {
    if (!counting && distinct.size() > 2)
      remarks.push_back(fmt::format(
          "targets: {} different whole numbers are taken for classes; `task=regression` takes them "
          "for numbers",
          distinct.size()));
    return Task::classification;
  }
  remarks.push_back(
      fmt::format("targets: numbers, {} different ones in {}; `task=classification` makes classes of them",
                  distinct.size(), count(static_cast<Index>(used.size()), "record", "records")));
  return Task::regression;
}

void check_finite(const Source& source, const std::vector<Index>& used) {
  for (const Index i : used)
    if (!source.numbers.empty() && !std::isfinite(at(source.numbers, i)))
      throw DataError(
          fmt::format("{}: record {}: target {} is not finite", source.name, i, at(source.numbers, i)));
}

void say_rounding(const Source& source, Dataset& data) {
  constexpr double kFirst = 0x1p53;  // from here on not every integer is a double
  const auto wide = [](const auto& values) {
    return std::any_of(values.data(), values.data() + values.size(),
                       [](double x) { return std::abs(x) >= kFirst; });
  };
  if ((source.wide_points && wide(data.X)) ||
      (source.wide_numbers && data.task == Task::regression && wide(data.y)))
    data.say(
        "rounded: integers of 2^53 and more to the nearest double: what differs in later digits alone is the "
        "same");
}

/// Random orthonormal columns; fewer of them are the first of more.
Matrix orthonormal(Index rows, Index columns, std::uint64_t seed) {
  const SerialBlas serial;  // the same bits whoever calls
  Matrix directions(rows, columns);
  for (Index k = 0; k < columns; ++k)
    Random(seed, Stream::projection, static_cast<std::uint64_t>(k)).fill_normal(directions.col(k));
  return Qr(directions).Q(columns);
}

/// A random subspace of d dimensions; that of a smaller d lies in that of a larger one of the same seed.
Matrix subspace(const Source& source, Index features, Index d, std::uint64_t seed) {
  if (d > features)
    throw DataError(fmt::format("{}: d = {} dimensions were asked for, but there are {} features",
                                source.name, d, features));
  return orthonormal(features, d, seed);
}

/// Coordinates of the points in it. They are the data from here on, as the doubles that they are: each number
/// is a sum of its own, rounded once, so what a point becomes does not depend on the others.
RowMatrix projected(const RowMatrix& X, const Matrix& basis) {
  const Index d = basis.cols();
  RowMatrix coordinates(X.rows(), d);
  using Sums = Eigen::VectorX<long double>;
  parallel_for(
      X.rows(), [&] { return Sums(d); },
      [&](Sums& sums, Index i) {
        sums.setZero();
        for (Index j = 0; j < X.cols(); ++j)
          for (Index k = 0; k < d; ++k) sums(k) += static_cast<long double>(X(i, j)) * basis(j, k);
        coordinates.row(i) = sums.cast<double>();
      });
  return coordinates;
}

/// The number of a class among those that other data have.
Index class_among(const std::vector<std::string>& given, const std::string& name, const std::string& data,
                  bool joined) {
  const Index found = NameIndex(given, joined).place(name);
  if (found >= 0) return found;
  const Index alike = NameIndex(given, true).place(name);
  throw DataError(
      fmt::format("{}: class '{}' is none of those trained on: {}{}", data, excerpt(name), excerpt(given),
                  alike < 0 ? ""
                            : fmt::format("; it differs from '{}' in case, blanks or a final period alone: "
                                          "`spelling=joined` takes it for that",
                                          excerpt(given[static_cast<std::size_t>(alike)]))));
}

/// The targets of the records kept; classes that no point has any more are dropped, unless they are given.
void set_targets(Dataset& data, const Source& source, const Classes& classes, const Like& like,
                 const ReadOptions& options) {
  if (data.task == Task::none) return;
  data.y.resize(static_cast<Index>(data.records.size()));
  if (data.task == Task::regression) {
    for (Index i = 0; i < data.y.size(); ++i) data.y(i) = at(source.numbers, at(data.records, i));
    return;
  }
  const std::vector<std::string>* given = like.class_names;
  if (given != nullptr) data.class_names = *given;
  std::vector<Index> index(classes.names.size(), -1);
  for (const Index record : data.records) index[static_cast<std::size_t>(at(classes.of, record))] = 0;
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (index[k] < 0) continue;
    if (given != nullptr) {
      index[k] = class_among(*given, classes.names[k], data.name,
                             options.spelling == "joined" || data.encoding.joined);
      continue;
    }
    index[k] = data.classes();
    data.class_names.push_back(classes.names[k]);
  }
  if (data.classes() < 2 && !like.one_class)
    throw DataError(
        fmt::format("{}: all of the {} points kept have class '{}'; classification needs two classes: {}",
                    data.name, data.records.size(), excerpt(data.class_names.front()),
                    options.classes.size() == 1 ? "name two or more in `classes`"
                    : std::ssize(data.records) == source.n && source.texts.empty()
                        ? "name another `target`, or say `task=regression`"
                    : std::ssize(data.records) == source.n ? "name another `target`"
                                                           : "keep more points with `n`, or `shuffle` them"));
  for (Index i = 0; i < data.y.size(); ++i)
    data.y(i) = static_cast<double>(at(index, at(classes.of, at(data.records, i))));
}

void check_options(const ReadOptions& options) {
  check_choices("read_dataset", options);
  if (options.d < 0)
    throw std::invalid_argument(
        fmt::format("read_dataset: d must be >= 1, or 0 to keep the features; got {}", options.d));
  check_choice("read_dataset", options.n, options.labels, options.seed);
  constexpr Index kMostPixels = 10'000;
  if (options.resize < 0 || options.resize > kMostPixels)
    throw std::invalid_argument(
        fmt::format("read_dataset: resize must be from 1 to {}, or 0 for images as they are; got {}",
                    kMostPixels, options.resize));
}

/// Options of tables are an error where there is none.
void check_no_table_options(const Source& source, const ReadOptions& options) {
  if (source.table) return;
  const auto refuse = [&](const char* option) {
    throw std::invalid_argument(
        fmt::format("read_dataset: `{}` is for tables; {} is not a csv file", option, source.name));
  };
  if (!options.features.empty()) refuse("features");
  if (!options.drop.empty()) refuse("drop");
  if (!options.id.empty()) refuse("id");
  if (!options.one_hot.empty()) refuse("one_hot");
  if (!options.na_values.empty()) refuse("na_values");
  const ReadOptions plain;
  if (options.spelling != plain.spelling) refuse("spelling");
  if (options.unknown != plain.unknown) refuse("unknown");
  if (!options.delimiter.empty()) refuse("delimiter");
  if (options.decimal != plain.decimal) refuse("decimal");
  if (options.header != plain.header) refuse("header");
  if (options.skip) refuse("skip");
  if (options.skip_end) refuse("skip_end");
}

/// The records that can be used, of a table with what it says of its columns.
Choice used_of(const Source& source, const ReadOptions& options, const Encoding* encoding) {
  if (source.table && encoding == nullptr)
    return choose_columns(*source.table, source.target,
                          {options.features, options.drop, options.one_hot, options.id, options.missing,
                           options.na_values, options.spelling == "joined"});
  Choice choice;
  if (source.table) {
    choice.encoding = *encoding;
    choice.id = id_of(*source.table, source.target, *encoding, options.id);
  }
  for (Index i = 0; i < source.n; ++i) {
    const bool absent =
        source.table && (source.texts.empty() ? !source.numbers.empty() && std::isnan(at(source.numbers, i))
                                              : at(source.texts, i).empty());
    if (!absent) choice.records.push_back(i);
  }
  if (const Index left_out = source.n - std::ssize(choice.records); left_out > 0)
    choice.remarks.push_back(fmt::format("left out: {} without a target; `target=none` takes all",
                                         count(left_out, "record", "records")));
  if (source.table)
    treat_missing(*source.table, *encoding, options.missing, options.unknown == "missing", choice);
  return choice;
}

/// A class whose number is written in several ways: 7, 007 and 7.0.
void say_spellings(const Source& source, const Classes& classes, const std::vector<Index>& used,
                   std::vector<std::string>& remarks) {
  if (!source.table || !source.target) return;
  const Column& column = source.table->columns[static_cast<std::size_t>(*source.target)];
  std::vector<std::set<std::string>> spellings(classes.names.size());
  for (const Index i : used)
    spellings[static_cast<std::size_t>(at(classes.of, i))].insert(std::string(column.cells[i]));
  for (std::size_t k = 0; k < spellings.size(); ++k)
    if (spellings[k].size() > 1)
      remarks.push_back(
          fmt::format("class {} is written {}", classes.names[k], fmt::join(spellings[k], ", ")));
}

Standardization standardization_of(const Dataset& data, const Source& source, const ReadOptions& options) {
  const bool automatic = options.standardize == "auto";
  if (options.d > 0) {  // the coordinates of a subspace are no columns
    if (!automatic && options.standardize != "no")
      throw std::invalid_argument("read_dataset: `standardize` and `d` exclude each other");
    return standardization(data.X, "no", options.bias.value_or(0));
  }
  auto made = standardization(data.X, automatic ? source.standardize : options.standardize,
                              options.bias.value_or(source.bias));
  made.automatic = automatic && !options.bias;
  return made;
}

/// A data set that lacks its points, and how they are chosen.
struct Chosen {
  Dataset data;
  Choice choice;
};
Chosen choose_all_but_points(const Source& source, const ReadOptions& options, const Like& like) {
  check_options(options);
  if (source.n < 1 || source.d < 1)
    throw DataError(fmt::format("{}: {} records of {} numbers; expected at least one of each", source.name,
                                source.n, source.d));
  check_no_table_options(source, options);
  if (options.resize > 0 && !source.resized)
    throw std::invalid_argument(
        fmt::format("read_dataset: `resize` is for folders of images; {} is none", source.name));
  Chosen chosen;
  Dataset& data = chosen.data;
  data.name = source.name;
  data.digest = source.digest;
  data.feature_names = source.feature_names;
  data.picture = source.picture;
  data.source_records = source.n;
  data.target_name = source.target_name;
  Choice& choice = chosen.choice = used_of(source, options, like.encoding);
  data.encoding = choice.encoding;
  data.remarks = data.brief = source.remarks;
  data.remarks.insert(data.remarks.end(), choice.remarks.begin(), choice.remarks.end());
  const std::vector<std::string>& brief = choice.brief.empty() ? choice.remarks : choice.brief;
  data.brief.insert(data.brief.end(), brief.begin(), brief.end());
  const auto before = std::ssize(data.remarks);
  const std::vector<Index> used = std::move(choice.records);
  check_finite(source, used);
  data.task = task_of(source, used, options, data.remarks);
  Classes classes;
  if (data.task == Task::classification) {
    classes = classes_of(source);
    data.source_classes = classes.names;
    if (source.table && source.texts.empty()) say_spellings(source, classes, used, data.remarks);
    if (source.table && like.class_names == nullptr)
      if (std::string several = several_spellings(data.target_name, classes.names); !several.empty())
        data.remarks.push_back(std::move(several));
  }
  std::vector<Index>& records = data.records;
  if (options.classes.empty()) {
    records = used;
  } else if (data.task == Task::classification) {
    std::vector<std::string> wanted = options.classes;
    if (like.class_names != nullptr)  // they need not all be there
      std::erase_if(wanted, [&](const std::string& name) {
        return std::ranges::find(classes.names, name) == classes.names.end() &&
               std::ranges::find(*like.class_names, name) != like.class_names->end();
      });
    records = records_of_classes(source.name, classes.of, classes.names, wanted, used);
    if (records.empty())
      throw DataError(fmt::format("{}: no point of the classes {}; its classes are {}", source.name,
                                  excerpt(options.classes), excerpt(classes.names)));
  } else {
    throw DataError(
        fmt::format("{}: classes {} were asked for, but {}", source.name, excerpt(options.classes),
                    data.task == Task::none ? "it has no targets"
                                            : "its target is a number; set task to classification"));
  }
  keep(records, source.name, options.n, options.shuffle, options.seed, options.classes);
  const auto n = static_cast<Index>(records.size());
  set_targets(data, source, classes, like, options);
  if (data.task == Task::classification && data.classes() == n && n > 10 && like.class_names == nullptr)
    data.remarks.push_back(
        fmt::format("every record has a class of its own: is {} an identifier?", excerpt(data.target_name)));
  if (options.labels != "given" && data.task == Task::none)
    throw DataError(fmt::format("{}: has no labels to make {}", data.name, options.labels));
  treat_labels(data.y, data.classes(), options.labels, options.seed);
  data.label_treatment = options.labels;
  data.brief.insert(data.brief.end(), data.remarks.begin() + before, data.remarks.end());
  if (options.verbose) data.brief.clear();
  return chosen;
}

/// Points of a source that are no table, as they are wanted.
StoredPoints left_in_place(const Source& source, const ReadOptions& options, std::vector<Index> records) {
  StoredPoints stored{static_cast<Index>(records.size()), source.d, {}};
  Matrix basis;
  if (options.d > 0) {
    basis = subspace(source, source.d, options.d, options.seed);
    stored.d = options.d;
  }
  stored.read = [points = source.points, name = source.name, basis = std::move(basis),
                 records = std::move(records)](const std::vector<Index>& rows) {
    std::vector<Index> wanted;
    wanted.reserve(rows.size());
    for (const Index row : rows) wanted.push_back(at(records, row));
    RowMatrix X = points(wanted);
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < X.cols(); ++j)
        if (!std::isfinite(X(i, j)))
          throw DataError(fmt::format("{}: record {}, column {}: {}; expected a finite number", name,
                                      at(wanted, i), j, X(i, j)));
    return basis.size() > 0 ? projected(X, basis) : X;
  };
  return stored;
}

}  // namespace

Dataset select(const Source& source, const ReadOptions& options, const Like& like) {
  const Encoding* encoding = like.encoding;
  auto [data, choice] = choose_all_but_points(source, options, like);
  const std::vector<Index>& records = data.records;
  const auto n = static_cast<Index>(records.size());
  const Index d = source.table ? data.encoding.d() : source.d;
  require_memory(8.0 * static_cast<double>(n) * static_cast<double>(d),
                 fmt::format("{}: {} points of {} numbers", source.name, n, d), "keep fewer points with n");
  if (source.table) {
    data.X = encode(*source.table, data.encoding, records, options.unknown == "missing");
    if (source.table->header || !choice.remarks.empty()) data.feature_names = data.encoding.features();
  } else {
    data.X = source.points(records);
  }
  const bool named = !source.ids.empty() && options.id.empty();
  for (const Index i : records) {
    if (named)
      data.ids.push_back(at(source.ids, i));
    else if (choice.id)
      data.ids.emplace_back(source.table->columns[static_cast<std::size_t>(*choice.id)].cells[i]);
  }
  check_dataset(data);
  say_rounding(source, data);
  if (options.d > 0) {
    data.X = projected(data.X, subspace(source, data.d(), options.d, options.seed));
    data.feature_names.clear();
    data.picture = {};
  }
  if (encoding == nullptr) data.standardization = standardization_of(data, source, options);
  return data;
}

Dataset select_stored(const Source& source, const ReadOptions& options) {
  const auto refuse = [&](const char* option) {
    throw std::invalid_argument(
        fmt::format("read_dataset: `{}` needs all points in memory, and {} is read by blocks; leave it out, "
                    "or keep fewer points with `n`",
                    option, source.name));
  };
  if (source.table) throw DataError(source.name + ": a table is not read by blocks; save it as npy");
  if (options.standardize != "auto" && options.standardize != "no") refuse("standardize");
  if (options.bias.value_or(source.bias) != 0) refuse("bias");
  Dataset data = choose_all_but_points(source, options, {}).data;
  if (source.wide_points) data.say("integers of 64 bits are read as the nearest doubles");
  if (options.d > 0) data.feature_names.clear();
  data.stored = std::make_shared<StoredPoints>(left_in_place(source, options, data.records));
  check_around_points(data);
  return data;
}

ReadOptions test_options(const std::string& source, const Dataset& data, const ReadOptions& options) {
  const ReadOptions plain;
  ReadOptions test = options;
  const bool other = source == data.name && options.split == plain.split;
  if (other && std::filesystem::is_regular_file(source))
    throw DataError(
        fmt::format("{}: the data and `test` are the same file; name another file of test points", source));
  test.split = other ? "test" : plain.split;
  test.task = data.task == Task::none ? plain.task : name(data.task);
  test.n = plain.n;
  test.shuffle = plain.shuffle;
  test.labels = plain.labels;
  if (!data.encoding.empty()) {  // which says what becomes of the columns
    test.features = plain.features;
    test.drop = plain.drop;
    test.one_hot = plain.one_hot;
    test.id = plain.id;
  }
  return test;
}

Dataset select_test(const Dataset& data, const Source& source, const ReadOptions& options) {
  if (source.numbers.empty() && source.texts.empty())
    throw DataError(source.name + ": has no targets to compare with");
  Like like;
  if (source.table && !data.encoding.empty()) like.encoding = &data.encoding;
  if (data.task == Task::classification) like.class_names = &data.class_names;
  return select(widened(source, data.d()), options, like);
}

Source source_of(const Dataset& data) {
  Source source;
  source.name = data.name;
  source.n = data.n();
  source.d = data.d();
  source.points = [&X = data.X](const std::vector<Index>& records) {
    return RowMatrix(X(records, Eigen::all));
  };
  source.task = data.task;
  source.target_name = data.target_name;
  source.digest = data.digest;
  source.feature_names = data.feature_names;
  source.ids = data.ids;
  source.picture = data.picture;
  source.standardize = data.standardization.how;
  source.bias = data.standardization.lengths;
  if (data.task == Task::regression) source.numbers.assign(data.y.begin(), data.y.end());
  if (data.task == Task::classification) {
    // Classes are sorted again: by value where their names are numbers in that order.
    const std::vector<double> values = increasing_numbers(data.class_names);
    for (const double y : data.y) {
      const auto k = static_cast<std::size_t>(y);
      if (values.empty())
        source.texts.push_back(data.class_names[k]);
      else
        source.numbers.push_back(values[k]);
    }
  }
  return source;
}

Source widened(Source source, Index d) {
  if (!source.sparse || source.d >= d) return source;
  for (Index j = source.d; j < d && !source.feature_names.empty(); ++j)
    source.feature_names.push_back(
        fmt::format("{}", parsed_integer<Index>(source.feature_names.front()).value_or(0) + j));
  source.remarks.push_back(
      fmt::format("svmlight: {} more numbers, 0, as in the data of the model", d - source.d));
  source.points = [points = std::move(source.points), d](const std::vector<Index>& records) {
    const RowMatrix narrow = points(records);
    RowMatrix X = RowMatrix::Zero(narrow.rows(), d);
    X.leftCols(narrow.cols()) = narrow;
    return X;
  };
  source.d = d;
  return source;
}

std::function<RowMatrix(const std::vector<Index>&)> rows_of(RowMatrix X) {
  return [X = std::move(X)](const std::vector<Index>& records) { return RowMatrix(X(records, Eigen::all)); };
}

}  // namespace zeroloss
