#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/data/standardize.hpp"
#include "zeroloss/linalg/unit_rows.hpp"
#include "zeroloss/tables/table.hpp"

/// Files, names and generators become one value: a Dataset.
namespace zeroloss {

enum class Task { none, regression, classification };
std::string name(Task task);  ///< as it is spelled here

/// The layout of points that are pictures: planes of height x width numbers, one after the other, or the
/// numbers of a pixel side by side.
struct PictureSize {
  Index height = 0, width = 0, planes = 0;  ///< 0: no pictures
  bool together = false;                    ///< pixels one after the other, not planes

  bool operator==(const PictureSize&) const = default;
};
/// The layout of an array's rows: sizes height, width; height, width, planes; or planes, height, width, with
/// 1, 3 or 4 planes. Height 0 for other sizes.
PictureSize picture_of_sizes(const std::vector<Index>& sizes);

/// Points that stay in their file.
struct StoredPoints {
  Index n = 0, d = 0;
  /// Those of these rows of the data set, in this order, finite. Throws DataError.
  std::function<RowMatrix(const std::vector<Index>& rows)> read;
};

/// n points with their targets. Made by read_dataset, or by hand from arrays.
struct Dataset {
  RowMatrix X;  ///< n x d, finite, as read (not yet centred or normalised)
  Vector y;     ///< n numbers (regression) or class indices 0..c-1; empty if Task::none
  Task task = Task::none;
  std::vector<std::string> class_names;  ///< c names, sorted (numbers by value); empty unless classification
  std::vector<Index> records;            ///< 0-based record of each point in its source
  Index source_records = 0;              ///< how many the source has; 0: not known
  std::string name;                      ///< what the user called it: a path or a name
  std::string digest;                    ///< SHA-256 (hex) of the bytes of the source
  std::vector<std::string> feature_names;  ///< d names, or empty
  std::string target_name;  ///< where y came from ("column 'label'", "labels file ..."); empty if none
  std::string label_treatment = "given";  ///< given | random | noise:p
  std::vector<std::string> ids{};         ///< n names of the samples, or empty
  Standardization standardization{};      ///< what certify and fit do to the points first
  Encoding encoding{};                    ///< how rows of a table became X; empty where X was read as it is
  std::vector<std::string> remarks{};     ///< what was done to a table, a line each
  std::vector<std::string> brief{};       ///< the same in fewer lines, for texts; empty: `remarks` is short
  PictureSize picture{};                  ///< where the source says so
  /// Several numbers a sample, n x r, in place of y: for prove. Empty: y.
  Matrix targets{};
  /// What somebody's model says of the points, n x p (finite) and n x c: for audit. Empty: nothing.
  RowMatrix embedding{}, probabilities{};
  /// Where the points are if X is empty: certify alone reads them from there.
  std::shared_ptr<const StoredPoints> stored{};
  /// All classes of the source, sorted, whichever of them `classes` and `n` kept; empty where that is not
  /// known.
  std::vector<std::string> source_classes{};

  Index n() const { return stored ? stored->n : X.rows(); }
  Index d() const { return stored ? stored->d : X.cols(); }
  Index classes() const { return static_cast<Index>(class_names.size()); }

  /// One more remark.
  void say(const std::string& remark) {
    remarks.push_back(remark);
    if (!brief.empty()) brief.push_back(remark);
  }
  /// What texts say: as much as there is room for.
  const std::vector<std::string>& shown_remarks() const { return brief.empty() ? remarks : brief; }
};

/// A point as people know it: `record` is its 0-based number in the source.
struct Sample {
  Index record = 0;
  std::string label;  ///< class name or number; empty without labels
  std::string id{};   ///< its name; empty without names
};
template <Is<Sample> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  visit(Field{"record", "Its 0-based number in the source."}.spelled("sample"), s.record);
  visit(Field{"label", "Class name or number; empty without labels."}, s.label);
  visit(Field{"id", "Its name in the data; empty without names."}, s.id);
}
Sample sample(const Dataset& data, Index i);

/// How points are pictures: as their source says, or else as 64, 784 or 3,072 numbers look that are whole and
/// at most 255, or in [0, 1]: digits, MNIST, CIFAR. Height 0: they are none.
PictureSize picture_of(const Dataset& data);
std::string describe(const Sample& sample);  ///< "3 (label a)"; the number alone without labels

struct SamplePair {
  Sample first, second;
  double distance = 0;  ///< of the normalised points; to minus the second if antipodal
  bool antipodal = false;
};

