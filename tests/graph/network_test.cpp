#include "zeroloss/graph/network.hpp"

#include <onnx/onnx_pb.h>

#include <stdexcept>

#include "graph/value.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

// Files that are graphs: what is read, what is refused, and the shapes of samples.
namespace zeroloss {
namespace {

// x (n x 2) of float32, and nothing else yet.
class GraphFile : public test::TempFolder {
 protected:
  GraphFile() {
    model.set_ir_version(8);
    opset("", 13);
    model.mutable_graph()->set_name("g");
    input("x", {0, 2});
    output("y");
  }
  void opset(const std::string& domain, int version) {
    auto& one = *model.add_opset_import();
    one.set_domain(domain);
    one.set_version(version);
  }
  void input(const std::string& name, const std::vector<int>& sizes) {
    auto& one = *model.mutable_graph()->add_input();
    one.set_name(name);
    auto& type = *one.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int size : sizes) {
      auto& dim = *type.mutable_shape()->add_dim();
      if (size == 0)
        dim.set_dim_param("N");
      else
        dim.set_dim_value(size);
    }
  }
  void output(const std::string& name) { model.mutable_graph()->add_output()->set_name(name); }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output) {
    auto& one = *model.mutable_graph()->add_node();
    one.set_op_type(op);
    one.set_name("the " + op);
    for (const std::string& name : inputs) one.add_input(name);
    one.add_output(output);
    return one;
  }
  static void integer(onnx::NodeProto& node, const std::string& name, int value) {
    auto& one = *node.add_attribute();
    one.set_name(name);
    one.set_type(onnx::AttributeProto::INT);
    one.set_i(value);
  }
  void constant(const std::string& name, const std::vector<int>& sizes, const std::vector<float>& values) {
    auto& one = *model.mutable_graph()->add_initializer();
    one.set_name(name);
    one.set_data_type(onnx::TensorProto::FLOAT);
    for (const int size : sizes) one.add_dims(size);
    for (const float value : values) one.add_float_data(value);
  }
  void whole(const std::string& name, const std::vector<int>& values) {
    auto& one = *model.mutable_graph()->add_initializer();
    one.set_name(name);
    one.set_data_type(onnx::TensorProto::INT64);
    one.add_dims(static_cast<int>(values.size()));
    for (const int value : values) one.add_int64_data(value);
  }

  GraphNetwork read(const GraphOptions& options = {}) const {
    return read_graph(write("m.onnx", model.SerializeAsString()), options);
  }
  GraphOutputs outputs(const RowMatrix& X, const std::string& execution = "exact",
                       const GraphOptions& options = {}) const {
    Progress silent;
    return enclosed_outputs(read(options), X, execution, silent);
  }
  GraphOutputs outputs() const { return outputs(RowMatrix::Ones(3, 2)); }

  onnx::ModelProto model;
};

TEST_F(GraphFile, IsWhatItsNodesCompute) {
  constant("w", {2}, {0.5, -3});
  node("Mul", {"x", "w"}, "y");
  const GraphOutputs found = outputs();
  EXPECT_EQ(found.f, Matrix((RowMatrix(3, 2) << 0.5, -3, 0.5, -3, 0.5, -3).finished()));
  EXPECT_EQ(found.shape, (std::vector<Index>{1, 2}));
  EXPECT_EQ(read().parameters, 2);
  EXPECT_TRUE(read().single);
  EXPECT_FALSE(read().labels);
}

TEST_F(GraphFile, MayBeOneSampleOfOneNumberAndNoNode) {
  model.mutable_graph()->clear_input();
  input("y", {0, 1});
  const GraphOutputs found = outputs(RowMatrix::Constant(1, 1, 7));
  EXPECT_EQ(found.f(0, 0), 7);
  EXPECT_EQ(found.error(0, 0), 0);
}

TEST_F(GraphFile, MayListItsConstantsAsInputs) {
  constant("w", {2}, {1, 2});
  input("w", {2});
  node("Add", {"x", "w"}, "y");
  EXPECT_EQ(outputs().f.row(0), Eigen::RowVector2d(2, 3));
}

TEST_F(GraphFile, OfGraphsWithinNodesIsRefused) {
  node("Identity", {"x"}, "condition");
  auto& loop = node("If", {"condition"}, "y");
  auto& body = *loop.add_attribute();
  body.set_name("then_branch");
  body.set_type(onnx::AttributeProto::GRAPH);
  body.mutable_g()->set_name("then");
  EXPECT_MESSAGE(DataError, outputs(), "m.onnx", "node 'the If' (If -> y)", "not known");
}

TEST_F(GraphFile, OfANodeWithAGraphItShouldNotHaveIsRefused) {
  auto& relu = node("Relu", {"x"}, "y");
  auto& body = *relu.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  body.mutable_g()->set_name("g");
  EXPECT_MESSAGE(DataError, outputs(), "node 'the Relu'", "attribute 'body' has no type that is read");
}

