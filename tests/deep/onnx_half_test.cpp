#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <map>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/onnx.hpp"

namespace zeroloss {
namespace {

using onnx::TensorProto;

// Networks y = relu(x A) B with weights of 16 bits, or in other files.
class OnnxHalf : public test::TempFolder {
 protected:
  OnnxHalf() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    model.mutable_graph()->set_name("half");
  }

  void value(onnx::ValueInfoProto& info, const std::string& name, int type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_dim_param("n");
    tensor.mutable_shape()->add_dim()->set_dim_value(2);
  }
  void points(int type) { value(*model.mutable_graph()->add_input(), "x", type); }
  void output(const std::string& name, int type) { value(*model.mutable_graph()->add_output(), name, type); }

  /// 1 2 / 3 4 of any type.
  std::string weights(const std::string& name, int type) {
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.add_dims(2);
    tensor.add_dims(2);
    for (int k = 0; k < 4; ++k) {
      constexpr int kHalf[]{0x3C00, 0x4000, 0x4200, 0x4400}, kBfloat[]{0x3F80, 0x4000, 0x4040, 0x4080};
      if (type == TensorProto::FLOAT)
        tensor.add_float_data(static_cast<float>(k + 1));
      else
        tensor.add_int32_data(type == TensorProto::FLOAT16    ? kHalf[k]
                              : type == TensorProto::BFLOAT16 ? kBfloat[k]
                                                              : k + 1);
    }
    return name;
  }
  std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& out) {
    auto& made = *model.mutable_graph()->add_node();
    made.set_op_type(op);
    made.set_name("the " + out);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(out);
    return out;
  }
  std::string cast(const std::string& from, int to, const std::string& out) {
    node("Cast", {from}, out);
    auto& attribute = *model.mutable_graph()->mutable_node()->rbegin()->add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(to);
    return out;
  }
  std::string save(const std::string& name = "m.onnx") const {
    return write(name, model.SerializeAsString());
  }

  onnx::ModelProto model;
};

TEST_F(OnnxHalf, PointsAreRefused) {
  for (const auto& [type, name] : std::map<int, std::string>{{10, "float16"}, {16, "bfloat16"}}) {
    model.mutable_graph()->Clear();
    points(type);
    node("MatMul", {node("Relu", {node("MatMul", {"x", weights("A", type)}, "z")}, "a"), weights("B", type)},
         "y");
    output("y", type);
    EXPECT_MESSAGE(DataError, read_onnx(save()), "its input 'x' is of " + name);
  }
}

TEST_F(OnnxHalf, WeightsAreNotTakenForFloat32) {
  for (const auto& [type, name] : std::map<int, std::string>{{10, "float16"}, {16, "bfloat16"}}) {
    for (const bool first : {true, false}) {
      model.mutable_graph()->Clear();
      points(TensorProto::FLOAT);
      const int A = first ? type : TensorProto::FLOAT, B = first ? TensorProto::FLOAT : type;
      node("MatMul", {node("Relu", {node("MatMul", {"x", weights("A", A)}, "z")}, "a"), weights("B", B)},
           "y");
      output("y", TensorProto::FLOAT);
      EXPECT_MESSAGE(DataError, read_onnx(save()),
                     first ? "node 'the z' (MatMul -> z)" : "node 'the y' (MatMul -> y)",
                     "mixes float32 and " + name);
    }
  }
}

// As converters to float16 leave it, whose inputs and outputs keep their type.
TEST_F(OnnxHalf, ArithmeticIsRefused) {
  for (const auto& [type, name] : std::map<int, std::string>{{10, "float16"}, {16, "bfloat16"}}) {
    model.mutable_graph()->Clear();
    points(TensorProto::FLOAT);
    const std::string x = cast("x", type, "xh");
    node("MatMul", {node("Relu", {node("MatMul", {x, weights("A", type)}, "z")}, "a"), weights("B", type)},
         "yh");
    output(cast("yh", TensorProto::FLOAT, "y"), TensorProto::FLOAT);
    EXPECT_MESSAGE(DataError, read_onnx(save()), "node 'the xh' (Cast -> xh)", "a cast to " + name);
  }
  model.mutable_graph()->Clear();
  points(TensorProto::FLOAT);
  node("Relu", {node("MatMul", {"x", weights("A", TensorProto::FLOAT)}, "z")}, "a");
  node("MatMul", {cast("a", TensorProto::FLOAT16, "ah"), weights("B", TensorProto::FLOAT16)}, "y");
  output("y", TensorProto::FLOAT16);
  EXPECT_MESSAGE(DataError, read_onnx(save()), "node 'the ah' (Cast -> ah)", "a cast to float16");
}

