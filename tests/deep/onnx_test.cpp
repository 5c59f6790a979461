#include "zeroloss/deep/onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "support/deep.hpp"
#include "support/python.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/storage/onnx.hpp"

namespace zeroloss {
namespace {

using Strings = std::vector<std::string>;

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(ZEROLOSS_TEST_DIR "/deep/files"))
    if (entry.path().extension() == ".onnx") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

bool says(const Strings& notes, const std::string& text) {
  return std::ranges::any_of(notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

// What the file says of the outputs f: themselves, or what is behind them.
Matrix told(const Matrix& f, const Strings& notes, Index columns) {
  if (says(notes, "Softmax")) {
    const Matrix shifted = f.colwise() - f.rowwise().maxCoeff();
    const Matrix logs = shifted.colwise() - Vector(shifted.array().exp().rowwise().sum().log().matrix());
    return says(notes, "LogSoftmax") ? logs : Matrix(logs.array().exp());
  }
  if (!says(notes, "Sigmoid") && columns == f.cols()) return f;
  const Matrix p = (1 + (-f.array()).exp()).inverse();
  if (columns == p.cols()) return p;
  Matrix both(p.rows(), 2);
  both << (1 - p.array()).matrix(), p;
  return both;
}

class DeepOnnx : public test::TempFolder {
 protected:
  // ONNX Runtime's answers about X, by the names of the files.
  void run(const Strings& folders, const RowMatrix& X) {
    write_tensors(path("points.safetensors"), {view_of("x", {X.rows(), X.cols()}, X.data())});
    Strings arguments = folders;
    arguments.push_back(folder);
    const auto outcome = test::run_python("deep/run_files.py", arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  Matrix answer(const std::string& name) const {
    const TensorFile out = read_tensors(path(name + ".out.safetensors"));
    const Tensor& y = *out.find("y");
    return Eigen::Map<const RowMatrix>(y.data<double>(), y.shape[0], y.shape[1]);
  }
  // What is behind the outputs, a softmax or its logarithm, moves by at most twice as much as they do.
  void expect_close(const DeepNetwork& network, const RowMatrix& X, const Matrix& found,
                    const Matrix& expected) {
    ASSERT_EQ(found.rows(), expected.rows());
    ASSERT_EQ(found.cols(), expected.cols());
    constexpr double kFloat = 0x1p-24;  // of the graphs, or of their erf
    EXPECT_LE((found - expected).cwiseAbs().maxCoeff(),
              2 * test::rounding(network, X, kFloat).maxCoeff() +
                  8 * kFloat * (1 + expected.cwiseAbs().maxCoeff()));
  }

  // A graph by hand, float64, of x [batch, 2]: what `make` returns is its output.
  using Graph = std::function<std::string(OnnxModel& model, const std::string& x)>;
  std::string graph(const Graph& make, const std::string& name = "g.onnx") {
    OnnxModel model("by hand");
    const std::string x = model.input("x", Dtype::f64, {-1, 2});
    model.output(make(model, x), Dtype::f64, {-1, 2});
    model.write(path(name));
    return path(name);
  }
  std::string weights(OnnxModel& model, const std::string& name, double first = 1) const {
    const std::vector<double> numbers{first, 2, 3, 4};
    return model.constant(view_of(name, {2, 2}, numbers.data()));
  }
  std::string numbers(OnnxModel& model, const std::string& name) const {
    const std::vector<double> two{1, 2};
    return model.constant(view_of(name, {2}, two.data()));
  }
  std::string row(OnnxModel& model, const std::string& name) const {
    const std::vector<double> two{1, 2};
    return model.constant(view_of(name, {1, 2}, two.data()));
  }
  std::string cut(OnnxModel& model, const std::string& x, const std::vector<std::int64_t>& shape) const {
    return model.node("Reshape", {x, model.axes(shape)});
  }
  std::string map(OnnxModel& model, const std::string& name, const std::string& h) const {
    return model.node("MatMul", {h, weights(model, name)});
  }
};

// Files that torch.onnx.export (both exporters) and skl2onnx wrote.
TEST_F(DeepOnnx, FilesOfOthersAreTheFunctionsThatOnnxRuntimeComputes) {
  ZEROLOSS_NEEDS_PYTHON();
  const RowMatrix X = test::random_rows(40, 5, 3).cast<float>().cast<double>();
  run({ZEROLOSS_TEST_DIR "/deep/files"}, X);
  ASSERT_GE(files().size(), 30u);
  for (const auto& file : files()) {
    SCOPED_TRACE(file.filename());
    const OnnxNetwork read = read_onnx(file);
    const Matrix expected = answer(file.stem().string());
    expect_close(read.network, X, told(predict(read.network, X), read.notes, expected.cols()), expected);
    const bool half = file.stem().string().ends_with("f8") || file.stem().string().starts_with("double");
    EXPECT_EQ(read.single, !half);
  }
}

TEST_F(DeepOnnx, OtherNumbersInTheSameGraph) {
  ZEROLOSS_NEEDS_PYTHON();
  const RowMatrix X = test::random_rows(40, 5, 4).cast<float>().cast<double>();
  std::map<std::string, OnnxNetwork> written;
  for (const auto& file : files()) {
    SCOPED_TRACE(file.filename());
    const OnnxNetwork source = read_onnx(file);
    DeepNetwork moved = source.network;
    for (Layer& layer : moved.layers) layer.W.array() += 1.0 / 3, layer.b.array() -= 1.0 / 7;
    moved.V *= 1.1;
    const DeepNetwork rounded = write_like(file, source, moved, folder / file.filename());
    const OnnxNetwork again = read_onnx(folder / file.filename());
    for (std::size_t l = 0; l < rounded.layers.size(); ++l) {
      EXPECT_EQ(again.network.layers[l].W, rounded.layers[l].W);
      EXPECT_EQ(again.network.layers[l].b, rounded.layers[l].b);
      if (!source.single) {
        EXPECT_EQ(rounded.layers[l].W, moved.layers[l].W);
      }
    }
    EXPECT_EQ(again.network.V, rounded.V);
    EXPECT_EQ(again.network.c, rounded.c);
    EXPECT_EQ(again.notes, source.notes);
    written.insert_or_assign(file.stem().string(), again);
  }
  run({}, X);
  for (const auto& [name, read] : written) {
    SCOPED_TRACE(name);
    const Matrix expected = answer(name);
    expect_close(read.network, X, told(predict(read.network, X), read.notes, expected.cols()), expected);
  }
  const OnnxNetwork one = read_onnx(files().front());
  DeepNetwork large = one.network;
  large.V(0, 0) = 1e300;
  ASSERT_TRUE(one.single);
  EXPECT_THROW(write_like(files().front(), one, large, path("large.onnx")), std::invalid_argument);
  large.layers.clear();
  EXPECT_THROW(write_like(files().front(), one, large, path("large.onnx")), std::invalid_argument);
}

// Networks of every kind: written, run and read again.
TEST_F(DeepOnnx, WhatIsExportedIsTheNetwork) {
  ZEROLOSS_NEEDS_PYTHON();
  const RowMatrix X = test::random_rows(20, 3, 5);
  std::vector<DeepNetwork> networks;
  for (unsigned seed = 0; seed < 60; ++seed) {
    test::RandomNetwork options{.outputs = 1 + static_cast<Index>(seed % 3)};
    if (seed % 2 == 1) options.activations = layer_activations();
    networks.push_back(test::random_network(seed, options));
    if (seed % 4 == 0) {
      networks.back().task = Task::classification;
      for (Index k = 0; k < std::max<Index>(2, networks.back().outputs()); ++k)
        networks.back().class_names.push_back(std::to_string(k));
    }
    export_onnx(path(std::to_string(seed) + ".onnx"), networks.back(), {{"note", "kept"}});
  }
  run({}, X);
  for (std::size_t i = 0; i < networks.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(networks[i], X, predict(networks[i], X), answer(std::to_string(i)));
    try {
      const OnnxNetwork again = read_onnx(path(std::to_string(i) + ".onnx"));
      expect_close(networks[i], X, predict(again.network, X), predict(networks[i], X));
    } catch (const DataError& error) {  // recipes of operators that stand for no activation
      EXPECT_TRUE(std::ranges::any_of(networks[i].layers, [](const Layer& layer) {
        return (layer.activation != "relu" && layer.activation != "tanh" && layer.activation != "sin") ||
               (layer.U.size() == 0 && layer.bU.size() > 0);
      })) << error.what();
    }
  }
}

// Each of these computes something else than a network that it looks like.
TEST_F(DeepOnnx, WhatIsNoSuchNetworkIsRefusedWithItsNode) {
  const auto relu = [&](OnnxModel& m, const std::string& z) { return m.node("Relu", {z}); };
  const auto hidden = [&](OnnxModel& m, const std::string& x) { return relu(m, map(m, "A", x)); };
  const auto scaled = [&](OnnxModel& m, const std::string& h, double by) {
    return m.node("Mul", {h, m.scalar(by, Dtype::f64)});
  };
  const std::map<std::string, Graph> graphs{
      {"scores turned round",
       [&](auto& m, auto& x) { return scaled(m, m.node("Softmax", {map(m, "B", hidden(m, x))}), -1); }},
      {"softmax of points",
       [&](auto& m, auto& x) {
         return m.node("Softmax", {map(m, "B", hidden(m, x))}, {{"axis", std::int64_t{0}}});
       }},
      {"the input before and after its scaling",
       [&](auto& m, auto& x) {
         const auto h = m.node("Sub", {x, numbers(m, "shift")});
         return map(m, "B", m.node("Add", {x, hidden(m, h)}));
       }},
      {"the input scaled behind a layer",
       [&](auto& m, auto& x) {
         const auto branch = hidden(m, x);
         return map(m, "B", m.node("Add", {m.node("Sub", {x, numbers(m, "shift")}), branch}));
       }},
      {"weights twice",
       [&](auto& m, auto& x) {
         const auto A = weights(m, "A");
         const auto h = relu(m, m.node("MatMul", {x, A}));
         return m.node("MatMul", {relu(m, m.node("MatMul", {h, A})), weights(m, "B")});
       }},
      {"a skip over two layers",
       [&](auto& m, auto& x) {
         return map(m, "C", m.node("Add", {x, relu(m, map(m, "B", hidden(m, x)))}));
       }},
      {"a product of layers",
       [&](auto& m, auto& x) {
         const auto h = hidden(m, x);
         return map(m, "B", m.node("Mul", {h, h}));
       }},
      {"points cut in two",
       [&](auto& m, auto& x) {
         const auto h = relu(m, m.node("MatMul", {cut(m, x, {-1, 1}), row(m, "A")}));
         return map(m, "B", h);
       }},
      {"points in pairs",
       [&](auto& m, auto& x) {
         const std::vector<double> four(8, 0.5);
         const auto A = m.constant(view_of("A", {4, 2}, four.data()));
         return map(m, "B", relu(m, m.node("MatMul", {cut(m, x, {-1, 4}), A})));
       }},
      {"another operator", [&](auto& m, auto& x) { return map(m, "B", m.node("Elu", {map(m, "A", x)})); }},
      {"no hidden layer", [&](auto& m, auto& x) { return map(m, "A", x); }},
      {"an activation at the end", [&](auto& m, auto& x) { return relu(m, map(m, "B", hidden(m, x))); }},
  };
  for (const auto& [what, make] : graphs) {
    SCOPED_TRACE(what);
    const std::string file = graph(make);
    EXPECT_MESSAGE(DataError, read_onnx(file), "g.onnx: ");
  }
  EXPECT_MESSAGE(DataError, read_onnx(graph(graphs.at("another operator"))), "node 'Elu_1' (Elu -> Elu_1)");
}

TEST_F(DeepOnnx, PointsMayBeCutAsTheyAre) {
  const OnnxNetwork read = read_onnx(graph([&](auto& m, auto& x) {
    return map(m, "B", m.node("Relu", {map(m, "A", cut(m, x, {-1, 2}))}));
  }));
  const RowMatrix W{{1, 3}, {2, 4}}, X = test::random_rows(5, 2, 6);
  const Matrix expected = (X * W.transpose()).cwiseMax(0) * W.transpose();
  EXPECT_LE((predict(read.network, X) - expected).norm(), 2 * test::rounding(read.network, X).norm());
}

// Along the second of three dimensions stands one number, and the largest of it is no class.
TEST_F(DeepOnnx, ClassesAreTheSecondDimensionOfTwoAlone) {
  using Change = std::function<std::string(OnnxModel & m, const std::string& value)>;
  const Change as_it_is = [](auto&, auto& value) { return value; };
  const auto read = [&](std::int64_t axis, const std::vector<Index>& shape, const Change& of_points,
                        const Change& of_outputs, const std::vector<Index>& labels = {-1}) {
    OnnxModel m("by hand");
    const std::string x = of_points(m, m.input("x", Dtype::f64, shape));
    const std::string f = of_outputs(m, map(m, "B", m.node("Relu", {map(m, "A", x)})));
    m.output(m.node("ArgMax", {f}, {{"axis", axis}, {"keepdims", std::int64_t{0}}}), Dtype::i64, labels);
    m.write(path("g.onnx"));
    return read_onnx(path("g.onnx")).network.features();
  };
  const Change flat = [](auto& m, auto& x) { return m.node("Flatten", {x}); };
  // x.view(x.size(0), -1) of PyTorch
  const Change viewed = [&](auto& m, auto& x) {
    const std::string zero = m.axes({0}), rest = m.axes({-1});
    const std::string size = m.node("Gather", {m.node("Shape", {x}), zero});
    return m.node("Reshape", {x, m.node("Concat", {size, rest}, {{"axis", std::int64_t{0}}})});
  };
  const Change ended = [&](auto& m, auto& f) {
    m.output(cut(m, f, {-1, 2}), Dtype::f64, {-1, 2});
    return f;
  };
  EXPECT_EQ(read(1, {-1, 2}, as_it_is, as_it_is), 2);
  EXPECT_EQ(read(1, {-1, 2}, viewed, as_it_is), 2);
  EXPECT_EQ(read(-1, {-1, 1, 2}, as_it_is, as_it_is, {-1, 1}), 2);
  EXPECT_EQ(read(1, {-1, 1, 2}, flat, as_it_is), 2);
  EXPECT_EQ(read(1, {-1, 1, 2}, viewed, as_it_is), 2);
  EXPECT_MESSAGE(DataError, read(1, {-1, 1, 2}, as_it_is, as_it_is, {-1, -1}), "(ArgMax -> ",
                 "it goes along axis 1 of 1 x 1 x 2");
  EXPECT_MESSAGE(DataError, read(1, {-1, -1, 2}, as_it_is, as_it_is, {-1, -1}), "points must stay rows");
  EXPECT_MESSAGE(DataError, read(1, {-1, 1, 2}, as_it_is, ended, {-1, -1}), "name one of");
}

TEST_F(DeepOnnx, DropoutAsInTrainingIsRefused) {
  using namespace std::string_literals;
  std::string bytes = content(ZEROLOSS_TEST_DIR "/deep/files/dropout_evaluated.onnx");
  const auto at = bytes.find("\x4a\x01\x00"s);  // one byte of raw data: false
  ASSERT_NE(at, std::string::npos);
  bytes[at + 2] = 1;
  EXPECT_MESSAGE(DataError, read_onnx(write("training.onnx", bytes)), "dropout as in training");
}

TEST_F(DeepOnnx, AGraphKeepsWhatIsNoWeight) {
  const std::string file =
      graph([&](auto& m, auto& x) { return map(m, "B", m.node("LeakyRelu", {map(m, "A", x)})); });
  const OnnxNetwork read = read_onnx(file);
  DeepNetwork other = read.network;
  other.V *= 2;
  EXPECT_EQ(write_like(file, read, other, path("other.onnx")).V, other.V);
  const auto refused = [&](auto change) {
    DeepNetwork changed = read.network;
    change(changed);
    EXPECT_THROW(write_like(file, read, changed, path("changed.onnx")), std::invalid_argument);
  };
  refused([](DeepNetwork& network) { network.layers[0].leak = 0.5; });
  refused([](DeepNetwork& network) { network.shift = Vector::Ones(2); });
  refused([](DeepNetwork& network) { network.factor = Vector::Constant(2, 0.5); });
}

std::string made(const std::string& name) { return ZEROLOSS_TEST_DIR "/deep/graphs/" + name + ".onnx"; }

TEST_F(DeepOnnx, ClassesAreCalledWhatTheFileCallsThem) {
  const std::map<std::string, Strings> names{{"gather", {"2", "0", "1"}},
                                             {"extractor_text", {"c", "a", "b"}},
                                             {"encoder", {"2", "0", "1"}},
                                             {"encoder_text", {"c", "a", "b"}},
                                             {"encoder_twice", {"30", "10", "20"}},
                                             {"zipmap", {"c", "a", "b"}},
                                             {"gather_large", {"9007199254740993", "9007199254740992", "5"}},
                                             {"gather_floats", {"0.1", "0.5", "3"}},
                                             {"greater", {"1", "0"}}};
  for (const auto& [name, expected] : names) {
    SCOPED_TRACE(name);
    const DeepNetwork read = read_onnx(made(name)).network;
    EXPECT_EQ(read.class_names, expected);
    EXPECT_EQ(read.task, Task::classification);
  }
  const OnnxNetwork plain = read_onnx(ZEROLOSS_TEST_DIR "/deep/files/sklearn_c3_relu_zip_f4.onnx");
  EXPECT_EQ(plain.network.class_names, (Strings{"0", "1", "2"}));
  EXPECT_FALSE(says(plain.notes, "calls its classes"));
  EXPECT_MESSAGE(DataError, read_onnx(made("encoder_short")), "node 'label' (LabelEncoder -> label)",
                 "no name for 2");
  EXPECT_MESSAGE(DataError, read_onnx(made("gather_short")), "node 'label' (Gather -> label)",
                 "2 names, and none for 2");
  EXPECT_MESSAGE(DataError, read_onnx(made("gather_same")), "node 'label' (Gather -> label)",
                 "two outputs one name");
  EXPECT_MESSAGE(DataError, read_onnx(made("label_as_bool")), "node 'b' (Cast -> b)", "two outputs one name");
  EXPECT_MESSAGE(DataError, read_onnx(made("gather_of_labels")), "node 'i' (ArgMax -> i)");
  EXPECT_MESSAGE(DataError, read_onnx(made("gather_large_as_double")), "node 'label' (Cast -> label)",
                 "the label 9007199254740993 is not known to be the same as float64");
}

TEST_F(DeepOnnx, WhatIsBehindTheOutputsIsKept) {
  EXPECT_EQ(read_onnx(made("sigmoid")).network.behind, "node 'o' (Sigmoid -> o)");
  EXPECT_EQ(read_onnx(made("gather")).network.behind, "node 'i' (ArgMax -> i)");
  EXPECT_EQ(read_onnx(made("perm_10")).network.behind, "");
  // y itself is an output of the graph, beside the label.
  export_onnx(path("labelled.onnx"), read_onnx(made("gather")).network);
  EXPECT_EQ(read_onnx(path("labelled.onnx")).network.behind, "");
}

TEST_F(DeepOnnx, IntegersAndNarrowNumbersAreNotRealOnes) {
  const auto refused = [](const std::string& name, const std::string& node, const std::string& why) {
    SCOPED_TRACE(name);
    EXPECT_MESSAGE(DataError, read_onnx(made(name)), made(name), node, why);
  };
  refused("int64_div", "node 'q' (Div -> q)", "its input 1 is of int64");
  refused("int32_mul", "node 'q' (Mul -> q)", "its input 1 is of int32");
  EXPECT_TRUE(read_onnx(made("narrow_inside")).network.single);  // as a float32 network it is run rounded
  refused("half_points", "'x'", "float16");
  const RowMatrix halves{{1, 2, 0.5}}, tenths{{1, 2, 0.1}}, large{{16777217, 0, 0}}, small{{1, 2, -3}};
  const DeepNetwork integers = read_onnx(made("int64_points")).network;
  EXPECT_MESSAGE(DataError, predict(integers, halves), "feature 2 of point 0 is 0.5", "int64", "input 'x'");
  EXPECT_MESSAGE(DataError, predict(integers, large), "float32", "node 'xf' (Cast -> xf)");
  EXPECT_EQ(predict(integers, small).size(), 1);
  const DeepNetwork doubles = read_onnx(made("double_points")).network;
  EXPECT_MESSAGE(DataError, predict(doubles, tenths), "feature 2 of point 0 is 0.1",
                 "node 'xf' (Cast -> xf)");
  EXPECT_EQ(predict(doubles, halves).size(), 1);
}

TEST_F(DeepOnnx, SizesAndInputsAreThoseOfTheFile) {
  // x1 = reshape(x, [batch, the rest of x's sizes]), the rest by a slice to the largest integer.
  EXPECT_EQ(read_onnx(made("slice_to_the_end")).network.features(), 3);
  EXPECT_MESSAGE(DataError, read_onnx(made("cast_of_two")), "node 'z1' (Cast -> z1)",
                 "it has 2 inputs and takes 1");
  EXPECT_MESSAGE(DataError, read_onnx(made("relu_of_two")), "node 'a' (Relu -> a)",
                 "it has 2 inputs and takes 1");
}

// Whoever runs it rounds points, whatever the weights are.
TEST_F(DeepOnnx, PointsInFloat32AreRounded) {
  const OnnxNetwork read = read_onnx(made("single_points_double_weights"));
  EXPECT_FALSE(read.single);
  EXPECT_TRUE(read.network.single);
}

TEST_F(DeepOnnx, AttributesMeanWhatTheirOperatorSetSays) {
  const auto refused = [](const std::string& name, const std::string& node, const std::string& why) {
    SCOPED_TRACE(name);
    EXPECT_MESSAGE(DataError, read_onnx(made(name)), made(name), node, why);
  };
  refused("leak_without_type", "node 'a' (LeakyRelu -> a)", "'alpha' has no type");
  refused("leak_integer", "node 'a' (LeakyRelu -> a)", "'alpha' is of another type");
  refused("unknown_attribute", "node 'a' (Tanh -> a)", "'alpha' is not known");
  refused("add_axis_0", "node 'z' (Add -> z)", "stands at axis 0");
  refused("dropout_trains", "node 'a' (Dropout -> a)", "dropout as in training");
  refused("opset_99", "operator set is 99", "1 to ");
  refused("empty_factor", "node 'x1' (Mul -> x1)", "its input 2 has no numbers");
  refused("reshape_turned", "node 'z' (MatMul -> z)", "it multiplies 1 numbers by weights for 3");
  EXPECT_EQ(read_onnx(made("add_axis_1")).network.layers[0].b.size(), 4);
  EXPECT_EQ(read_onnx(made("dropout_tests")).network.depth(), 1);
  const RowMatrix turned = read_onnx(made("perm_10")).network.layers[1].W,
                  kept = read_onnx(made("perm_01")).network.layers[1].W;
  EXPECT_EQ(kept, turned.transpose());
  EXPECT_NE(kept, turned);
}

// Constants that something else uses too, and weights of another type than they are used in.
TEST_F(DeepOnnx, WhatIsWrittenIsWhatIsReadAgain) {
  ZEROLOSS_NEEDS_PYTHON();
  for (const std::string name : {"shared_shift_bias", "shared_one_bias", "int64_weights", "double_weights",
                                 "weights_seen_twice", "perm_01", "perm_10", "add_axis_1"}) {
    SCOPED_TRACE(name);
    const OnnxNetwork read = read_onnx(made(name));
    DeepNetwork moved = read.network;
    for (Layer& layer : moved.layers) layer.W.array() += 1.0 / 3, layer.b.array() -= 1.0 / 7;
    moved.V *= 1.1;
    moved.c.array() += 0.7;
    const DeepNetwork found = write_like(made(name), read, moved, path("written.onnx"));
    const double unit = read.single ? 0x1p-24 : 0;
    const auto limit = [&](const RowMatrix& A) { return unit * A.cwiseAbs().maxCoeff(); };
    EXPECT_LE((found.V - moved.V).cwiseAbs().maxCoeff(), limit(moved.V));
    EXPECT_LE((found.layers[0].W - moved.layers[0].W).cwiseAbs().maxCoeff(), limit(moved.layers[0].W));
    EXPECT_EQ(found.shift, read.network.shift);
    if (name == "add_axis_1") continue;  // ONNX Runtime has no such operator set
    const RowMatrix X = test::random_rows(20, found.features(), 3).cast<float>().cast<double>();
    run({}, X);
    expect_close(found, X, predict(found, X), answer("written"));
  }
}

TEST_F(DeepOnnx, DamagedFilesAreErrors) {
  Random random(1, Stream::noise);
  std::vector<std::filesystem::path> all = files();
  for (const auto& entry : std::filesystem::directory_iterator(ZEROLOSS_TEST_DIR "/deep/graphs"))
    if (entry.path().extension() == ".onnx") all.push_back(entry.path());
  for (const auto& file : all) {
    const std::string bytes = content(file);
    for (int trial = 0; trial < 80; ++trial) {
      std::string damaged = bytes;
      if (trial % 10 == 0)
        damaged.resize(random.below(bytes.size()));
      else
        for (int k = 0; k <= trial % 3; ++k)
          damaged[random.below(bytes.size())] = static_cast<char>(random.below(256));
      const std::string path = write("damaged.onnx", damaged);
      try {
        const OnnxNetwork read = read_onnx(path);
        check(read.network);
        if (trial % 8 == 1) write_like(path, read, read.network, folder / "again.onnx");
      } catch (const DataError& error) {
        EXPECT_NE(std::string(error.what()).find("damaged.onnx"), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_MESSAGE(DataError, read_onnx(path("absent.onnx")), "absent.onnx");
  EXPECT_MESSAGE(DataError, read_onnx(write("empty.onnx", "")), "empty.onnx");
  EXPECT_MESSAGE(DataError, read_onnx(folder), "cannot be read");
}

}  // namespace
}  // namespace zeroloss
