#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/tables/table.hpp"

/// What the first line of a csv is: names of the columns, counts of what follows, or a record.
namespace zeroloss::internal {

using Words = std::vector<std::string>;

/// Whether it is names beside the second line (which may be empty: there is none): a word where that has a
/// number, an amount or a date, or a missing cell if it has no number itself; so the first record of a file
/// without names is not lost because its class is a word. Also words after an empty cell that has the number
/// 1 below it.
bool names_columns(const Words& first, const Words& second);

/// Whether it counts the columns from 0, three or more, as pandas calls those without names; an index before
/// them has none.
bool counts_columns(const Words& first, const Words& second);

/// The same of a table of texts, whose first record `first` is so far: none of its cells occurs again in its
/// column, while in some column every other cell does.
bool names_texts(const Words& first, const DataTable& table);

/// Names without the single quotes around each of them, if all have these.
Words without_quotes(Words names);

/// Makes the first record the names of the columns.
void take_names(DataTable& table);

/// A first line such as 150,4,setosa,versicolor,virginica: 150 records of 4 numbers and a class.
struct Counts {
  Index n = 0, d = 0;
  Words classes{};
};

/// If that is what it says, the second line having as many fields.
std::optional<Counts> counts_in(const Words& first, const Words& second);

/// Says so, and names the classes: integers from 0 in the last column.
void use_counts(const Counts& counts, DataTable& table);

}  // namespace zeroloss::internal