/// What to read, and what of it to keep.
struct ReadOptions {
  /// csv: name or 0-based number of the target column, -1 the last; "" = label, target, class or y if
  /// present. npz: the array of targets; "" = y beside X, y_train beside X_train, target or labels beside
  /// data. "none" = no target.
  std::string target{};
  std::string features{};                ///< csv: "" = all that do not look like identifiers, all, or a list
  std::vector<std::string> drop{};       ///< csv: columns left out
  std::string id{};                      ///< csv: the column that names samples
  std::vector<std::string> one_hot{};    ///< csv: columns of numbers that are categories
  std::string missing = "median";        ///< csv: cells: median (and a flag), drop (the record) or error
  std::vector<std::string> na_values{};  ///< csv: words and numbers that mean a missing cell too
  std::string spelling = "as_written";   ///< csv: names that differ in case, blanks or a final period: joined
  std::string unknown = "error";     ///< csv, for a model: categories that it has not seen: error | missing
  std::string delimiter{};           ///< csv: one character, tab or blank; "" = told from the first lines
  std::string decimal = "auto";      ///< csv: what begins a fraction: auto | . | ,
  std::string header = "auto";       ///< csv: whether the first line is names: auto | yes | no
  std::optional<Index> skip{};       ///< csv: lines above the table; nothing: told from the lines
  std::optional<Index> skip_end{};   ///< csv: records at the end that are none; nothing: totals
  std::string standardize = "auto";  ///< auto (csv: yes, else no) | no | yes | robust | min-max
  std::optional<double> bias{};      ///< constant appended, in root mean square lengths; csv: 1, else 0
  Index resize = 0;                  ///< folders of images: pixels each way; 0 = as they are
  std::string task = "auto";         ///< auto | regression | classification
  std::string split = "train";       ///< train | test, for folders and named sets that have both
  Index n = 0;                       ///< keep the first n points; 0 = all
  Index d = 0;           ///< project the points onto a random subspace of d dimensions; 0 = keep the features
  bool shuffle = false;  ///< keep a random subset of n points, in random order, instead of the first n
  std::vector<std::string> classes{};  ///< keep only these classes (by name); empty = all. Applied before n
  std::string labels = "given";  ///< given | random (uniform classes; regression: permuted) | noise:p (each
                                 ///< label replaced with probability p by another one)
  std::uint64_t seed = 0;        ///< of shuffle, projection, random labels and generated data; [0, 2^53)
  bool verbose = false;          ///< texts say of each column of a table what was done to it
  std::string cache{};  ///< folder where downloaded sets live; needed for mnist, cifar10, cifar100 only
};
template <Is<ReadOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"target",
              "csv: target column, a name or a 0-based number, -1 the last; npz: target array; none = all "
              "columns are features [label, target, class or y if there is one]"}
            .taking("NAME|INDEX")
            .under("Data"),
        o.target);
  visit(Field{"features",
              "csv: the columns of a point, names or 0-based numbers with commas between; all = even "
              "identifiers [what does not look like an identifier]"}
            .taking("A,B,...")
            .under("Data"),
        o.features);
  visit(Field{"drop", "csv: columns to leave out [none]"}.taking("A,B,...").under("Data"), o.drop);
  visit(Field{"id", "csv: the column that names samples [one that looks like it]"}.taking("COLUMN").under(
            "Data"),
        o.id);
  visit(Field{"one_hot", "csv: columns of numbers that are categories [columns of text]"}
            .taking("A,B,...")
            .under("Data"),
        o.one_hot);
  visit(Field{"missing", "csv: missing cells: median (and a column of flags), drop (the record) or error"}
            .taking("HOW")
            .under("Data")
            .of("median|drop|error"),
        o.missing);
  visit(Field{"na_values", "csv: words or numbers that mean a missing cell, beside NA and the like [none]"}
            .taking("A,B,...")
            .under("Data"),
        o.na_values);
  visit(
      Field{"spelling",
            "csv: classes and categories as_written, or joined: names that differ in case, blanks or a final "
            "period alone are one"}
          .taking("HOW")
          .under("Data")
          .of("as_written|joined"),
      o.spelling);
  visit(Field{"unknown",
              "csv, for a model: a category that it has not seen: error, or missing: as a missing cell"}
            .taking("HOW")
            .under("Data")
            .of("error|missing"),
        o.unknown);
  visit(
      Field{"delimiter", "csv: what separates cells: one character, tab or blank [told from the first lines]"}
          .taking("CHAR")
          .under("Data"),
      o.delimiter);
  visit(Field{"decimal", "csv: what begins a fraction: . or , or auto: told from the cells"}
            .taking("CHAR")
            .under("Data")
            .of("auto|.|,"),
        o.decimal);
  visit(Field{"header", "csv: whether the first line is names: yes, no, or auto: told from the first lines"}
            .taking("WHETHER")
            .under("Data")
            .of("auto|yes|no"),
        o.header);
  visit(Field{"skip", "csv: lines above the table [told from the lines]"}.taking("INT").under("Data"),
        o.skip);
  visit(Field{"skip_end", "csv: records at the end that are none [a row that begins with Total or the like]"}
            .taking("INT")
            .under("Data"),
        o.skip_end);
  visit(Field{"standardize",
              "columns of one scale, by powers of two: yes (mean, standard deviation), robust (median, "
              "quartiles), "
              "min-max, no, or auto: yes for a csv"}
            .taking("HOW")
            .under("Data")
            .of("auto|no|yes|robust|min-max"),
        o.standardize);
  visit(Field{"bias", "append a constant, in root mean square lengths of a point [1 for a csv, else 0]"}
            .taking("NUMBER")
            .under("Data"),
        o.bias);
  visit(Field{"resize", "folders of images: bring every image to so many pixels each way; 0 = as they are"}
            .taking("PIXELS")
            .under("Data"),
        o.resize);
  visit(Field{"task", "auto (text or few integers are classes), regression or classification"}
            .taking("TASK")
            .under("Data")
            .of("auto|regression|classification"),
        o.task);
  visit(Field{"split", "train or test, where DATA has both"}.taking("SPLIT").under("Data").of("train|test"),
        o.split);
  visit(Field{"n", "keep the first n points; 0 = all"}.taking("INT").under("Data"), o.n);
  visit(
      Field{"d", "project onto a random subspace of d dimensions; 0 = keep the features"}.taking("INT").under(
          "Data"),
      o.d);
  visit(Field{"shuffle", "keep a random subset of n points, in random order, instead of the first"}.under(
            "Data"),
        o.shuffle);
  visit(Field{"classes", "keep only these classes, by name: a comma separated list of two or more [all]"}
            .taking("A,B,...")
            .under("Data"),
        o.classes);
  visit(Field{"labels",
              "given, random, or noise:p: each label replaced by another with probability p, from 0 to 1"}
            .taking("LABELS")
            .under("Data"),
        o.labels);
  visit(Field{"seed", "of `shuffle`, `d`, `labels` and generated data: an integer from 0 to 2^53 - 1"}
            .taking("INT")
            .under("Data"),
        o.seed);
  visit(
      Field{"verbose", "csv: say of each column what was done to it, not in one line"}.under("Data").apart(),
      o.verbose);
  visit(Field{"cache", "folder of downloaded data sets [XDG_CACHE_HOME/zeroloss]"}
            .taking("FOLDER")
            .under("Data")
            .apart(),
        o.cache);
}

