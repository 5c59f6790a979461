#pragma once
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "support/two_layer.hpp"
#include "zeroloss/train/fit.hpp"

/// Small data sets, quick options, and runs compared to the last bit.
namespace zeroloss::test {

inline Dataset regression(const RowMatrix& X, const Vector& y) {
  Dataset data;
  data.X = X;
  data.y = y;
  data.task = Task::regression;
  data.name = "points";
  return data;
}

// n points of the unit sphere in R^d with normal targets.
inline Dataset sphere_data(Index n, Index d, std::uint64_t seed = 1) {
  return regression(sphere(n, d, seed), normals(n, seed));
}

inline Dataset three_classes(Index n, Index d) {
  Dataset data = sphere_data(n, d);
  data.task = Task::classification;
  data.class_names = {"a", "b", "c"};
  for (Index i = 0; i < n; ++i) data.y(i) = static_cast<double>(i % 3);
  return data;
}

inline FitOptions small(const std::string& optimizer = "gd", const std::string& activation = "softplus") {
  FitOptions o;
  o.width = 60;
  o.activation = activation;
  o.optimizer = optimizer;
  o.max_steps = 200;
  return o;
}

inline bool same(const Network& a, const Network& b) {
  for (std::size_t c = 0; c < a.outputs.size(); ++c)
    if (a.outputs[c].W != b.outputs[c].W || a.outputs[c].v != b.outputs[c].v) return false;
  return a.outputs.size() == b.outputs.size();
}

inline bool same(const CurvePoint& a, const CurvePoint& b) {
  const auto numbers = [](const CurvePoint& p) {
    std::vector<std::optional<double>> row;
    fields(p, [&](const Field&, const auto& value) { row.emplace_back(value); });
    return row;
  };
  return numbers(a) == numbers(b);
}

inline bool same(const std::vector<CurvePoint>& a, const std::vector<CurvePoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const CurvePoint& x, const CurvePoint& y) { return same(x, y); });
}

/// A run that is stopped at the first-th report of its training, then `more` reports later each time, and
/// gone on with until it ends. `train` is fit() with a progress; `stopped` is called after each interruption.
template <class Train, class Stopped>
FitResult in_pieces(int first, int more, const Train& train, const Stopped& stopped, int& interruptions) {
  FitResult r;
  interruptions = 0;
  for (bool done = false; !done; done = r.status != Status::interrupted) {
    std::atomic<bool> cancel{false};
    int reports = 0;
    Progress progress(
        [&](const ProgressReport& report) {
          if (report.stage.rfind("training", 0) == 0 && ++reports == first + more * interruptions)
            cancel = true;
        },
        &cancel, 0);
    r = train(progress);
    if (r.status != Status::interrupted) continue;
    if (++interruptions == 300) break;
    stopped();
  }
  return r;
}

}  // namespace zeroloss::test
