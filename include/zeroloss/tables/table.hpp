#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"

/// Tables: columns of cells as they were written, and how a row of them becomes a point.
namespace zeroloss {

/// Texts one after the other, without an allocation each.
class Cells {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  void drop_first() {
    const std::size_t begin = ends_.front();
    bytes_.erase(0, begin);
    ends_.erase(ends_.begin());
    for (std::size_t& end : ends_) end -= begin;
  }
  void drop_last(Index count) {
    ends_.resize(ends_.size() - static_cast<std::size_t>(count));
    bytes_.resize(ends_.empty() ? 0 : ends_.back());
  }
  Index size() const { return std::ssize(ends_); }
  std::string_view operator[](Index i) const {
    const auto k = static_cast<std::size_t>(i);
    const std::size_t begin = k == 0 ? 0 : ends_[k - 1];
    return std::string_view(bytes_).substr(begin, ends_[k] - begin);
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

/// What the cells of a column are, all but those that are missing. Blanks and apostrophes between groups of
/// three digits are read in both ways to write decimals.
enum class CellKind {
  number,          ///< 1.5e3
  amount,          ///< $1,234.50, 12 %, 1'234: read without the signs and what separates groups
  decimal_comma,   ///< 1,5 and 1.234,5 and 12,5 %
  truth,           ///< true/false, yes/no, T/F: 1 and 0
  date,            ///< 2020-01-31 13:59:59, 31.01.2020, 31 Jan 2020, 2020-W05: days since 1970-01-01
  month_day_year,  ///< 1/31/2020
  day_month_year,  ///< 31/1/2020, 31-1-2020, where not all months come first
  time,            ///< 9:13 AM, 21:13:05, 2 days 01:30:00, PT5M: hours
  text
};
std::string name(CellKind cell);  ///< as it is spelled here, _ as a space
bool is_date(CellKind cell);

struct Column {
  std::string name{};       ///< "" without one
  Index place = 0;          ///< its 0-based number among the columns of the file
  Cells cells{};            ///< as they were written, without spaces around
  bool categories = false;  ///< the source says that its cells are names, whatever they look like

  // What read_cells finds:
  CellKind is = CellKind::number;
  std::vector<double> numbers{};  ///< of each cell, NaN where it is missing; empty if text
  Index missing = 0;              ///< cells: empty, NA, NaN, ?, ..
  Index rounded = 0;    ///< whole numbers of more digits than a double keeps: they become the nearest one
  std::string fault{};  ///< why it cannot be used, with its place: a word among numbers; it is text then
  std::string note{};   ///< of text that nearly is of another kind

  /// "column 3 ('age')", "column 3".
  std::string called() const;
};

struct DataTable {
  std::string name{};           ///< what the user called it
  std::vector<Column> columns;  ///< in the order of the file, all of the same length
  bool header = false;          ///< whether they have names
  char decimal = 0;             ///< what begins a fraction, . or ,; 0: told from the cells
  bool comma_separates = true;  ///< then 1,234 is a thousand for want of a better reason, else 1.234
  std::vector<Index> lines{};   ///< where each record begins in the file, from 1; empty if it has no lines
  std::vector<std::string> remarks{};  ///< what there is to say of its form, a line each

  Index n() const { return columns.empty() ? 0 : columns.front().cells.size(); }
  std::string place(Index record) const;  ///< "line 7", "record 3"
  /// "t.csv: line 7: column 2 ('x')", for messages.
  std::string where(Index record, const Column& column) const;
};

/// Finds out what the cells of each column are. Where all of them could be read in two ways, as 1.200 and
/// 1/2/2020, the other columns decide. A column with a fault is of no use: a number that is not finite or out
/// of range, a word among nearly all cells of another kind, two ways that both occur in the table.
void read_cells(DataTable& table);

/// Throws DataError if a column has a fault.
void check_usable(const Column& column);

/// Empties the cells that are one of these words, or the same number: they are missing.
void take_as_missing(DataTable& table, const std::vector<std::string>& words);

/// The column that `wanted` names, or whose 0-based number it is; -1 is the last one. Throws DataError if
/// there is none or more than one; `option` is what was set to `wanted`.
Index column_of(const DataTable& table, const std::string& wanted, const std::string& option);

/// A column that points are made of, and the numbers that a cell of it becomes: the number itself; for
/// categories, an indicator of each of them, or of the second where there are two.
struct Input {
  std::string name{};
  Index place = 0;  ///< in the file
  CellKind is = CellKind::number;
  std::vector<std::string> categories{};  ///< sorted; empty: a number
  double fill = 0;                        ///< for missing cells: the median
  std::string unit{};                     ///< "%", "$", .. of the cells; empty without one
  bool flag = false;                      ///< one more number says where cells were missing
};
template <Is<Input> T, class Visitor>
void fields(T& input, const Visitor& visit) {
  visit(Field{"name"}, input.name);
  visit(Field{"place"}, input.place);
  visit(Field{"is"}, input.is);
  visit(Field{"categories"}, input.categories);
  visit(Field{"fill"}, input.fill);
  visit(Field{"unit"}, input.unit);
  visit(Field{"flag"}, input.flag);
}

/// How the rows of a table become points. Kept by the models, so that other tables become points likewise.
struct Encoding {
  std::vector<Input> inputs{};
  std::string target{};                  ///< the name of the column of targets; "" if it has none, or no name
  std::vector<std::string> na_values{};  ///< words that mean a missing cell, see ReadOptions
  bool joined = false;  ///< names that differ in case, blanks or a final period alone are one
  bool empty() const { return inputs.empty(); }
  Index d() const;                            ///< numbers of a point
  std::vector<std::string> features() const;  ///< their names: "age", "age is missing", "sex = male"
};
template <Is<Encoding> T, class Visitor>
void fields(T& encoding, const Visitor& visit) {
  visit(Field{"inputs"}, encoding.inputs);
  visit(Field{"target"}, encoding.target);
  visit(Field{"na_values"}, encoding.na_values);
  visit(Field{"joined"}, encoding.joined);
}

/// As JSON, and read again. Throws DataError for what is no such text.
std::string encoding_text(const Encoding& encoding);
Encoding read_encoding(const std::string& text);

/// What of a table is used, and what becomes of missing cells: see ReadOptions.
struct TableChoice {
  std::string features{};  ///< "" by itself | all | a comma separated list
  std::vector<std::string> drop{}, categories{};
  std::string id{}, missing = "median";
  std::vector<std::string> na_values{};
  bool joined = false;  ///< as Encoding
};

/// A table read for training: which columns make points, which records are left out, and what there is to
/// say of it.
struct Choice {
  Encoding encoding{};
  std::optional<Index> id{};           ///< the column that names samples
  std::vector<Index> records{};        ///< those that are used, ascending
  std::vector<std::string> remarks{};  ///< one line each
  std::vector<std::string> brief{};    ///< the same, of the columns a line in all
};
Choice choose_columns(const DataTable& table, std::optional<Index> target, const TableChoice& choice);

/// The points of these records, d() numbers each. Columns are found by name where the table has names, else
/// by place. Throws DataError naming what is missing, a cell that is no number, or a category that was not
/// there, which is as a missing cell where `unknown_is_missing`.
RowMatrix encode(const DataTable& table, const Encoding& encoding, const std::vector<Index>& records,
                 bool unknown_is_missing = false);

}  // namespace zeroloss
