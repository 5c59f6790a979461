#include "train/checkpoint.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/json.hpp"
#include "zeroloss/core/digest.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/tensors.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A row a point of the curve; NaN where there is no number.
Matrix curve_matrix(const std::vector<CurvePoint>& curve) {
  Matrix rows(static_cast<Index>(curve.size()), 13);
  for (Index i = 0; i < rows.rows(); ++i) {
    const CurvePoint& p = curve[static_cast<std::size_t>(i)];
    rows.row(i) << static_cast<double>(p.step), p.time, p.relative_misfit, p.max_distance, p.distance,
        p.path_length, p.flipped_fraction, p.lambda_min.value_or(kNone), p.forecast.value_or(kNone),
        p.bound_misfit.value_or(kNone), p.bound_max_distance.value_or(kNone),
        p.bound_distance.value_or(kNone), p.bound_path_length.value_or(kNone);
  }
  return rows;
}

std::vector<CurvePoint> curve_of(const Matrix& rows) {
  std::vector<CurvePoint> curve;
  for (Index i = 0; i < rows.rows(); ++i) {
    const auto maybe = [&](Index column) {
      return std::isnan(rows(i, column)) ? std::nullopt : std::optional(rows(i, column));
    };
    curve.push_back({static_cast<Index>(rows(i, 0)), rows(i, 1), rows(i, 2), rows(i, 3), rows(i, 4),
                     rows(i, 5), rows(i, 6), maybe(7), maybe(8), maybe(9), maybe(10), maybe(11), maybe(12)});
  }
  return curve;
}

// One list of fields serves writing and reading.
template <class Each>
void visit(Certificate& c, Each each) {
  each("kind", c.kind);
  each("holds", c.holds);
  each("radius", c.radius);
  each("margin", c.margin);
  each("misfit", c.misfit);
  each("lambda_min", c.lambda_min);
  each("norm_J", c.norm_J);
  each("certified_step", c.step);
  each("certified_rate", c.rate);
  each("kinks", c.kinks);
  each("kink_bound", c.kink_bound);
  each("certificate_reason", c.reason);
}

template <class Each>
void visit(TheoremBeside& t, Each each) {
  each("theorem", t.theorem);
  each("theorem_holds", t.holds);
  each("theorem_step", t.step);
  each("theorem_width", t.width);
  each("failure_probability", t.failure_probability);
  each("theorem_reason", t.reason);
}

template <class Each>
void visit(OutputState& state, Each each) {
  OutputResult& r = state.result;
  each("label", r.label);
  each("status", r.status);
  each("reason", r.reason);
  each("steps", r.steps);
  each("step", r.step);
  each("relative_misfit", r.relative_misfit);
  each("certified_at", r.certified_at);
  each("seconds", r.seconds);
  each("path_length", state.path_length);
  each("time", state.time);
  visit(r.certificate, each);
  visit(r.theorem, each);
}

// JSON has no infinities: doubles are text that reads back to the same bits.
struct Write {
  Json& json;
  void operator()(const char* name, double x) const { json[name] = fmt::format("{}", x); }
  void operator()(const char* name, Status x) const { json[name] = static_cast<int>(x); }
  void operator()(const char* name, const std::optional<Index>& x) const { json[name] = x; }
  template <class X>
  void operator()(const char* name, const X& x) const {
    json[name] = x;
  }
};

struct Read {
  const Json& json;
  void operator()(const char* name, double& x) const {
    x = std::strtod(json.at(name).as<std::string>().c_str(), nullptr);
  }
  void operator()(const char* name, Status& x) const { x = static_cast<Status>(json.at(name).as<int>()); }
  void operator()(const char* name, std::optional<Index>& x) const {
    if (!json.at(name).is_null()) x = json.at(name).as<Index>();
  }
  template <class X>
  void operator()(const char* name, X& x) const {
    x = json.at(name).as<X>();
  }
};

Json to_json(OutputState state) {
  Json json;
  visit(state, Write{json});
  return json;
}

// Labels that are not UTF-8 keep their place with replacement characters.
std::string text_of(const Json& json) { return json.dump(); }

// All matrices of an output, column-major as they are, under PREFIX/name.
using Named = std::vector<std::pair<std::string, Matrix>>;

void add(Named& named, const std::string& prefix, const OutputState& state) {
  named.emplace_back(prefix + "/curve", curve_matrix(state.result.curve));
  for (const auto& [name, matrix] : state.snapshot) named.emplace_back(prefix + "/state/" + name, matrix);
  for (const auto& [name, network] :
       {std::pair{"network", &state.network}, std::pair{"polished", &state.polished}}) {
    if (network->v.size() == 0) continue;
    named.emplace_back(fmt::format("{}/{}/W", prefix, name), network->W);
    named.emplace_back(fmt::format("{}/{}/v", prefix, name), network->v);
  }
}

