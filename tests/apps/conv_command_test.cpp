#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <thread>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/python.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/storage/tensors.hpp"

/// `zeroloss conv`, as people run it.
namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

// Of `small` below, relative: 7 convolutions of at most 9 * 16 products each.
constexpr double kConvRounding = gamma_of(7 * 9 * 16, 0x1p-24);

class ConvCommand : public TempFolder {
 protected:
  /// A CIFAR-10 folder with images of noise, n a batch file.
  std::string noise(Index n) const {
    Random random(1, Stream::points);
    for (const char* name : {"data_batch_1.bin", "test_batch.bin"}) {
      std::string bytes;
      for (Index i = 0; i < n; ++i) {
        bytes += static_cast<char>(i % 10);
        for (int k = 0; k < 3072; ++k) bytes += static_cast<char>(random.below(256));
      }
      write(std::string("cifar/") + name, bytes);
    }
    return path("cifar");
  }

  static Outcome conv(const Arguments& arguments, const RunOptions& options = {}) {
    return zeroloss(with({"conv"}, arguments), options);
  }

  static Arguments small(const std::string& data, const std::string& out) {
    return {"train",       data,     "--depth", "1", "--width",          "4", "--batch",  "8",
            "--steps",     "10",     "--out",   out, "--evaluate-every", "5", "--device", "cpu",
            "--precision", "float32"};
  }

  std::vector<std::string> lines(const std::string& file) const {
    std::istringstream in(content(path(file)));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
};

TEST_F(ConvCommand, TrainsEvaluatesPredictsAndExports) {
  const std::string data = noise(20);
  const Outcome trained = conv(small(data, path("run")));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("20 training images and 20 test images, 10 classes"), std::string::npos)
      << trained.out;
  EXPECT_NE(trained.out.find("7 convolutions"), std::string::npos) << trained.out;
  for (const char* file : {"manifest.json", "result.json", "evaluation.json", "model.safetensors",
                           "metrics.csv", "norms.csv", "error.vl.json", "norms.vl.json"})
    EXPECT_TRUE(fs::exists(path("run") + "/" + file)) << file;
  EXPECT_FALSE(fs::exists(path("run") + "/checkpoint.safetensors"));

  const auto metrics = lines("run/metrics.csv");
  ASSERT_EQ(metrics.size(), 3U);
  EXPECT_EQ(
      metrics[0],
      "step,epoch,learning_rate,train_loss,train_error,test_error,images_per_s,weight_norm,gradient_norm");
  EXPECT_EQ(metrics[1].substr(0, 9), "5,2,0.05,");
  EXPECT_EQ(lines("run/norms.csv")[0], "step,stage1.block1,stage2.block1,stage3.block1");
  const Json result = json_of(path("run/result.json"));
  EXPECT_EQ(result["n"], 20);
  EXPECT_EQ(result["steps"], 10);
  EXPECT_EQ(result["options"]["learning_rate"], 0.05);
  Json evaluation = json_of(path("run/evaluation.json"));
  Index images = 0;
  for (const Json& row : evaluation["confusion"])
    for (const Json& count : row) images += count.get<Index>();
  EXPECT_EQ(images, 20);

  // The same network on the same images.
  Json said = answer({"conv", "eval", path("run"), data, "--device", "cpu", "--precision", "float32"});
  EXPECT_EQ(said["next"]["command"], shell_command({"zeroloss", "export", path("run"), "model.onnx"}));
  said.erase("next");
  evaluation.erase("next");
  EXPECT_EQ(said, evaluation);
  // Of some classes: what it says of these is the same.
  const std::vector<std::string> names = evaluation["class_names"];
  const Json some = answer({"conv", "eval", path("run"), data, "--device", "cpu", "--precision", "float32",
                            "--classes", names[3] + "," + names[8]});
  EXPECT_EQ(some["class_names"], evaluation["class_names"]);
  for (const int k : {3, 8}) EXPECT_EQ(some["confusion"][k], evaluation["confusion"][k]);
  EXPECT_EQ(some["confusion"][4], Json(std::vector<int>(10, 0)));
  EXPECT_EQ(zeroloss({"export", path("run"), path("net.onnx")}).exit_code, 0);

