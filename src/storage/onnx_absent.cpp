#include "zeroloss/base/error.hpp"
#include "zeroloss/storage/onnx.hpp"

namespace onnx {
class ModelProto {};
}  // namespace onnx

/// For builds without libonnx.
namespace zeroloss {
namespace {

[[noreturn]] void absent() {
  throw BackendError("this build has no libonnx: export the model with a full build of zeroloss");
}

}  // namespace

OnnxModel::OnnxModel(const std::string&) { absent(); }
OnnxModel::~OnnxModel() = default;
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;
std::string OnnxModel::input(const std::string&, Dtype, const std::vector<Index>&) { absent(); }
std::string OnnxModel::constant(const TensorView&) { absent(); }
std::string OnnxModel::scalar(double, Dtype) { absent(); }
std::string OnnxModel::axes(const std::vector<std::int64_t>&) { absent(); }
std::string OnnxModel::node(const std::string&, const std::vector<std::string>&,
                            const std::map<std::string, OnnxAttribute>&, const std::string&) {
  absent();
}
std::string OnnxModel::scan(const OnnxModel&, const std::string&, const std::vector<std::string>&,
                            const std::string&) {
  absent();
}
void OnnxModel::output(const std::string&, Dtype, const std::vector<Index>&) { absent(); }
void OnnxModel::metadata(const Metadata&) { absent(); }
std::string OnnxModel::bytes() { absent(); }
void OnnxModel::write(const std::filesystem::path&) { absent(); }

}  // namespace zeroloss
