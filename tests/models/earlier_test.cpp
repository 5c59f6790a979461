#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/models/models.hpp"
#include "zeroloss/storage/tensors.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// Run folders that an earlier version has written (tests/fixtures/before_rooms) go on opening.
namespace zeroloss {
namespace {

namespace fs = std::filesystem;
const fs::path kEarlier = fs::path(ZEROLOSS_TEST_DIR) / "fixtures" / "before_rooms";

class Earlier : public test::TempFolder {
 protected:
  /// A copy, which the test may write to.
  fs::path copy(const fs::path& file) {
    fs::copy_file(kEarlier / file, path(file.filename().string()));
    return path(file.filename().string());
  }
};

/// What is said when `work` is refused; the test fails if it is not.
template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const std::invalid_argument& error) {
    return error.what();
  } catch (const DataError& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST_F(Earlier, ModelsPredictWhatTheyWereTrainedOn) {
  const Dataset pair = read_dataset("digits", {.n = 24, .classes = {"3", "8"}});
  const Dataset ten = read_dataset("digits", {.n = 40});
  const struct {
    const char* file;
    const char* description;
    const Dataset& data;
  } cases[] = {
      {"fit_two_classes/model.safetensors", "two-layer relu network of width 16, float64", pair},
      {"fit_two_classes/polished.safetensors", "two-layer relu network of width 16, float64", pair},
      {"fit_classes", "two-layer softplus network of width 8, float64", ten},
      {"memorize", "memoriser of", pair},
  };
  for (const auto& [file, description, data] : cases) {
    const Model model = open_model(kEarlier / file);
    EXPECT_EQ(model.description.rfind(description, 0), 0u) << file << ": " << model.description;
    EXPECT_EQ(predict(model, data).error, 0) << file;
    model.export_onnx(path("model.onnx"));
  }
  EXPECT_EQ(open_model(kEarlier / "fit_float32").description, "two-layer relu network of width 20, float32");
}

TEST_F(Earlier, FactorsOfALinearMapAreThere) {
  const TensorFile file = read_tensors(kEarlier / "linear" / "model.safetensors");
  EXPECT_FALSE(file.tensors.empty());
  EXPECT_FALSE(file.metadata.at("kind").empty());
}

TEST_F(Earlier, CheckpointsGoOnOrAreRefusedInWords) {
  FitOptions options{.width = 4, .max_steps = 100'000'000, .tolerance = 1e-15};
  options.checkpoint = copy("interrupted/checkpoint.safetensors");
  options.resume = true;
  const Dataset data = read_dataset("digits", {.n = 24, .classes = {"3", "8"}});
  const std::string said = refusal([&] { fit(data, options); });
  EXPECT_NE(said.find("checkpoint"), std::string::npos) << said;
}

TEST_F(Earlier, StoresOfSweepsGoOnOrAreRefusedInWords) {
  SweepOptions options;
  options.fit.precision = "float32";
  options.fit.max_steps = 2000;
  options.axes.n = {4, 8};
  options.axes.width = {8, 16};
  options.trials = 2;
  options.store = copy("sweep/trials.db");
  const std::string said = refusal([&] { sweep("sphere:d=4", options); });
  EXPECT_NE(said.find("trials.db"), std::string::npos) << said;
}

}  // namespace
}  // namespace zeroloss