TEST_F(GraphFile, OfFunctionsAndOtherDomainsIsRefused) {
  node("Relu", {"x"}, "y");
  opset("mine", 1);
  auto& function = *model.add_functions();
  function.set_name("Relu");
  function.set_domain("");
  EXPECT_MESSAGE(DataError, read(), "m.onnx", "a function of its own");
  model.clear_functions();
  model.mutable_graph()->mutable_node(0)->set_domain("mine");
  EXPECT_MESSAGE(DataError, outputs(), "node 'the Relu'", "an operator of 'mine', not of ONNX");
}

TEST_F(GraphFile, OfOldOperatorSetsIsRefused) {
  node("Relu", {"x"}, "y");
  model.mutable_opset_import(0)->set_version(6);
  EXPECT_MESSAGE(DataError, outputs(), "m.onnx", "its operator set is 6", "from 7 on");
}

TEST_F(GraphFile, OfNewerOperatorSetsThanAreKnownIsRefused) {
  node("Relu", {"x"}, "y");
  model.mutable_opset_import(0)->set_version(29);
  EXPECT_MESSAGE(DataError, outputs(), "m.onnx", "29");
}

TEST_F(GraphFile, OfTwoInputsOrNoneIsRefused) {
  node("Relu", {"x"}, "y");
  input("z", {0, 2});
  EXPECT_MESSAGE(DataError, read(), "m.onnx", "asks for 2");
  model.mutable_graph()->clear_input();
  EXPECT_MESSAGE(DataError, read(), "m.onnx", "asks for 0");
}

TEST_F(GraphFile, WithoutOutputsIsRefused) {
  node("Relu", {"x"}, "y");
  model.mutable_graph()->clear_output();
  EXPECT_MESSAGE(DataError, read(), "m.onnx", "it has no outputs");
}

TEST_F(GraphFile, WhoseOutputIsNotOfItsInputIsRefused) {
  constant("w", {1, 2}, {1, 2});
  node("Relu", {"w"}, "y");
  EXPECT_MESSAGE(DataError, outputs(), "m.onnx", "'y' does not depend on the input");
  model.mutable_graph()->clear_node();
  EXPECT_MESSAGE(DataError, outputs(), "m.onnx", "'y' does not depend on the input");
}

TEST_F(GraphFile, ThatComputesANameTwiceIsRefused) {
  node("Relu", {"x"}, "a");
  node("Neg", {"x"}, "a");
  node("Add", {"a", "x"}, "y");
  EXPECT_MESSAGE(DataError, outputs(), "node 'the Neg'", "'a' is computed twice");
}

TEST_F(GraphFile, ThatComputesItsInputOrAConstantIsRefused) {
  node("Relu", {"x"}, "x");
  node("Add", {"x", "x"}, "y");
  EXPECT_MESSAGE(DataError, outputs(), "node 'the Relu'", "'x' is computed twice");
  model.mutable_graph()->clear_node();
  constant("w", {2}, {1, 2});
  node("Relu", {"x"}, "w");
  node("Add", {"x", "w"}, "y");
  EXPECT_MESSAGE(DataError, outputs(), "node 'the Relu'", "'w' is computed twice");
}

TEST_F(GraphFile, WhoseNodesAreInAnotherOrderIsRefused) {
  node("Add", {"a", "x"}, "y");
  node("Relu", {"x"}, "a");
  EXPECT_MESSAGE(DataError, outputs(), "m.onnx");
}

TEST_F(GraphFile, ThatGoesAlongAnAxisOfTheSamplesIsTheSampleAlone) {
  // A batch of one: the mean over axis 0 is the sample itself.
  node("ReduceMean", {"x"}, "y");
  auto& axes = *model.mutable_graph()->mutable_node(0)->add_attribute();
  axes.set_name("axes");
  axes.set_type(onnx::AttributeProto::INTS);
  axes.add_ints(0);
  RowMatrix X(2, 2);
  X << 1, 2, 3, 4;
  EXPECT_EQ(outputs(X).f, Matrix(X));
}

TEST_F(GraphFile, TakesTheShapeOfSamplesFromTheFileOrIsTold) {
  node("Relu", {"x"}, "y");
  EXPECT_MESSAGE(DataError, outputs(RowMatrix::Ones(1, 3)), "points have 3 features, the network takes 2");
  model.mutable_graph()->clear_input();
  input("x", {0, 2, 0});
  EXPECT_EQ(outputs(RowMatrix::Ones(1, 6)).shape, (std::vector<Index>{1, 2, 3}));
  EXPECT_MESSAGE(DataError, outputs(RowMatrix::Ones(1, 5)),
                 "points have 5 features, the network takes 2 x ?");
  model.mutable_graph()->clear_input();
  input("x", {0, 0, 0});
  EXPECT_MESSAGE(DataError, outputs(RowMatrix::Ones(1, 6)), "leaves sizes of its input open (? x ?)",
                 "`shape");
  EXPECT_EQ(outputs(RowMatrix::Ones(1, 6), "exact", {.shape = "3,2"}).shape, (std::vector<Index>{1, 3, 2}));
  EXPECT_MESSAGE(DataError, outputs(RowMatrix::Ones(1, 5), "exact", {.shape = "3,2"}), "`shape` is 3 x 2",
                 "the file says ? x ?");
  for (const char* bad : {"3,", "0,6", "-1,6", "a", "3x2", "4294967296,4294967296"})
    EXPECT_MESSAGE(std::invalid_argument, read({.shape = bad}), "`shape` must be sizes", bad,
                   "the file says ? x ?");
  model.mutable_graph()->clear_input();
  input("x", {0, 2, 3});
  EXPECT_MESSAGE(std::invalid_argument, outputs(RowMatrix::Ones(1, 6), "exact", {.shape = "3,2"}),
                 "`shape` is 3 x 2", "says 2 x 3");
  EXPECT_EQ(features_of(read()), 6);
  EXPECT_EQ(sizes_text(read()), "2 x 3");
}