  refused(with({"conv"}, small(data, path("run"))), {"exists"});
}

// The exported file holds the preprocessing, and says what eval says. Logits differ by the order of sums.
TEST_F(ConvCommand, OnnxRuntimeAgrees) {
  ZEROLOSS_NEEDS_PYTHON();
  const std::string data = noise(30);
  ASSERT_EQ(conv(with(small(data, path("run")), {"--learning-rate", "0.02"})).exit_code, 0);
  ASSERT_EQ(zeroloss({"export", path("run"), path("net.onnx")}).exit_code, 0);
  const Outcome onnx = run_python("apps/conv_onnx.py", {path("net.onnx"), path("cifar/test_batch.bin")});
  ASSERT_EQ(onnx.exit_code, 0) << onnx.err;
  const Json evaluation = json_of(path("run/evaluation.json"));
  const Json found = Json::parse(onnx.out);
  EXPECT_EQ(found["confusion"], evaluation["confusion"]);
  const double loss = evaluation["loss"].get<double>();
  EXPECT_NEAR(found["loss"].get<double>(), loss, kConvRounding * loss);
}

// LibTorch computes bounds of the same numbers; the names of classes and of what is left out are the same.
TEST_F(ConvCommand, LabelsAreProvedOnADevice) {
  const std::string data = noise(20);
  ASSERT_EQ(conv(small(data, path("run"))).exit_code, 0);
  const auto proved = [&](const Arguments& more) {
    return answer(with({"prove", path("run"), data, "--split", "test"}, more)).at("networks").at(0);
  };
  const Json here = proved({}), there = proved({"--device", "cpu"});
  EXPECT_EQ(here.at("right").get<int>() + here.at("wrong").get<int>(), 20);
  for (const char* key : {"right", "wrong", "undecided", "wrong_samples", "margin_sample"})
    EXPECT_EQ(there.at(key), here.at(key)) << key;
  const double off = here.at("output_error").get<double>() + there.at("output_error").get<double>();
  EXPECT_NEAR(there.at("margin").get<double>(), here.at("margin").get<double>(),
              4 * off);  // two margins, each of two outputs
  EXPECT_TRUE(there.at("single_samples").empty());
  const Outcome told = zeroloss({"prove", path("run"), data, "--device", "cpu"});
  EXPECT_NE(told.out.find("labels and margins are computed by LibTorch"), std::string::npos) << told.out;
  EXPECT_EQ(zeroloss({"prove", path("run"), data, "--device", "gpu"}).exit_code, 2);
  EXPECT_EQ(
      zeroloss({"prove", ZEROLOSS_SOURCE_DIR "/examples/digits.onnx", "digits", "--device", "cpu"}).exit_code,
      2);
}

TEST_F(ConvCommand, StopsOnInterruptAndResumes) {
  const std::string data = noise(40);
  auto arguments = small(data, path("run"));
  arguments = with(arguments, {"--no-test"});
  arguments[9] = "150";  // long enough to be interrupted
  ASSERT_EQ(conv(arguments).exit_code, 0);
  arguments[11] = path("cut");
  RunOptions options;
  options.terminal = true;
  options.interrupt_when = [](const Outcome& so_far) { return so_far.err.find("loss") != std::string::npos; };
  const Outcome cut = conv(arguments, options);
  ASSERT_EQ(cut.exit_code, 130) << cut.err;
  EXPECT_NE(cut.err.find("--resume"), std::string::npos) << cut.err;
  EXPECT_FALSE(fs::exists(path("cut")));
  EXPECT_TRUE(fs::exists(path("cut.partial/checkpoint.safetensors")));
  refused(with({"conv"}, arguments), {"unfinished run"});  // without --resume nothing is overwritten
  const std::size_t rows = lines("cut.partial/metrics.csv").size();
  refused(with(with({"conv"}, arguments), {"--resume", "--classes", "3,4"}), {"classes is "});
  EXPECT_EQ(lines("cut.partial/metrics.csv").size(), rows);
  const Outcome rest = conv(with(arguments, {"--resume"}));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  const TensorFile whole = read_tensors(path("run/model.safetensors")),
                   resumed = read_tensors(path("cut/model.safetensors"));
  for (const Tensor& tensor : whole.tensors)
    EXPECT_EQ(resumed.find(tensor.name)->bytes, tensor.bytes) << tensor.name;
}

