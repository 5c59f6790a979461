#include "points.hpp"

#include <map>
#include <numeric>

#include "progress.hpp"
#include "verdict.hpp"
#include "whole.hpp"

namespace check {
namespace {

constexpr std::size_t kMostSteps = 32;  // exact numbers grow with each

Ball exact_sum(const Ball& x, const Ball& y) {
  return Ball::make([&](arb_t z) { arb_add(z, x.get(), y.get(), ARF_PREC_EXACT); });
}

}  // namespace

Step subtract_step(const Array& array, std::size_t d, bool appended, const std::string& where) {
  const std::size_t parts = array.shape.size() == 2 ? array.rows() : 1;
  const std::size_t columns = array.size() / parts;
  if (parts > 2 || (columns != d && !(appended && columns + 1 == d))) {
    throw Unreadable(where + ": what is subtracted is not of d numbers, or of two rows of d");
  }
  Subtract step{Balls(d)};
  for (std::size_t j = 0; j < columns; ++j) {
    step.what[j] = array.real(j);
    if (parts == 2) {
      step.what[j] = exact_sum(step.what[j], array.real(columns + j));
    }
  }
  return step;
}

Step multiply_step(const Array& array, std::size_t d, const std::string& where) {
  if (array.size() != d || (array.shape.size() == 2 && array.rows() != 1)) {
    throw Unreadable(where + ": the factors are not d numbers");
  }
  Multiply step{Balls(d)};
  for (std::size_t j = 0; j < d; ++j) {
    step.by[j] = array.real(j);
  }
  return step;
}

void apply(const Step& step, Balls& row, const std::string& where) {
  if (const auto* subtract = std::get_if<Subtract>(&step)) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] -= subtract->what[j];
    }
  } else if (const auto* multiply = std::get_if<Multiply>(&step)) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] *= multiply->by[j];
    }
  } else if (const auto* append = std::get_if<Append>(&step)) {
    row.emplace_back(append->what);
  } else {
    throw Unreadable(where + ": a step that is not known");
  }
}

Points::Points(const Folder& folder, const std::string& name) : where_("points " + name) {
  const Object o(folder.points(name), where_, {"array", "rows", "steps"});
  array_ = &folder.reals(o.text("array"), 2);
  dimension_ = array_->columns();
  made_ = array_->name + (o.has("steps") ? o.at("steps").dump() : "");
  if (o.has("rows")) {
    rows_ = folder.indices(o.text("rows"), array_->rows());
  } else {
    rows_.resize(array_->rows());
    std::iota(rows_.begin(), rows_.end(), std::size_t{0});
  }
  if (!o.has("steps")) {
    return;
  }
  if (!o.at("steps").is_array() || o.at("steps").size() > kMostSteps) {
    o.fail("steps is not a list of at most 32");
  }
  for (const Json& step : o.at("steps")) {
    exact_ = exact_ && !unit_;  // a division before the last step
    unit_ = false;
    if (step == "normalize") {
      steps_.emplace_back(Normalize{});
      unit_ = true;
      continue;
    }
    const Object s(step, where_ + ": a step", {"subtract", "scale", "append"});
    if (step.size() != 1) {
      s.fail("has not one key");
    }
    if (s.has("subtract")) {
      steps_.push_back(subtract_step(folder.reals(s.text("subtract")), dimension_,
                                     dimension_ > array_->columns(), where_));
    } else if (s.has("scale")) {
      steps_.push_back(multiply_step(folder.reals(s.text("scale")), dimension_, where_));
    } else {
      steps_.emplace_back(Append{s.number("append")});
      ++dimension_;
    }
  }
}

void Points::expect_unit() const {
  if (!unit_) {
    throw Unreadable(where_ +
                     ": this claim is about points of length 1, and the last step is not \"normalize\"");
  }
}

Points Points::distinct() const {
  Points points = *this;
  points.rows_.clear();
  for (const std::size_t i : Distinct(*this).first) {
    points.rows_.push_back(rows_[i]);
  }
  return points;
}

std::string Points::id() const {
  std::string text = made_;
  for (const std::size_t row : rows_) {
    text += " " + std::to_string(row);
  }
  return text;
}

Balls normalized(const Balls& row, const std::string& where) {
  const Ball norm = length(row);
  if (!(norm > 0)) {
    if (norm <= 0) {
      throw Unreadable(where + ": a row of zeros has no direction");
    }
    throw Open(where + ": a row may be of zeros, with as many bits");
  }
  Balls divided(row.size());
  for (std::size_t j = 0; j < row.size(); ++j) {
    divided[j] = row[j] / norm;
  }
  return divided;
}

Balls Points::start(std::size_t i) const {
  // Rows of doubles stay exact, until they are divided by their length.
  bool exact = true;
  Balls row(array_->columns());
  for (std::size_t j = 0; j < row.size(); ++j) {
    row[j] = array_->real(rows_[i] * row.size() + j);
  }
  const std::size_t last = steps_.size() - (unit_ ? 1 : 0);
  for (std::size_t s = 0; s < last; ++s) {
    if (std::holds_alternative<Normalize>(steps_[s])) {
      row = normalized(row, where_);
      exact = false;
    } else {
      const Bits bits(exact ? ARF_PREC_EXACT : precision);
      apply(steps_[s], row, where_);
    }
  }
  return row;
}

Balls Points::exact_row(std::size_t i) const {
  if (!exact_) {
    throw Open("points are divided by their lengths before other steps, and not known exactly then");
  }
  return start(i);
}

Balls Points::row(std::size_t i) const { return unit_ ? normalized(start(i), where_) : start(i); }

Distinct::Distinct(const Points& points) {
  std::map<std::string, std::size_t> known;
  Progress progress("comparing points", points.rows());
  for (std::size_t i = 0; i < points.rows(); ++i) {
    progress.at(i);
    Whole row(points.exact_row(i));
    if (points.unit()) {
      row.primitive();
      if (row.first_sign() == 0) {
        throw Unreadable("a row of zeros has no direction");
      }
    }
    const auto [at, fresh] = known.emplace(row.text(), first.size());
    if (fresh) {
      first.push_back(i);
      count.push_back(0);
    }
    group.push_back(at->second);
    count[at->second] += 1;
  }
}

}  // namespace check
