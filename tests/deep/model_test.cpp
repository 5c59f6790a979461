#include "zeroloss/deep/model.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/deep.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

using DeepModel = test::TempFolder;

TEST_F(DeepModel, ComesBackToTheLastBit) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    DeepNetwork network = test::random_network(seed);
    network.layers.front().scale = 1.0 / 3;
    if (network.outputs() == 1) {
      network.task = Task::regression;
    } else {
      network.task = Task::classification;
      for (Index k = 0; k < network.outputs(); ++k)
        network.class_names.push_back("class " + std::to_string(k));
    }
    if (network.shift.size() > 0) network.shift_low = network.shift * 0x1p-54;
    save_model(folder / "m.safetensors", network, {{"note", "kept"}});
    const DeepNetwork again = load_deep(folder / "m.safetensors");
    EXPECT_EQ(read_metadata(folder / "m.safetensors").at("note"), "kept");
    EXPECT_EQ(again.class_names, network.class_names);
    EXPECT_EQ(again.task, network.task);
    EXPECT_EQ(again.shift, network.shift);
    EXPECT_EQ(again.shift_low, network.shift_low);
    EXPECT_EQ(again.factor, network.factor);
    EXPECT_EQ(again.V, network.V);
    EXPECT_EQ(again.c, network.c);
    ASSERT_EQ(again.layers.size(), network.layers.size());
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      const Layer &a = again.layers[l], &b = network.layers[l];
      EXPECT_EQ(a.activation, b.activation);
      EXPECT_EQ(a.residual, b.residual);
      EXPECT_EQ(a.scale, b.scale);
      EXPECT_EQ(a.W, b.W);
      EXPECT_EQ(a.b, b.b);
      EXPECT_EQ(a.U, b.U);
      EXPECT_EQ(a.bU, b.bU);
      EXPECT_TRUE(a.activation != "leaky_relu" || a.leak == b.leak);
    }
  }
}

TEST_F(DeepModel, RefusesWhatIsNoNetwork) {
  EXPECT_THROW(load_deep(folder / "absent"), DataError);
  const DeepNetwork network = test::random_network(1);
  const auto path = folder / "m.safetensors";
  for (const Metadata& wrong : std::vector<Metadata>{{},
                                                     {{"kind", "two_layer"}},
                                                     {{"kind", "deep"}, {"format_version", "2"}},
                                                     {{"kind", "deep"}, {"format_version", "1"}}}) {
    write_tensors(path, {view_of("V", {2, 2}, network.V.data())}, wrong);
    EXPECT_THROW(load_deep(path), DataError);
  }
  for (const char* layers :
       {"", "{}", "[{}]", "[1]", "[]", R"([{"activation": "step", "residual": false, "scale": 1}])",
        R"([{"activation": "relu", "residual": true, "scale": "1"}])"}) {
    const RowMatrix A = RowMatrix::Ones(2, 2);
    write_tensors(path, {view_of("W1", {2, 2}, A.data()), view_of("V", {2, 2}, A.data())},
                  {{"kind", "deep"},
                   {"format_version", "1"},
                   {"precision", "float64"},
                   {"task", "none"},
                   {"class_names", "[]"},
                   {"layers", layers}});
    EXPECT_THROW(load_deep(path), DataError) << layers;
  }
}

// Bytes that are damaged one at a time give another network or a DataError, nothing else.
TEST_F(DeepModel, DamagedFilesAreErrors) {
  const auto path = folder / "m.safetensors";
  save_model(path, test::random_network(2));
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Random random(1, Stream::noise);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = bytes;
    if (trial % 4 == 0)
      damaged.resize(random.below(bytes.size()));
    else
      damaged[random.below(trial % 2 == 0 ? 400 : bytes.size())] = static_cast<char>(random.below(256));
    std::ofstream(path, std::ios::binary) << damaged;
    try {
      check(load_deep(path));
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("m.safetensors"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace zeroloss
