// Labels that a network gets right and wrong, its margins and its misfit.

#include <algorithm>
#include <numeric>
#include <set>

#include "kinds.hpp"
#include "network.hpp"
#include "progress.hpp"
#include "verdict.hpp"

namespace check {
namespace {

constexpr slong kLabelBits[] = {96, 256, 1024};

std::vector<std::size_t> rows_of(const Folder& folder, const Object& o, const char* key, std::size_t n) {
  if (!o.has(key)) {
    return {};
  }
  if (o.at(key) == "all") {
    std::vector<std::size_t> all(n);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  std::vector<std::size_t> rows = folder.indices(o.text(key), n);
  if (std::set<std::size_t>(rows.begin(), rows.end()).size() < rows.size()) {
    o.fail(std::string(key) + " has a row twice");
  }
  return rows;
}

// The output of the class less the largest other.
Ball margin_of(const Balls& f, std::size_t label) {
  if (f.size() == 1) {
    return label == 1 ? f[0] : -f[0];
  }
  Ball other;
  bool any = false;
  for (std::size_t k = 0; k < f.size(); ++k) {
    if (k != label) {
      other = any ? max(other, f[k]) : f[k];
      any = true;
    }
  }
  return f[label] - other;
}

class Asked {
 public:
  Asked(const Network& network, const Points& points, const Array& labels)
      : network_(network), points_(points), labels_(labels) {}

  // 1 where the margin at point i is above (`equal`: or at) the bound, -1 where it is not, 0 where that stays
  // open.
  int above(std::size_t i, const Ball& bound, bool equal) {
    const auto label = static_cast<std::size_t>(labels_.integer(i));
    for (const slong bits : kLabelBits) {
      const Bits now(std::max(bits, precision));
      margin = margin_of(network_.output(points_.row(i)), label);
      if (margin > bound || (equal && margin >= bound)) {
        return 1;
      }
      if (margin < bound || (!equal && margin <= bound)) {
        return -1;
      }
    }
    return 0;
  }
  Ball margin;

 private:
  const Network& network_;
  const Points& points_;
  const Array& labels_;
};

}  // namespace

// All points are right.
std::string check_memorised(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "network", "points", "labels", "right"});
  if (o.has("right") && o.at("right") != "all") {
    o.fail("right is not \"all\"");
  }
  Json labels = claim;
  labels["right"] = "all";
  return check_labels(folder, labels, where);
}

std::string check_labels(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "network", "points", "labels", "right", "wrong", "margin"});
  const Points points(folder, o.text("points"));
  const Network network(folder, o.text("network"), points.dimension());
  const Array& labels = folder.integers(o.text("labels"), 1);
  const std::size_t n = points.rows();
  if (labels.size() != n) {
    o.fail("labels are not as many as points");
  }
  const std::size_t classes = std::max<std::size_t>(2, network.outputs());
  for (std::size_t i = 0; i < n; ++i) {
    if (labels.integer(i) < 0 || static_cast<std::size_t>(labels.integer(i)) >= classes) {
      o.fail("a label is not a class of the network");
    }
  }
  const std::vector<std::size_t> right = rows_of(folder, o, "right", n),
                                 wrong = rows_of(folder, o, "wrong", n);
  if (right.empty() && (wrong.empty() || o.has("margin"))) {
    o.fail("has neither right nor wrong, or a margin of none that is right");
  }
  Asked asked(network, points, labels);
  std::size_t open = 0, done = 0;
  double least = INFINITY;
  Progress progress("running the network", right.size() + wrong.size());
  const auto expect = [&](std::size_t i, const Ball& bound, bool equal, int side, const std::string& what) {
    const int found = asked.above(i, bound, equal);
    if (found == -side) {
      throw False("point " + std::to_string(i) + " " + what + ": its margin is between " +
                  down(asked.margin.lower()) + " and " + up(asked.margin.upper()));
    }
    open += found == 0 ? 1 : 0;
  };
  for (const std::size_t i : right) {
    progress.at(done++);
    expect(i, 0, false, 1, "is not right");
    least = std::min(least, asked.margin.lower());
    if (o.has("margin")) {
      expect(i, o.number("margin"), true, 1, "has less than the margin");
      least = std::min(least, asked.margin.lower());
    }
  }
  for (const std::size_t i : wrong) {
    progress.at(done++);
    expect(i, 0, true, -1, "is not wrong");
  }
  if (open > 0) {
    throw Open(std::to_string(open) + " points are too close to say, with balls of " +
               std::to_string(kLabelBits[2]) + " bits");
  }
  std::string found = std::to_string(right.size()) + " right, " + std::to_string(wrong.size()) + " wrong";
  return right.empty() ? found : found + "; margin of those right >= " + down(least);
}

std::string check_misfit(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "network", "points", "targets", "at_most"});
  const Points points(folder, o.text("points"));
  const Network network(folder, o.text("network"), points.dimension());
  const Array& y = folder.reals(o.text("targets"));
  if (y.rows() != points.rows() || y.columns() != network.outputs()) {
    o.fail("targets are not of a row for each point and a column for each output");
  }
  const Ball most = o.number("at_most");
  Ball misfit;
  for (const slong bits : kLabelBits) {
    const Bits now(std::max(bits, precision));
    Ball sum;
    Progress progress("running the network", points.rows());
    for (std::size_t i = 0; i < points.rows(); ++i) {
      progress.at(i);
      const Balls f = network.output(points.row(i));
      for (std::size_t k = 0; k < f.size(); ++k) {
        sum += square(f[k] - Ball(y.real(i * y.columns() + k)));
      }
    }
    misfit = sqrt(sum);
    if (misfit <= most) {
      return "misfit <= " + up(misfit.upper());
    }
    if (misfit > most) {
      throw False("misfit >= " + down(misfit.lower()));
    }
  }
  throw Open("the misfit is too close to the bound to say");
}

}  // namespace check