/// Reads `source`: a path (csv, csv.gz, npy, npz, idx or MNIST's *-ubyte with or without .gz, a CIFAR-10
/// file, a CIFAR binary folder, a folder of images of one size as in images.hpp: all red numbers 0..255, then
/// green, then blue), standard input as - or any pipe (read once, as csv), or a name (digits, mnist, cifar10,
/// cifar100, sphere:n=..,d=..[,y=normal|sign|none][,seed=..]).
/// Throws DataError for anything wrong with the data, std::invalid_argument for a wrong option.
Dataset read_dataset(const std::string& source, const ReadOptions& options = {});

/// Throws DataError unless the data set is usable: n >= 1, d >= 1, points in memory, finite values, sizes
/// that agree, classes in range.
void check_dataset(const Dataset& data);
/// The same but for the points, wherever they are.
void check_around_points(const Dataset& data);

/// Rows of `all`, one for each record of the source, that belong to the points. Throws DataError, which calls
/// them `what`, if they are not as many as the source has records.
RowMatrix rows_of_records(const Dataset& data, const RowMatrix& all, const std::string& what);

/// Throws DataError, which says how targets are named, if there are none; `who` needs them.
void require_targets(const Dataset& data, const char* who);

/// Records that several readings of a source have, each reading without those that lack its own target.
struct CommonRecords {
  std::vector<Index> records;  ///< those that all have, in the order of the first
  Index others = 0;            ///< that some have
};
/// Finds them, and keeps those that `n`, `shuffle` and `seed` ask for. Throws DataError, naming the source,
/// where there are none, or fewer than n.
CommonRecords common_records(const std::string& source, const std::vector<std::vector<Index>>& lists,
                             const ReadOptions& options = {});
/// Where these are in a list that has all of them.
std::vector<Index> places_of(const std::vector<Index>& records, const std::vector<Index>& list);
/// Leaves out all other points in memory, and says in a remark how many records lack one of the targets.
/// Classes keep their names.
void keep_records(Dataset& data, const CommonRecords& common);

/// The first of data sets that differ in their target, of numbers, with the targets of all, at the records
/// that common_records() gives. Throws DataError where a target is no number.
Dataset joined_targets(std::vector<Dataset> of_each, const ReadOptions& options = {});

/// unit_rows() of its points. Throws DataError naming the records whose row is c, std::invalid_argument for a
/// center of another size.
void normalize_rows(Dataset& data, const Center& center = {});

/// Replaces every row x by x - c rounded to double, within 1.01 u of each entry (u = 2^-53).
void subtract(Dataset& data, const Center& center);

/// For points that claim to be unit vectors: throws DataError naming a row x with ||x - c|| off 1 by more
/// than 1e-12. What is left is for normalize_rows, so that the lengths are those that proofs rely on.
void check_unit_rows(const Dataset& data, const Center& center = {});

/// The targets as columns: regression n x 1; two classes n x 1 with -1 (first class) and +1;
/// c > 2 classes n x c with +1 for the point's class and -1 elsewhere. Throws std::invalid_argument for
/// Task::none; DataError if classification has fewer than two classes, or if real-valued targets have squares
/// beyond the range of doubles (|y| > 1e140, or all |y| < 1e-140).
Matrix targets(const Dataset& data);

}  // namespace zeroloss