TEST_F(OnnxHalf, NamesAreNoHalves) {
  points(TensorProto::FLOAT);
  node("Relu", {node("MatMul", {"x", weights("A", TensorProto::FLOAT)}, "z")}, "a");
  node("ArgMax", {node("MatMul", {"a", weights("B", TensorProto::FLOAT)}, "y")}, "k");
  auto& axis = *model.mutable_graph()->mutable_node()->rbegin()->add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  node("Gather", {weights("names", TensorProto::FLOAT16), "k"}, "label");
  output("label", TensorProto::FLOAT16);
  EXPECT_MESSAGE(DataError, read_onnx(save()), "node 'the label' (Gather -> label)", "no list in the file");
}

// A cast to float32 keeps every number of 16 bits, and what follows is arithmetic in float32.
TEST_F(OnnxHalf, WeightsThatAreCastAreRead) {
  for (const int type :
       {TensorProto::FLOAT16, TensorProto::BFLOAT16, TensorProto::INT8, TensorProto::UINT8}) {
    model.mutable_graph()->Clear();
    points(TensorProto::FLOAT);
    const std::string A = cast(weights("A", type), TensorProto::FLOAT, "Af");
    const std::string B = cast(weights("B", type), TensorProto::FLOAT, "Bf");
    node("MatMul", {node("Relu", {node("MatMul", {"x", A}, "z")}, "a"), B}, "y");
    output("y", TensorProto::FLOAT);
    const OnnxNetwork read = read_onnx(save());
    const RowMatrix turned{{1, 3}, {2, 4}};
    EXPECT_EQ(read.network.layers[0].W, turned);
    EXPECT_EQ(read.network.V, turned);
    EXPECT_TRUE(read.single);
    DeepNetwork other = read.network;
    other.V(0, 0) = 0.1;
    EXPECT_EQ(write_like(path("m.onnx"), read, other, path("n.onnx")).V(0, 0), static_cast<double>(0.1F));
  }
}

TEST_F(OnnxHalf, WeightsInAnotherFileAreRead) {
  points(TensorProto::FLOAT);
  const std::string A = weights("A", TensorProto::FLOAT), B = weights("B", TensorProto::FLOAT);
  node("MatMul", {node("Relu", {node("MatMul", {"x", A}, "z")}, "a"), B}, "y");
  output("y", TensorProto::FLOAT);
  const OnnxNetwork whole = read_onnx(save("whole.onnx"));
  std::filesystem::create_directory(path("in"));
  const std::vector<float> numbers{1, 2, 3, 4};
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), numbers.data(), 16);
  write("in/m.data", bytes);
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    tensor.clear_float_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& location = *tensor.add_external_data();
    location.set_key("location");
    location.set_value("m.data");
  }
  const std::string file = save("in/m.onnx");
  const OnnxNetwork read = read_onnx(file);
  EXPECT_EQ(read.network.layers[0].W, whole.network.layers[0].W);
  EXPECT_EQ(read.network.V, whole.network.V);
  DeepNetwork other = read.network;
  other.V(1, 0) = 7;
  std::filesystem::create_directory(path("out"));
  EXPECT_EQ(write_like(file, read, other, path("out/m.onnx")).V, other.V);
  std::filesystem::remove_all(path("in"));
  EXPECT_EQ(read_onnx(path("out/m.onnx")).network.V, other.V);
}

}  // namespace
}  // namespace zeroloss
