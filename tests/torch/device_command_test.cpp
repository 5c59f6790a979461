#include <gtest/gtest.h>

#include "support/command.hpp"
#include "support/temp_folder.hpp"

/// `zeroloss certify --device`, as people run it.
namespace zeroloss::test {
namespace {

class DeviceCommand : public TempFolder {};

bool gpu_there() {
  static const bool there =
      zeroloss({"certify", "sphere:n=5,d=3", "--device", "cuda", "--json"}).exit_code == 0;
  return there;
}

void expect_same(const Json& found, const Json& here) {
  EXPECT_EQ(keys(found), [&] {
    auto names = keys(here);
    names.insert("engine");
    return names;
  }());
  for (const char* key : {"n", "d", "digest", "outcome", "reason", "n_distinct", "kernel", "network",
                          "method", "separation", "near_pairs", "closest", "duplicates", "conflicts",
                          "antipodal", "nearest", "classes", "widths", "leave_one_out_error"})
    if (here.contains(key)) {
      EXPECT_EQ(found.at(key), here.at(key)) << key;
    }
  const double largest = here.at("lambda_max").get<double>();
  const auto near = [&](const char* key, double error) {
    EXPECT_NEAR(found.at(key).get<double>(), here.at(key).get<double>(), error) << key;
  };
  near("lambda_min", 1e-12 * largest);
  near("lambda_max", 1e-11 * largest);
  near("lambda_min_verified", 1e-5 * here.at("lambda_min").get<double>());
  near("norm_X", 1e-12);
  EXPECT_LT(found.at("lambda_min_verified").get<double>(), here.at("lambda_min").get<double>());
  EXPECT_EQ(found.at("proof"), "residual");
  EXPECT_EQ(here.at("proof"), "theorem");
  ASSERT_EQ(found.at("bottleneck").size(), here.at("bottleneck").size());
  for (std::size_t k = 0; k < here.at("bottleneck").size(); ++k)
    EXPECT_EQ(found.at("bottleneck")[k].at("sample"), here.at("bottleneck")[k].at("sample"));
  ASSERT_EQ(found.at("suspects").size(), here.at("suspects").size());
  for (std::size_t k = 0; k < here.at("suspects").size(); ++k)
    EXPECT_EQ(found.at("suspects")[k].at("sample"), here.at("suspects")[k].at("sample"));
}

TEST_F(DeviceCommand, DigitsAreCertifiedAlike) {
  const Json here = answer({"certify", "digits"});
  const Json found = answer({"certify", "digits", "--device", "cpu"});
  expect_same(found, here);
  EXPECT_NE(found.at("engine").get<std::string>().find("on cpu"), std::string::npos) << found.at("engine");
}

TEST_F(DeviceCommand, DigitsAreCertifiedAlikeOnGpu) {
  if (!gpu_there()) GTEST_SKIP() << "no GPU";
  const Json here = answer({"certify", "digits"}), there = answer({"certify", "digits", "--device", "cuda"});
  expect_same(there, here);
  EXPECT_NE(there.at("engine").get<std::string>().find("cuda"), std::string::npos) << there.at("engine");
}

TEST_F(DeviceCommand, WritesARunFolder) {
  ASSERT_EQ(zeroloss({"certify", "digits", "--n", "60", "--device", "cpu", "--out", path("run")}).exit_code,
            0);
  EXPECT_EQ(json_of(path("run/result.json")).at("proof"), "residual");
  EXPECT_NE(content(path("run/manifest.json")).find("--device"), std::string::npos);
}

TEST_F(DeviceCommand, NamesWhatIsWrong) {
  refused({"certify", "digits", "--device", "gpu"}, {"--device", "cpu, cuda, cuda:N or auto", "gpu"});
  refused({"certify", "digits", "--n", "50", "--device", "cpu", "--proof", "theorem"},
          {"theorem", "--proof", "--device"});
  refused({"certify", "nothing.csv", "--device", "cpu"}, {"nothing.csv"});
  EXPECT_EQ(zeroloss({"certify", "--help"}).exit_code, 0);
}

TEST_F(DeviceCommand, SaysThatThereIsNoGpu) {
  if (gpu_there()) GTEST_SKIP() << "there is a GPU";
  refused({"certify", "digits", "--device", "cuda"}, {"cuda", "LibTorch", "0 CUDA devices"}, 3);
  refused({"certify", "digits", "--device", "cuda:3"}, {"cuda:3", "0 CUDA devices"}, 3);
}

TEST_F(DeviceCommand, RequirementsHoldOfADevice) {
  EXPECT_EQ(
      zeroloss({"certify", "digits", "--n", "80", "--device", "auto", "--require", "certified"}).exit_code,
      0);
  EXPECT_EQ(
      zeroloss({"certify", "digits", "--n", "80", "--device", "cpu", "--require", "lambda_min>=5"}).exit_code,
      1);
}

}  // namespace
}  // namespace zeroloss::test
