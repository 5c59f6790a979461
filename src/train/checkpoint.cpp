#include "train/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "base/field_json.hpp"
#include "processes/binary_archive.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Of files that have a digest.
constexpr const char* kFormat = "4";
constexpr const char* kKind = "zeroloss fit checkpoint";

// A row a point of the curve, a column a field; NaN where there is no number.
Matrix curve_matrix(const std::vector<CurvePoint>& curve) {
  Index columns = 0;
  const CurvePoint blank;
  fields(blank, [&](const Field&, const auto&) { ++columns; });
  Matrix rows(static_cast<Index>(curve.size()), columns);
  for (Index i = 0; i < rows.rows(); ++i) {
    Index column = 0;
    fields(curve[static_cast<std::size_t>(i)], [&]<class Value>(const Field&, const Value& value) {
      if constexpr (std::is_same_v<Value, std::optional<double>>)
        rows(i, column++) = value.value_or(kNone);
      else
        rows(i, column++) = static_cast<double>(value);
    });
  }
  return rows;
}

std::vector<CurvePoint> curve_of(const Matrix& rows) {
  std::vector<CurvePoint> curve(static_cast<std::size_t>(rows.rows()));
  for (Index i = 0; i < rows.rows(); ++i) {
    Index column = 0;
    fields(curve[static_cast<std::size_t>(i)], [&]<class Value>(const Field&, Value& value) {
      if (column == rows.cols()) throw JsonError("a curve with fewer columns");
      const double number = rows(i, column++);
      if constexpr (std::is_same_v<Value, std::optional<double>>)
        value = std::isnan(number) ? std::nullopt : std::optional(number);
      else
        value = static_cast<Value>(number);
    });
  }
  return curve;
}

Json to_json(const OutputState& state) {
  return {{"result", stored(state.result)},
          {"path_length", stored(state.path_length)},
          {"time", stored(state.time)}};
}

// All matrices of an output, column-major as they are, under PREFIX/name.
using Named = std::map<std::string, Matrix>;

void add(Named& named, const std::string& prefix, const OutputState& state) {
  named.emplace(prefix + "/curve", curve_matrix(state.result.curve));
  for (const auto& [name, matrix] : state.snapshot)
    named.emplace(fmt::format("{}/state/{}", prefix, name), matrix);
  for (const auto& [name, network] :
       {std::pair{"network", &state.network}, std::pair{"polished", &state.polished}}) {
    if (network->v.size() == 0) continue;
    named.emplace(fmt::format("{}/{}/W", prefix, name), network->W);
    named.emplace(fmt::format("{}/{}/v", prefix, name), network->v);
  }
}

// Of all that a run goes on with: a bit that changes on the disk changes the run.
std::string checkpoint_digest(const Named& named, const std::string& finished, const std::string& current) {
  Sha256 digest;
  const auto text = [&](const std::string& part) { digest.update(part.data(), part.size() + 1); };
  for (const auto& [name, matrix] : named) {
    text(fmt::format("{} {} {}", name, matrix.rows(), matrix.cols()));
    digest.update(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(double));
  }
  text(finished);
  text(current);
  return digest.hex();
}

OutputState output_state(const Json& json, const Named& named, const std::string& prefix) {
  OutputState state;
  restore(json.at("result"), state.result);
  restore(json.at("path_length"), state.path_length);
  restore(json.at("time"), state.time);
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

bool names(const Checkpoint::Identity& identity, const std::string& name) {
  return std::ranges::any_of(identity, [&](const auto& part) { return part.first == name; });
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
    add(named, fmt::to_string(c), state.finished[c]);
    finished.push_back(to_json(state.finished[c]));
  }
  if (state.current) add(named, "current", *state.current);
  std::vector<TensorView> views;
  for (const auto& [name, matrix] : named)
    views.push_back(view_of(name, {matrix.cols(), matrix.rows()}, matrix.data()));
  Metadata metadata{{"kind", kKind},
                    {"format", kFormat},
                    {"finished", finished.dump()},
                    {"current", state.current ? to_json(*state.current).dump() : ""}};
  metadata["digest"] = checkpoint_digest(named, metadata["finished"], metadata["current"]);
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
  if (part("kind") != kKind)
    throw DataError(fmt::format("{}: not a checkpoint of zeroloss fit, but of kind {}", path_.string(),
                                excerpt(part("kind"))));
  if (const auto format = file.metadata.find("format");
      format == file.metadata.end() || format->second != kFormat)
    throw DataError(
        fmt::format("{}: a checkpoint of another version of zeroloss; start the run anew", path_.string()));
  for (const auto& [name, value] : identity_) {
    const auto found = file.metadata.find("identity " + name);
    const std::string before = found == file.metadata.end() ? "none" : found->second;
    if (before != value)
      throw std::invalid_argument(
          fmt::format("resume: {} was {} in {}, and is {} now", name, before, path_.string(), value));
  }
  for (const auto& [key, before] : file.metadata)
    if (constexpr std::string_view kIdentity = "identity "; key.starts_with(kIdentity))
      if (const std::string name = key.substr(kIdentity.size()); !names(identity_, name))
        throw std::invalid_argument(
            fmt::format("resume: {} was {} in {}, and is none now", name, before, path_.string()));
  Named named;
  for (const Tensor& tensor : file.tensors) {
    if (tensor.dtype != Dtype::f64 || tensor.shape.size() != 2)
      throw DataError(fmt::format("{}: tensor {} is not a matrix of doubles", path_.string(), tensor.name));
    named.emplace(tensor.name,
                  Eigen::Map<const Matrix>(tensor.data<double>(), tensor.shape[1], tensor.shape[0]));
  }
  if (checkpoint_digest(named, part("finished"), part("current")) != part("digest"))
    throw DataError(fmt::format("{}: damaged checkpoint: its digest is another one; remove it to begin anew",
                                path_.string()));
  try {
    const Json finished = Json::parse(part("finished"));
    for (const Json& output : finished.items())
      state.finished.push_back(output_state(output, named, fmt::to_string(state.finished.size())));
    if (const std::string current = part("current"); !current.empty())
      state.current = output_state(Json::parse(current), named, "current");
  } catch (const JsonError& error) {
    throw DataError(fmt::format("{}: damaged checkpoint: {}", path_.string(), error.what()));
  }
  for (const OutputState& output : state.finished)
    if (output.snapshot.empty() &&  // which has the weights of many layers
        (output.network.W.size() == 0 || output.network.v.size() != output.network.W.rows()))
      throw DataError(fmt::format("{}: damaged checkpoint: weights are missing; remove it to begin anew",
                                  path_.string()));
  return state;
}

std::string bytes_of(const OutputState& state) {
  Named named;
  add(named, "output", state);
  BinaryArchive parcel;
  parcel.put(to_json(state).dump()).put(named.size());
  for (const auto& [name, matrix] : named) parcel.put(name).put(matrix);
  return parcel.bytes();
}

OutputState output_of(const std::string& bytes) {
  BinaryArchive parcel(bytes);
  const Json json = Json::parse(parcel.text());
  Named named;
  for (auto count = parcel.get<std::size_t>(); count > 0; --count) {
    const std::string name = parcel.text();
    parcel.get(named[name]);
  }
  return output_state(json, named, "output");
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
