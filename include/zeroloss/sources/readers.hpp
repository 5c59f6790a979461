#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"

/// The step between a format and a Dataset: choosing the task, the classes and the points. A new format is a
/// row of src/sources/source_kind.hpp, which opens a Source.
namespace zeroloss {

/// An opened source: all its targets, and a way to decode the points that are wanted, so that the others
/// never are.
struct Source {
  std::string name;    ///< what the user called it
  Index n = 0, d = 0;  ///< records in the source and numbers in each
  /// The points of these records, in this order.
  std::function<RowMatrix(const std::vector<Index>& records)> points;
  std::vector<double> numbers;               ///< n targets as numbers, or
  std::vector<std::string> texts;            ///< n targets as text; both empty: no targets
  Task task = Task::none;                    ///< what "auto" means; none: told from the values
  std::string target_name, digest;           ///< as in Dataset
  std::vector<std::string> feature_names;    ///< d names, or empty
  std::vector<std::string> ids{};            ///< n names of the records, or empty
  PictureSize picture{};                     ///< as in Dataset
  bool resized = false;                      ///< its images, as ReadOptions::resize says
  std::shared_ptr<const DataTable> table{};  ///< of which select() makes points; then `points` is empty
  std::optional<Index> target{};             ///< the table's column of targets
  std::string standardize = "no";            ///< what "auto" means
  double bias = 0;                           ///< what is appended if nobody asked
  std::vector<std::string> remarks{};        ///< what there is to say of how it was read, a line each
  bool sparse = false;        ///< numbers behind the d-th are 0: a file has as many as it writes
  bool wide_points = false;   ///< they are of integers of 64 bits
  bool wide_numbers = false;  ///< the targets are
};

/// A table that is in memory as csv. `header`: whether its first record is names; nothing: told from the
/// cells; if it is known, commas separate. Throws like read_dataset.
Source open_csv(std::string name, std::string csv, std::optional<bool> header, const ReadOptions& options);

/// Opens what read_dataset reads; select() then decides what is kept. Throws like read_dataset.
Source open_source(const std::string& source, const ReadOptions& options);

/// The Source of points that are in memory already.
std::function<RowMatrix(const std::vector<Index>&)> rows_of(RowMatrix X);

/// A sparse source with d numbers a record; others, and those that have as many, as they are.
Source widened(Source source, Index d);

/// The Source that select() makes this data set of; its records are the data set's rows. `data` must outlive
/// it.
Source source_of(const Dataset& data);

/// What other data have settled: the numbers that a row becomes, and the classes.
struct Like {
  const Encoding* encoding = nullptr;  ///< of tables; points are then not standardised: a model does that
  const std::vector<std::string>* class_names = nullptr;  ///< all there are, in this order
  bool one_class = false;  ///< points may all be of one class: a network knows of the others
};

/// Applies task, classes, shuffle, n, labels and d of the options, in this order; the classes are those of
/// the points kept. Task auto: text = classes; integers with at most max(20, sqrt(source.n)) distinct values
/// = classes, but not more than ten that all differ; other numbers = regression. Throws std::invalid_argument
/// for an option out of its range and DataError where the source cannot satisfy it (unknown class, fewer than
/// n points, a single class left, text as regression target); ResourceError if the points kept do not fit
/// into memory. With class names of `like`, targets are of these, be all of one class; another one, or one in
/// `options.classes` that is in neither, is a DataError.
Dataset select(const Source& source, const ReadOptions& options, const Like& like = {});

/// The same, but the points stay where they are, Dataset::stored: for what is not a table. Throws as select()
/// does, std::invalid_argument for options that need all points in memory (standardize, bias).
Dataset select_stored(const Source& source, const ReadOptions& options);

/// The options to read points from `source` with that a run on `data`, read with `options`, is tested on: the
/// columns, classes and projection of those, all points and labels as they are. Where `source` is what the
/// data came from, its other split; throws DataError where that is one file.
ReadOptions test_options(const std::string& source, const Dataset& data, const ReadOptions& options);

/// The points of a source as those of `data` were made: by its columns, with targets of its task and its
/// classes; `options` are test_options(). Throws as select() does, DataError if there are no targets.
Dataset select_test(const Dataset& data, const Source& source, const ReadOptions& options);

/// The names that read_dataset knows beside paths: "digits", "mnist", ..., "sphere:n=..,d=..".
std::vector<std::string> known_names();

/// Data that is part of the library.
struct Included {
  std::string name;  ///< "digits"
  std::string what;  ///< "handwritten digits, 8x8 pixels 0..16"
};
std::vector<Included> included();

/// Data that is made instead of read, the same from the same text and seed, whatever the machine.
struct Generator {
  std::string form;  ///< of the text: "sphere:n=..,d=..[,y=normal|sign|none][,seed=..]"
  std::string what;  ///< "points uniform on the unit sphere"
};
std::vector<Generator> generators();

}  // namespace zeroloss