TEST_F(GraphFile, IsAskedForItsOutputsByName) {
  node("Relu", {"x"}, "y");
  node("Neg", {"x"}, "z");
  output("z");
  EXPECT_MESSAGE(DataError, read(), "2 sets of numbers", "`output_name=y`");
  EXPECT_EQ(outputs(RowMatrix::Ones(1, 2), "exact", {.output_name = "z"}).f(0, 0), -1);
  EXPECT_MESSAGE(DataError, read({.output_name = "w"}), "it has no output 'w'");
}

TEST_F(GraphFile, KnowsFiveExecutions) {
  node("Relu", {"x"}, "y");
  EXPECT_EQ(executions(), (std::vector<std::string>{"exact", "float32", "tf32", "bfloat16", "float16"}));
  for (const std::string& execution : executions())
    EXPECT_EQ(outputs(RowMatrix::Ones(1, 2), execution).f(0, 1), 1);
  EXPECT_MESSAGE(std::invalid_argument, outputs(RowMatrix::Ones(1, 2), "float8"),
                 "`execution` must be one of", "float8");
}

TEST_F(GraphFile, WhoseLargestIsNotOverAllOutputsIsRefused) {
  whole("s", {1, 2, 1});
  node("Reshape", {"x", "s"}, "r");
  integer(node("ArgMax", {"r"}, "y"), "axis", 2);
  EXPECT_MESSAGE(DataError, outputs(), "node 'the ArgMax' (ArgMax -> y): it goes along axis 2",
                 "not over all outputs");
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_i(1);
  EXPECT_EQ(outputs().f.cols(), 2);
  EXPECT_TRUE(read().labels);
}

TEST_F(GraphFile, WhoseLargestIsThatOfOneNumberIsRefused) {
  constant("W", {2, 1}, {1, 2});
  node("MatMul", {"x", "W"}, "s");
  integer(node("ArgMax", {"s"}, "y"), "axis", 1);
  EXPECT_MESSAGE(DataError, outputs(), "node 'the ArgMax'", "of a single number");
}

TEST_F(GraphFile, DecidesByWhatStandsBeforeTheLabel) {
  node("Sigmoid", {"x"}, "p");
  integer(node("ArgMax", {"p"}, "y"), "axis", 1);
  RowMatrix X(1, 2);
  X << 25, 18;
  Progress silent;
  const GraphNetwork network = read();
  const GraphOutputs scores = enclosed_outputs(network, X, "float32", silent),
                     decided = deciding_outputs(network, X, "float32", silent);
  EXPECT_EQ(scores.f(0, 0), 25);
  EXPECT_LT(decided.f(0, 0), 1);
  // In float32 both may be 1, so that the bounds overlap.
  EXPECT_LE(decided.f(0, 0) - decided.f(0, 1), decided.error(0, 0) + decided.error(0, 1));
}

TEST_F(GraphFile, OfOneNumberDecidesByWhatIsAboveItsThreshold) {
  constant("W", {2, 1}, {1, -1});
  constant("half", {}, {0.5});
  node("MatMul", {"x", "W"}, "s");
  node("Sigmoid", {"s"}, "p");
  node("Greater", {"p", "half"}, "y");
  RowMatrix X(2, 2);
  X << 3, 1, 1, 3;
  Progress silent;
  const GraphOutputs decided = deciding_outputs(read(), X, "float32", silent);
  EXPECT_EQ(decided.f.cols(), 1);
  const double p = 1 / (1 + std::exp(-2.0)) - 0.5;
  EXPECT_LE(std::abs(decided.f(0, 0) - p), decided.error(0, 0));
  EXPECT_LE(std::abs(decided.f(1, 0) + p), decided.error(1, 0));
  EXPECT_LT(decided.error(0, 0), 1e-5);  // a goal: some units of float32
}

// Blocks of samples, of which one that does not fit is not begun.
TEST(GraphMemory, WhatDoesNotFitIsRefusedWithItsBytes) {
  using internal::graph::require_room;
  require_room({1, 3, 32, 32}, 256);
  EXPECT_MESSAGE(ResourceError, require_room({1, 1 << 20, 1 << 20}, 100),
                 "a value of 1 x 1048576 x 1048576 numbers, 100 samples at a time", "needs 1759", " free");
}

}  // namespace
}  // namespace zeroloss