// The mean of two halves' gradients is the whole's, up to the rounding of sums: 10 steps of float32.
TEST_F(ConvCommand, TwoProcessesAgreeWithOne) {
  const std::string data = noise(40);
  ASSERT_EQ(conv(small(data, path("one"))).exit_code, 0);
  Outcome outcomes[2];
  const std::string port = std::to_string(20000 + getpid() % 20000);
  std::vector<std::thread> processes;
  for (int rank = 0; rank < 2; ++rank)
    processes.emplace_back([&, rank] {
      RunOptions options;
      options.environment = {"WORLD_SIZE=2", "RANK=" + std::to_string(rank), "MASTER_ADDR=127.0.0.1",
                             "MASTER_PORT=" + port};
      outcomes[rank] = conv(with(small(data, path("two")), {"--threads", "1"}), options);
    });
  for (std::thread& process : processes) process.join();
  if (outcomes[0].err.find("libgloo-dev") != std::string::npos) GTEST_SKIP() << outcomes[0].err;
  ASSERT_EQ(outcomes[0].exit_code, 0) << outcomes[0].err;
  ASSERT_EQ(outcomes[1].exit_code, 0) << outcomes[1].err;
  EXPECT_EQ(outcomes[1].out, "") << "rank 0 speaks";
  EXPECT_EQ(json_of(path("two/result.json"))["processes"], 2);
  const TensorFile one = read_tensors(path("one/model.safetensors")),
                   two = read_tensors(path("two/model.safetensors"));
  for (const Tensor& tensor : one.tensors) {
    const auto* a = tensor.data<float>();
    const auto* b = two.find(tensor.name)->data<float>();
    double difference = 0, norm = 0;
    for (Index i = 0; i < tensor.size(); ++i) {
      difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
      norm += std::pow(static_cast<double>(a[i]), 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 2 * kConvRounding) << tensor.name;  // forward and back
  }
}

TEST_F(ConvCommand, RecipesAreDefaults) {
  const auto config = [](const Arguments& arguments) {
    const Outcome outcome = conv(with({"train", "x", "--print-config"}, arguments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string paper = config({});
  EXPECT_NE(paper.find("train.steps=60000"), std::string::npos) << paper;
  EXPECT_NE(paper.find("train.flip=true"), std::string::npos) << paper;
  const std::string modern = config({"--recipe", "modern", "--batch", "64"});
  EXPECT_NE(modern.find("train.schedule=\"cosine\""), std::string::npos) << modern;
  EXPECT_NE(modern.find("train.batch=64"), std::string::npos) << modern;
  EXPECT_NE(modern.find("train.nesterov=true"), std::string::npos) << modern;
  // Lists are written in another way, once read.
  const auto without_lists = [](const std::string& text) {
    return std::regex_replace(text, std::regex("train.drops=.*\n"), "");
  };
  const Outcome back = conv({"--config", write("modern.toml", modern), "train", "x", "--print-config"});
  EXPECT_EQ(without_lists(back.out), without_lists(modern)) << back.err;
  EXPECT_NE(back.out.find("train.drops=[0.5, 0.8333333333333334]"), std::string::npos) << back.out;
}

TEST_F(ConvCommand, NamesWhatIsWrong) {
  const std::string data = noise(10);
  const auto wrong = [](const Arguments& arguments, const std::string& message) {
    refused(with({"conv"}, arguments), {message});
  };
  wrong({"train", path("none")}, "no such folder, and not a known name");
  wrong({"train", data, "--depth", "0"}, "depth must be >= 1");
  wrong({"train", data, "--recipe", "mine"}, "--recipe");
  wrong({"train", data, "--batch", "0"}, "batch must be >= 1");
  wrong({"train", data, "--resume"}, "--resume needs --out");
  wrong({"train", data, "--wrong"}, "--wrong");
  wrong({"train", data, "--steps", "2", "--epochs", "3"}, "--steps and --epochs: give one of them");
  wrong({"eval", path("none"), data}, "none");
  wrong({"predict", path("none"), path("none.jpg")}, "none");
  wrong({"fly"}, "fly");
  write("torn/data_batch_1.bin", "abc");
  wrong({"train", path("torn")}, "truncated");
  RunOptions alone;
  alone.environment = {"WORLD_SIZE=two"};
  refused({"conv", "train", data}, {"WORLD_SIZE is no number: two"}, 2, alone);
  for (const char* sub : {"train", "eval", "predict"}) EXPECT_EQ(conv({sub, "--help"}).exit_code, 0);
}

// Before its main LibTorch takes what it needs, and died or hung without it.
TEST_F(ConvCommand, ALimitedAddressSpaceIsNoHang) {
  const std::string data = noise(20);
  for (const int megabytes : {300, 600, 800, 1000, 1100, 1300, 2000}) {
    const std::string limit = "ulimit -v " + std::to_string(1000 * megabytes);
    const Outcome outcome =
        run_program("sh", {"-c",
                           limit + "; exec timeout -s KILL 60 \"$0\" conv train \"$1\" --depth 1 --width 4 "
                                   "--batch 8 --steps 2 --device cpu --precision float32",
                           ZEROLOSS_COMMAND, data});
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 3) << megabytes << " " << outcome.exit_code;
    if (outcome.exit_code == 3) {
      EXPECT_NE(outcome.err.find("address space"), std::string::npos) << outcome.err;
    }
    if (megabytes >= 1300) {
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    }
  }
}

// Photographs, by their folder: training and test split, prediction of a file.
TEST_F(ConvCommand, ReadsImageFolders) {
  ZEROLOSS_NEEDS_SHARED("photos");
  const std::string photos = shared_data() / "photos";
  const Outcome trained = conv({"train", photos, "--crop", "resized", "--depth", "1", "--width", "4",
                                "--batch", "8", "--steps", "4", "--out", path("run")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("16 training images and 8 test images, 2 classes"), std::string::npos)
      << trained.out;
  const Json classes =
      answer({"conv", "predict", path("run"), photos + "/val/ants/Ant-1818.jpg"})[0]["classes"];
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_NEAR(classes[0]["probability"].get<double>() + classes[1]["probability"].get<double>(), 1,
              gamma_of(4));
}

// A network with 2 blocks a stage learns 500 images of CIFAR-10 by heart.
TEST_F(ConvCommand, SlowMemorizesCifar) {
  ZEROLOSS_NEEDS_CIFAR10(folder);
  std::istringstream options(
      "--n 500 --no-test --depth 2 --width 16 --batch 25 --epochs 80 --learning-rate 0.1 --schedule cosine "
      "--clip-norm 1 --weight-decay 0 --crop none --flip false --stop memorized --require memorized");
  const Outcome trained = conv(with({"train", folder}, {std::istream_iterator<std::string>(options), {}}));
  EXPECT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  EXPECT_NE(trained.out.find("all 500 training images are right"), std::string::npos) << trained.out;
}

}  // namespace
}  // namespace zeroloss::test