OutputState output_state(const Json& json, const std::map<std::string, Matrix>& named,
                         const std::string& prefix) {
  OutputState state;
  visit(state, Read{json});
  for (const auto& [full, matrix] : named) {
    if (full.rfind(prefix + "/", 0) != 0) continue;
    const std::string name = full.substr(prefix.size() + 1);
    if (name == "curve") state.result.curve = curve_of(matrix);
    if (name.rfind("state/", 0) == 0) state.snapshot.emplace(name.substr(6), matrix);
    for (auto& [which, network] :
         {std::pair{"network", &state.network}, std::pair{"polished", &state.polished}}) {
      if (name == fmt::format("{}/W", which)) network->W = matrix;
      if (name == fmt::format("{}/v", which)) network->v = matrix.col(0);
    }
  }
  return state;
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path path, double every_s, Identity identity)
    : path_(std::move(path)), every_s_(every_s), identity_(std::move(identity)) {}

bool Checkpoint::due() const {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - saved_;
  return enabled() && since.count() >= every_s_;
}

void Checkpoint::save(const RunState& state) {
  if (!enabled()) return;
  Named named;
  Json finished = Json::array();
  for (std::size_t c = 0; c < state.finished.size(); ++c) {
    add(named, std::to_string(c), state.finished[c]);
    finished.push_back(to_json(state.finished[c]));
  }
  if (state.current) add(named, "current", *state.current);
  std::vector<TensorView> views;
  for (const auto& [name, matrix] : named)
    views.push_back(view_of(name, {matrix.cols(), matrix.rows()}, matrix.data()));
  Metadata metadata{{"kind", "zeroloss fit checkpoint"},
                    {"finished", text_of(finished)},
                    {"current", state.current ? text_of(to_json(*state.current)) : ""}};
  for (const auto& [name, value] : identity_) metadata["identity " + name] = value;
  write_tensors(path_, views, metadata);
  saved_ = std::chrono::steady_clock::now();
}

RunState Checkpoint::load() const {
  RunState state;
  if (!enabled() || !std::filesystem::exists(path_)) return state;
  const TensorFile file = read_tensors(path_);
  const auto part = [&](const std::string& name) {
    const auto found = file.metadata.find(name);
    if (found == file.metadata.end())
      throw DataError(fmt::format("{}: not a checkpoint of zeroloss fit: no {}", path_.string(), name));
    return found->second;
  };
  for (const auto& [name, value] : identity_)
    if (const std::string before = part("identity " + name); before != value)
      throw std::invalid_argument(
          fmt::format("resume: {} was {} in {}, and is {} now", name, before, path_.string(), value));
  std::map<std::string, Matrix> named;
  for (const Tensor& tensor : file.tensors) {
    if (tensor.dtype != Dtype::f64 || tensor.shape.size() != 2)
      throw DataError(fmt::format("{}: tensor {} is not a matrix of doubles", path_.string(), tensor.name));
    named.emplace(tensor.name,
                  Eigen::Map<const Matrix>(tensor.data<double>(), tensor.shape[1], tensor.shape[0]));
  }
  try {
    const Json finished = Json::parse(part("finished"));
    for (const Json& output : finished.items())
      state.finished.push_back(output_state(output, named, std::to_string(state.finished.size())));
    if (const std::string current = part("current"); !current.empty())
      state.current = output_state(Json::parse(current), named, "current");
  } catch (const JsonError& error) {
    throw DataError(fmt::format("{}: damaged checkpoint: {}", path_.string(), error.what()));
  }
  for (const OutputState& output : state.finished)
    if (output.network.W.size() == 0 || output.network.v.size() != output.network.W.rows())
      throw DataError(fmt::format("{}: damaged checkpoint: weights are missing", path_.string()));
  return state;
}

std::string points_digest(const RowMatrix& X, const Matrix& Y) {
  Sha256 digest;
  const std::string sizes = fmt::format("{} {} {} ", X.rows(), X.cols(), Y.cols());
  digest.update(sizes.data(), sizes.size());
  digest.update(X.data(), static_cast<std::size_t>(X.size()) * sizeof(double));
  digest.update(Y.data(), static_cast<std::size_t>(Y.size()) * sizeof(double));
  return digest.hex();
}

}  // namespace zeroloss::internal
