#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/python.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/conv/resnet.hpp"

namespace zeroloss {
namespace {

ConvNetwork small() {
  ConvNetwork network = draw_network(cifar_architecture(3, 1, 4), 1);
  network.class_names = {"a", "b", "c"};
  return network;
}

class ConvModel : public test::TempFolder {
 protected:
  /// A file like save_model's, changed.
  std::string changed(const std::function<void(TensorFile&)>& change) {
    save_model(path("m"), small());
    TensorFile file = read_tensors(path("m"));
    change(file);
    std::vector<TensorView> views;
    for (const Tensor& t : file.tensors) views.push_back({t.name, t.dtype, t.shape, {t.bytes.data()}});
    write_tensors(path("changed"), views, file.metadata);
    return path("changed");
  }
};

TEST_F(ConvModel, IsLoadedAsItWasSaved) {
  const ConvNetwork saved = small();
  save_model(path("m"), saved, {{"data", "x"}});
  const ConvNetwork loaded = load_conv_network(path("m"));
  EXPECT_EQ(loaded.weights, saved.weights);
  EXPECT_EQ(loaded.projection, saved.projection);
  EXPECT_EQ(loaded.class_names, saved.class_names);
  EXPECT_EQ(weights(loaded.architecture), weights(saved.architecture));
  EXPECT_EQ(loaded.architecture.classes, 3);
  EXPECT_EQ(read_metadata(path("m")).at("data"), "x");
}

// The file has out x in x kernel x kernel, as PyTorch expects it; in memory channels come last.
TEST_F(ConvModel, IsLaidOutAsPyTorchHasIt) {
  const ConvNetwork network = small();
  save_model(path("m"), network);
  const TensorFile file = read_tensors(path("m"));
  const Tensor* stem = file.find("stem.weight");
  ASSERT_NE(stem, nullptr);
  ASSERT_EQ(stem->shape, (std::vector<Index>{1, 3, 3, 3}));
  for (std::size_t in = 0; in < 3; ++in)
    for (std::size_t p = 0; p < 9; ++p)
      EXPECT_EQ(stem->data<float>()[in * 9 + p], network.weights[p * 3 + in]);
}

TEST_F(ConvModel, DamageIsNamed) {
  EXPECT_MESSAGE(DataError, load_conv_network(changed([](TensorFile& f) { f.tensors.pop_back(); })),
                 "no tensor");
  EXPECT_MESSAGE(DataError, load_conv_network(changed([](TensorFile& f) { f.metadata["kind"] = "cat"; })),
                 "kind 'cat'");
  EXPECT_MESSAGE(DataError,
                 load_conv_network(changed([](TensorFile& f) { f.metadata["architecture"] = "{"; })),
                 "architecture is not the JSON");
  const auto resized = [](const char* from, const char* to) {
    return [from, to](TensorFile& f) {
      std::string& text = f.metadata["architecture"];
      text.replace(text.find(from), std::string(from).size(), to);
    };
  };
  EXPECT_MESSAGE(DataError, load_conv_network(changed(resized("\"classes\":3", "\"classes\":0"))),
                 "impossible architecture", "classes must be >= 1");
  EXPECT_MESSAGE(DataError, load_conv_network(changed(resized("\"classes\":3", "\"classes\":4"))),
                 "tensor 'projection' has shape [16, 3]; expected [16, 4]");
  EXPECT_MESSAGE(DataError, load_conv_network(changed(resized("\"blocks\":1", "\"blocks\":900000000"))),
                 "impossible architecture");
  EXPECT_MESSAGE(DataError,
                 load_conv_network(changed([](TensorFile& f) { f.metadata["class_names"] = "[\"a\"]"; })),
                 "1 class names for 3 outputs");
  EXPECT_MESSAGE(DataError, load_conv_network(changed([](TensorFile& f) {
                   const float nan = std::numeric_limits<float>::quiet_NaN();
                   std::memcpy(f.tensors[0].bytes.data(), &nan, sizeof nan);
                 })),
                 "not finite");
}

TEST_F(ConvModel, RefusesNetworksThatDoNotFit) {
  ConvNetwork network = small();
  network.weights.pop_back();
  EXPECT_MESSAGE(std::invalid_argument, save_model(path("m"), network), "save_model: ", "does not fit");
  EXPECT_MESSAGE(std::invalid_argument, export_onnx(path("m"), network), "export_onnx: ", "does not fit");
}

TEST_F(ConvModel, OnnxDescribesItself) {
  ZEROLOSS_NEEDS_PYTHON();
  export_onnx(path("m.onnx"), small());
  const std::vector<std::uint8_t> images(2 * 32 * 32 * 3, 7);  // of one colour: deviation 0
  write_tensors(path("m.in.safetensors"), {view_of("images", {2, 32, 32, 3}, images.data())});
  const auto outcome = test::run_python("storage/run_onnx.py", {folder});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto seen = nlohmann::json::parse(outcome.out).at("m");
  EXPECT_EQ(seen["inputs"]["images"], (nlohmann::json{"tensor(uint8)", {"batch", 32, 32, 3}}));
  EXPECT_EQ(seen["outputs"]["logits"], (nlohmann::json{"tensor(float)", {"batch", 3}}));
  EXPECT_EQ(seen["metadata"]["preprocessing"], "per_image_standardization");
  const TensorFile out = read_tensors(path("m.out.safetensors"));
  for (Index k = 0; k < 6; ++k) EXPECT_EQ(out.find("logits")->data<float>()[k], 0) << "standardised to 0";
}

}  // namespace
}  // namespace zeroloss
