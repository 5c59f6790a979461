#include "zeroloss/deep/read.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/storage/tensors.hpp"

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

TEST_F(ReadNetworkFiles, NamesThatDoNotNumberTheLayersNeedTheirOrder) {
  const auto words = [](const std::filesystem::path& file, const StateLayout& layout) {
    try {
      read_network(file, layout);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::vector<std::vector<std::string>> unordered{
      {"hidden1", "hidden2", "input", "output"},  // alphabetically input is the third
      {"fc", "fc0", "fc1", "fc2"},
      {"fc1", "fc2", "fc3", "out"},
      {"a.0.1", "a.0.2", "a.1.1", "a.1.2"},
      {"first", "fourth", "second", "third"}};
  for (const std::vector<std::string>& names : unordered) {
    const auto file = state(names);
    EXPECT_NE(words(file, {.activation = "tanh"}).find("order of its layers with `layout`"),
              std::string::npos)
        << names.front();
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "[\"" : ", \"") + name + '"';
    const StateLayout layout{.activation = "tanh", .description = list + "]"};
    const ReadNetwork read = read_network(file, layout);
    EXPECT_EQ(read.network.layers[0].W, embed) << names.front();
    EXPECT_EQ(read.network.layers[1].W, inner) << names.front();
    EXPECT_EQ(read.network.V, head) << names.front();
  }
  for (const auto& [one, other] : {std::pair("fc1", "fc01"), std::pair("a.0", "a.00")})
    EXPECT_NE(words(state({one, other, "fc2", "fc3"}), {.activation = "relu"})
                  .find(std::string("'") + std::min<std::string>(one, other) + "' and '"),
              std::string::npos);

  const auto file = state();
  const auto with = [&](const char* list) {
    return words(file, {.activation = "relu", .description = list});
  };
  EXPECT_NE(with(R"(["embed", "block.9", "head"])").find("says nothing of 'block.10'"), std::string::npos);
  EXPECT_NE(with(R"(["embed", "block.9", "block.9", "head"])").find("'block.9' occurs twice"),
            std::string::npos);
  EXPECT_NE(with(R"(["embed", "tail"])").find("there is no 'tail'"), std::string::npos);
  EXPECT_NE(with("[1]").find("layout"), std::string::npos);
  EXPECT_NE(words(file, {.description = R"(["embed", "block.9", "block.10", "head"])"}).find("`activation="),
            std::string::npos);
}

TEST_F(ReadNetworkFiles, TheLayersThatWereTakenAreSaid) {
  using Notes = std::vector<std::string>;
  const std::string said = "its layers were taken in this order, by ";
  EXPECT_EQ(
      read_network(state({"net.2", "net.09", "net.10", "net.100"}), {.activation = "tanh"}).notes,
      Notes{said + "the numbers in their names: tanh(net.2) -> tanh(net.09) -> tanh(net.10) -> net.100"});
  EXPECT_EQ(read_network(state(), {.activation = "relu,tanh,sin",
                                   .description = R"(["embed", "block.9", "block.10", "head"])"})
                .notes,
            Notes{said + "the layout: relu(embed) -> tanh(block.9) -> sin(block.10) -> head"});
  EXPECT_EQ(read_network(state(), {.description = R"({"layers": [{"W": "embed", "activation": "identity"},
      {"W": "block.9", "U": "block.10", "activation": "tanh", "residual": true, "scale": 0.5}], "output": "head"})"})
                .notes,
            Notes{said + "the layout: identity(embed) -> h + 0.5 block.10(tanh(block.9)) -> head"});
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
          "says nothing of 'block.10'");
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
