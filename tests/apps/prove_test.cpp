// zeroloss prove from end to end: text, JSON, run folder, errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/command.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/deep/draw.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/deep/onnx.hpp"

namespace zeroloss::test {
namespace {

class ProveCommand : public TempFolder {
 protected:
  ProveCommand() {
    save_model(folder / "net.safetensors",
               draw(DeepDraw{.d = 4, .outputs = 1, .widths = {30, 30}, .activation = "tanh"}));
  }
  Arguments asked(const Arguments& more = {}) const {
    return with({"prove", (folder / "net.safetensors").string(), "sphere:n=12,d=4,y=sign", "--seed", "3"},
                more);
  }
};

TEST_F(ProveCommand, SaysWhatIsRightAndWhatIsNear) {
  const Outcome given = zeroloss(asked());
  ASSERT_EQ(given.exit_code, 0) << given.err;
  EXPECT_NE(given.out.find("of 12 labels right, proved"), std::string::npos) << given.out;
  EXPECT_NE(given.out.find("--polish"), std::string::npos) << "what to do next";
  const Outcome polished =
      zeroloss(asked({"--polish", "--require", "right", "--require", "exact", "--require", "descent"}));
  ASSERT_EQ(polished.exit_code, 0) << polished.out << polished.err;
  EXPECT_NE(
      polished.out.find(
          "all 12 labels right with a margin of at least 0.999, proved; an exact zero-loss network lies"),
      std::string::npos)
      << polished.out;
  EXPECT_EQ(zeroloss(asked({"--require", "exact"})).exit_code, 1);
}

// A trained network of two layers, from its run folder and by its table's own target; one of its classes
// alone.
TEST_F(ProveCommand, RunsOfFitAreProvedOnTheirTables) {
  std::string csv = "kind,a,b,c\n";
  for (int k = 0; k < 30; ++k)
    csv += fmt::format("{},{},{},{}\n", k % 3 == 0 ? "red" : "blue", k * k % 17, k * 5 % 11, k % 7);
  std::ofstream(folder / "table.csv") << csv;
  const std::string table = (folder / "table.csv").string();
  for (const Arguments& network : {Arguments{"--width", "200"}, Arguments{"--depth", "2", "--width", "40"}}) {
    const std::string run = (folder / network.front().substr(2)).string();
    ASSERT_EQ(zeroloss(with({"fit", table, "--target", "kind", "--activation", "tanh", "--optimizer",
                             "gauss_newton", "--out", run},
                            network))
                  .exit_code,
              0);
    const Outcome all = zeroloss({"prove", run, table, "--require", "right", "--require", "exact"});
    EXPECT_EQ(all.exit_code, 0) << all.out << all.err;
    std::ofstream(folder / "one.csv") << "kind,a,b,c\n"
                                      << "red,0,0,0\n";
    const Outcome one = zeroloss({"prove", run, (folder / "one.csv").string()});
    EXPECT_NE(one.out.find("its label right"), std::string::npos) << one.out << one.err;
    std::ofstream(folder / "other.csv") << "kind,a,b,c\n"
                                        << "pink,0,0,0\n";
    EXPECT_EQ(zeroloss({"prove", run, (folder / "other.csv").string()}).exit_code, 2);
  }
}

TEST_F(ProveCommand, SeveralTargetsAreThoseOfTheOutputs) {
  save_model(folder / "two.safetensors",
             draw(DeepDraw{.d = 4, .outputs = 2, .widths = {200}, .activation = "tanh"}));
  std::string csv = "a,u,b,c,v,d\n", holes = csv;
  for (int k = 0; k < 12; ++k) {
    csv += fmt::format("{},{},{},{},{},{}\n", k * k % 7, k % 3, k * 5 % 11, k % 4, 0.1 * k, k * 3 % 8);
    holes += fmt::format("{},{},{},{},{},{}\n", k, k % 3, k * 5 % 11, k % 4, k == 5 ? "" : "1.5", k * 3 % 8);
  }
  std::ofstream(folder / "table.csv") << csv;
  std::ofstream(folder / "holes.csv") << holes;
  const std::string network = (folder / "two.safetensors").string(), table = (folder / "table.csv").string(),
                    run = (folder / "run").string();
  const Arguments asked{"prove", network, table, "--divide", "8", "--targets", "v,u"};
  const Outcome polished = zeroloss(with(asked, {"--polish", "--require", "exact", "--out", run}));
  ASSERT_EQ(polished.exit_code, 0) << polished.out << polished.err;
  EXPECT_NE(polished.out.find("targets column 4 ('v'), column 1 ('u')"), std::string::npos) << polished.out;
  // The polished network's outputs are the columns, in the order that was asked for.
  std::ifstream outputs(folder / "run" / "outputs.csv");
  std::string line;
  std::getline(outputs, line);
  for (int k = 0; k < 12; ++k) {
    std::getline(outputs, line);
    double v = 0, u = 0, error_v = 0, error_u = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%*d,%lf,%lf,%lf,%lf", &v, &error_v, &u, &error_u), 4) << line;
    EXPECT_NEAR(v, 0.1 * k, 1e-6);  // a goal of polishing
    EXPECT_NEAR(u, k % 3, 1e-6);
  }
  const auto refused = [&](const Arguments& more, const char* why) {
    const Outcome outcome = zeroloss(with({"prove", network}, more));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  };
  refused({table, "--drop", "v", "--target", "u", "--task", "regression"},
          "one number a sample, but the network has 2 outputs");
  refused({table, "--targets", "u"}, "points have 5 features");
  refused({table, "--targets", "u,u"}, "has 'u' twice");
  refused({table, "--targets", "u,v", "--target", "u"}, "exclude each other");
  std::ofstream(folder / "never.csv") << "a,u,b,c,v,d\n1,2,3,4,,5\n2,,4,5,6,7\n5,1,2,2,,3\n";
  refused({(folder / "never.csv").string(), "--targets", "u,v", "--features", "a,b,c,d"},
          "no record has all of the targets");
  // A record that lacks one of them is left out, which is said.
  const Outcome fewer = zeroloss(
      {"prove", network, (folder / "holes.csv").string(), "--targets", "u,v", "--features", "a,b,c,d"});
  EXPECT_NE(fewer.out.find("left out: 1 record without one of the targets"), std::string::npos)
      << fewer.out << fewer.err;
}

TEST_F(ProveCommand, JsonHasEveryKey) {
  using Keys = std::set<std::string>;
  const Json json = answer(asked({"--polish"}));
  EXPECT_EQ(keys(json), (Keys{"data",
                              "digest",
                              "labels",
                              "options",
                              "model",
                              "notes",
                              "remarks",
                              "next",
                              "conclusion",
                              "network",
                              "n",
                              "d",
                              "outputs",
                              "n_distinct",
                              "parameters",
                              "moving",
                              "networks",
                              "distance",
                              "relative_distance",
                              "steps",
                              "factorizations",
                              "asked",
                              "of_file",
                              "asked_decided",
                              "executed",
                              "seconds",
                              "written"}));
  EXPECT_TRUE(json.at("written").is_null());  // safetensors holds doubles
  ASSERT_EQ(json.at("networks").size(), 2U);
  EXPECT_EQ(json.at("networks").at(1).at("right"), 12);
  EXPECT_EQ(json.at("networks").at(1).at("certificate").at("exists"), true);
  EXPECT_TRUE(json.at("networks").at(0).at("certificate").at("radius").is_null());
}

TEST_F(ProveCommand, ItsFolderHasThePolishedNetwork) {
  const std::string out = (folder / "run").string();
  ASSERT_EQ(zeroloss(asked({"--polish", "--out", out})).exit_code, 0);
  for (const char* file : {"result.json", "manifest.json", "model.safetensors"})
    EXPECT_TRUE(exists(folder / "run" / file)) << file;
  const Json again = answer({"prove", out, "sphere:n=12,d=4,y=sign", "--seed", "3"});
  EXPECT_EQ(again.at("networks").at(0).at("certificate").at("exists"), true);
  const Outcome predicted = zeroloss({"predict", out, "sphere:n=12,d=4,y=sign", "--seed", "3"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
}

TEST_F(ProveCommand, FromOnnxAndBack) {
  const std::string model = std::string(ZEROLOSS_TEST_DIR) + "/deep/exported/residual_script.onnx";
  const std::string out = (folder / "run").string();
  std::string csv = "a,b,c,d,e,class\n";
  for (int i = 0; i < 9; ++i)
    csv += fmt::format("{:f}", i % 4 - 1.5) + "," + fmt::format("{:f}", 0.3 * i - 1) + "," +
           std::to_string(i * i % 5) + ",0.5," + fmt::format("{:f}", -0.1 * i) + ",c" +
           std::to_string(i % 3) + "\n";
  write(folder / "table.csv", csv);
  const Outcome outcome = zeroloss(
      {"prove", model, (folder / "table.csv").string(), "--target", "class", "--polish", "--out", out});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("all 9 labels right"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("; columns as they are, without scale or constant\n"), std::string::npos)
      << outcome.out;
  const OnnxNetwork polished = read_onnx(folder / "run/polished.onnx");
  const DeepNetwork exact = load_deep(folder / "run/model.safetensors");
  EXPECT_LT((polished.network.layers[1].W - exact.layers[1].W).norm(), 0x1p-24 * exact.layers[1].W.norm());
}

// The same file says the same of a sample, whichever others are kept.
TEST_F(ProveCommand, ClassesAreNotNamedByTheSamplesThatAreKept) {
  const std::string model = (folder / "three.safetensors").string();
  save_model(model, draw(DeepDraw{.d = 2, .outputs = 3, .widths = {8}, .activation = "tanh"}));
  std::string csv = "a,b,kind\n";
  for (int i = 0; i < 30; ++i) {
    if (i == 20) write(folder / "few.csv", csv);
    csv += fmt::format("{},{},{}\n", i * i % 7, i % 5 - 2.5, 1 + i / 10);
  }
  write(folder / "table.csv", csv);
  const std::string table = (folder / "table.csv").string();
  const auto wrong = [&](const Arguments& more) {
    std::vector<int> samples;
    const Json said = answer(with({"prove", model, table, "--target", "kind"}, more));
    for (const Json& sample : said.at("networks").at(0).at("wrong_samples")) samples.push_back(sample);
    return samples;
  };
  const std::vector<int> all = wrong({});
  const auto of = [&](int first, int last) {
    std::vector<int> some;
    for (const int sample : all)
      if (sample >= first && sample < last) some.push_back(sample);
    return some;
  };
  EXPECT_EQ(wrong({"--n", "20"}), of(0, 20));
  EXPECT_EQ(wrong({"--n", "1"}), of(0, 1));
  EXPECT_EQ(wrong({"--classes", "2,3"}), of(10, 30));
  EXPECT_EQ(wrong({"--classes", "2"}), of(10, 20));
  EXPECT_EQ(wrong({"--classes", "3", "--class-names", "1,2,3"}), of(20, 30));
  EXPECT_EQ(wrong({"--class-names", "1..3"}), all);
  EXPECT_NE(wrong({"--class-names", "2,1,3"}), all);
  const Outcome said = zeroloss({"prove", model, table, "--target", "kind", "--n", "20"});
  EXPECT_NE(said.out.find("note: outputs 0 to 2 are 1, 2, 3: the order of the classes of"), std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("--class-names"), std::string::npos) << said.out;
  refused({"prove", model, (folder / "few.csv").string(), "--target", "kind"},
          {"2 classes (1, 2)", "3 outputs", "--class-names"});
  refused({"prove", model, table, "--target", "kind", "--classes", "2,4"}, {"no class '4'"});
  refused({"prove", model, table, "--target", "kind", "--class-names", "1,2"}, {"--class-names"});
}

// 16 N^2 bytes are 1.0 GB, and labels need next to nothing.
TEST_F(ProveCommand, WhatDoesNotFitIsLeftOutAndSaid) {
  const std::string model = (folder / "wide.safetensors").string();
  save_model(model, draw(DeepDraw{.d = 2, .outputs = 1, .widths = {100, 90}, .activation = "tanh"}));
  const Outcome outcome = run_program(
      "sh",
      {"-c", "ulimit -v 700000; exec timeout 100 \"$0\" prove \"$1\" sphere:n=8000,d=2,y=sign --polish",
       ZEROLOSS_COMMAND, model},
      {.environment = {"OMP_NUM_THREADS=1"}});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("of 8,000 labels right, proved"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("note: left out: the certificate needs 1."), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("note: left out: Gauss-Newton needs"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("as many points as --n"), std::string::npos) << outcome.out;
}

TEST_F(ProveCommand, SaysWhatItCannotUse) {
  const auto refused = [&](const Arguments& arguments, const std::string& why) {
    const Outcome outcome = zeroloss(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  };
  const std::string model = (folder / "net.safetensors").string();
  refused({"prove", model, "sphere:n=12,d=5,y=sign"}, "points have 5 features, the network takes 4");
  refused({"prove", model, "sphere:n=12,d=4,y=none"}, "no targets");
  refused(asked({"--layers", "last9"}), "--layers");
  refused(asked({"--divide", "0"}), "--divide");
  refused(asked({"--activation", "relu"}), "--activation");
  refused({"prove", (folder / "absent.onnx").string(), "digits"}, "absent.onnx");
}

}  // namespace
}  // namespace zeroloss::test
