#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ball.hpp"
#include "folder.hpp"

namespace check {

struct Subtract {
  Balls what;  // exact
};
struct Multiply {
  Balls by;  // exact
};
struct Append {
  double what;
};
struct Normalize {};
using Step = std::variant<Subtract, Multiply, Append, Normalize>;

// Of `{"subtract": C}` and the like for rows of d numbers, which becomes that of what comes out.
// `appended`: of the last coordinate nothing need be subtracted.
Step subtract_step(const Array& array, std::size_t d, bool appended, const std::string& where);
Step multiply_step(const Array& array, std::size_t d, const std::string& where);
// With the precision of balls, which may be ARF_PREC_EXACT for all but a division.
void apply(const Step& step, Balls& row, const std::string& where);

// x/||x||; throws Unreadable for a row of zeros.
Balls normalized(const Balls& row, const std::string& where);

// The points of a claim: rows of an array, after their steps.
class Points {
 public:
  Points(const Folder& folder, const std::string& name);

  std::size_t rows() const { return rows_.size(); }
  std::size_t dimension() const { return dimension_; }
  bool unit() const { return unit_; }  // the last step divides by lengths
  // Row i before that last division: exact, or Open is thrown.
  Balls exact_row(std::size_t i) const;
  // Row i, as good as the precision of balls.
  Balls row(std::size_t i) const;
  // Throws Unreadable unless rows have length 1.
  void expect_unit() const;
  // Keeps the first of equal points.
  Points distinct() const;
  // Returns the same text for the same points.
  std::string id() const;

 private:
  Balls start(std::size_t i) const;

  const Array* array_;
  std::vector<std::size_t> rows_;
  std::vector<Step> steps_;
  std::size_t dimension_;
  bool unit_ = false;
  bool exact_ = true;
  std::string where_, made_;  // made_: of which array, by which steps
};

// The distinct points, each by the first row that has it, with how often it occurs. Throws Open where points
// are not known exactly.
struct Distinct {
  explicit Distinct(const Points& points);
  std::vector<std::size_t> first;  // row of a distinct point
  std::vector<std::size_t> group;  // distinct point of a row
  std::vector<double> count;
  std::size_t size() const { return first.size(); }
};

}  // namespace check
