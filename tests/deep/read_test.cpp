#include "zeroloss/deep/read.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/tensors.hpp"
#include "zeroloss/network/model.hpp"

namespace zeroloss {
namespace {

class ReadNetworkFiles : public test::TempFolder {
 protected:
  // A state_dict of linear layers 4 -> 5 -> 7 -> 5 -> 2.
  std::filesystem::path state(const std::vector<std::string>& names = {"embed", "block.9", "block.10",
                                                                       "head"}) {
    std::vector<TensorView> tensors;
    const auto linear = [&](const std::string& name, const RowMatrix& W, const Vector& b) {
      tensors.push_back(view_of(name + ".weight", {W.rows(), W.cols()}, W.data()));
      if (b.size() > 0) tensors.push_back(view_of(name + ".bias", {b.size()}, b.data()));
    };
    linear(names[0], embed, b);
    linear(names[1], inner, c);
    linear(names[2], outer, {});
    linear(names[3], head, {});
    write_tensors(folder / "state.safetensors", tensors, {});
    return folder / "state.safetensors";
  }
  void refused(const std::string& description, const std::string& words) {
    try {
      read_network(state(), {.description = description});
      FAIL() << description;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
  const RowMatrix embed = test::random_rows(5, 4, 1), inner = test::random_rows(7, 5, 2),
                  outer = test::random_rows(5, 7, 3), head = test::random_rows(2, 5, 4),
                  X = test::random_rows(6, 4, 5);
  const Vector b = Vector::LinSpaced(5, -1, 1), c = Vector::LinSpaced(7, 0, 1);
};

TEST_F(ReadNetworkFiles, AStateDictByTheNumbersInItsNames) {
  const auto file = state({"net.2", "net.9", "net.10", "net.100"});
  const DeepNetwork network = read_network(file, {.activation = "tanh,identity,relu"}).network;
  ASSERT_EQ(network.layers.size(), 3U);
  EXPECT_EQ(network.layers[0].W, embed);
  EXPECT_EQ(network.layers[0].b, b);
  EXPECT_EQ(network.layers[1].W, inner);
  EXPECT_EQ(network.layers[1].activation, "identity");
  EXPECT_EQ(network.layers[2].W, outer);
  EXPECT_EQ(network.layers[2].b.size(), 0);
  EXPECT_EQ(network.V, head);
  EXPECT_EQ(read_network(file, {.activation = "gelu"}).network.layers[2].activation, "gelu");
  for (const char* wrong : {"", "tanh,relu", "step", "tanh,,relu", "tanh,relu,"})
    EXPECT_THROW(read_network(file, {.activation = wrong}), std::invalid_argument) << wrong;
}

TEST_F(ReadNetworkFiles, AStateDictByItsLayout) {
  const DeepNetwork network = read_network(state(), {.description = R"({
      "layers": [{"W": "embed", "activation": "identity"},
                 {"W": "block.9", "U": "block.10", "activation": "leaky_relu", "leak": 0.25, "residual": true, "scale": 0.5}],
      "output": "head", "shift": [1, 2, 3, 4], "factor": [0.5, 0.5, 2, 1]})"})
                                  .network;
  RowMatrix h = X;
  for (Index k = 0; k < 4; ++k)
    h.col(k).array() = (h.col(k).array() - (k + 1.0)) * (k < 2 ? 0.5 : k == 2 ? 2.0 : 1.0);
  Matrix value = (h * embed.transpose()).rowwise() + b.transpose();
  const Matrix z = (value * inner.transpose()).rowwise() + c.transpose();
  value += 0.5 * z.unaryExpr([](double t) { return t >= 0 ? t : 0.25 * t; }) * outer.transpose();
  const Matrix off = (predict(network, X) - value * head.transpose()).cwiseAbs();
  EXPECT_LE((off - 2 * test::rounding(network, X)).maxCoeff(), 0) << off.maxCoeff();

  refused("{", "layout");
  refused(R"({"layers": [{"W": "embed", "activation": "relu"}], "output": "head"})",
          "says nothing of 'block.9'");
  refused(R"({"layers": [{"W": "embed", "activation": "relu", "units": 3}], "output": "head"})",
          "unknown key 'units'");
  refused(R"({"layers": [{"W": "tail", "activation": "relu"}], "output": "head"})", "there is no 'tail'");
  refused(
      R"({"layers": [{"W": "embed", "activation": "relu"}, {"W": "embed", "activation": "relu"}], "output": "head"})",
      "occurs twice");
  refused(R"({"layers": [{"W": "embed", "activation": "relu", "U": "block.9"}], "output": "head"})",
          "residual");
  EXPECT_THROW(read_network(state(), {.activation = "relu", .description = "{}"}), std::invalid_argument);
  EXPECT_THROW(read_network(state(), {.description = R"({"layers": [{"W": "embed", "activation": "relu"},
      {"W": "block.10", "activation": "relu"}, {"W": "block.9", "activation": "relu"}], "output": "head"})"}),
               DataError);  // sizes
}

TEST_F(ReadNetworkFiles, ATwoLayerNetworkIsOneOfLayers) {
  for (const bool table : {false, true})
    for (const Index K : {1, 3})
      for (const char* phi : {"relu", "leaky_relu", "gelu"}) {
        Network two;
        two.activation = phi;
        const Index d = table ? 5 : 4;
        for (Index k = 0; k < K; ++k)
          two.outputs.push_back(
              draw({.width = 6, .d = d, .seed = 3, .index = static_cast<std::uint64_t>(k)}));
        two.task = K > 1 ? Task::classification : Task::regression;
        if (K > 1) two.class_names = {"a", "b", "c"};
        if (table) {
          two.standardization.scale = (Vector(4) << 0.5, 2, 1, 0.125).finished();
          two.standardization.bias = 1.5;
          two.center = {(Vector(5) << 0.1, -0.2, 0.3, 7, 0).finished(), Vector::Zero(5)};
          two.center.low(0) = 0x1p-58;
        }
        save_model(folder / "two.safetensors", two);
        const ReadNetwork read = read_network(folder / "two.safetensors");
        EXPECT_EQ(read.notes.size(), K > 1 ? 1U : 0U);
        EXPECT_EQ(read.network.class_names, two.class_names);
        if (table) {
          EXPECT_EQ(read.network.shift_low, (Vector(4) << 0x1p-57, 0, 0, 0).finished());
        }
        const Matrix off = (predict(read.network, X) - predict(two, X)).cwiseAbs();
        EXPECT_LE((off - 2 * test::rounding(read.network, X)).maxCoeff(), 0) << off.maxCoeff();
        EXPECT_THROW(read_network(folder / "two.safetensors", {.activation = "relu"}), std::invalid_argument);
      }
}

}  // namespace
}  // namespace zeroloss
