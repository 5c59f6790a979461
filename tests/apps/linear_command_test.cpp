// zeroloss linear from end to end: every form of input, the text, the JSON object, the run folder, wrong use.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "support/bounds.hpp"
#include "support/command.hpp"
#include "support/decompositions.hpp"
#include "support/maps.hpp"
#include "support/number.hpp"
#include "support/numpy.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

class LinearCommand : public TempFolder {};

TEST_F(LinearCommand, ConclusionComesFirst) {
  const Outcome outcome = zeroloss({"linear", "rotation:d=6"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::istringstream lines(outcome.out);
  std::string heading, empty, norm, descent;
  std::getline(lines, heading);
  std::getline(lines, empty);
  std::getline(lines, norm);
  std::getline(lines, descent);
  EXPECT_EQ(heading, "rotation:d=6: R is 6 x 6 with singular values from 1 to 1 (computed)");
  EXPECT_EQ(norm.rfind("10 layers represent R exactly with every ||A_i|| <= 0.", 0), 0u) << norm;
  EXPECT_EQ(descent.rfind("Gradient descent from A = 0 reached relative misfit ", 0), 0u) << descent;
  EXPECT_NE(outcome.out.find("factorisation"), std::string::npos);
}

TEST_F(LinearCommand, JsonHasEveryKey) {
  using Keys = std::set<std::string>;
  const Keys trained{"status",       "reason",        "steps",          "relative_misfit", "risk",
                     "excess_risk",  "gradient_norm", "gradient_bound", "max_norm",        "in_domain",
                     "largest_norm", "least_ratio",   "left_domain_at"};
  const Json json = answer({"linear", "gaussian:d=5", "--layers", "12"});
  Keys all{"data",      "digest",    "options",    "conclusion", "interrupted",   "n",
           "d",         "s_max",     "s_min",      "s_least",    "gamma",         "treatment",
           "sigma_min", "sigma_max", "least_risk", "layers",     "layers_needed", "factorizations",
           "missing",   "training",  "seconds",    "next"};
  all.insert(trained.begin(), trained.end());
  EXPECT_EQ(keys(json), all);
  ASSERT_EQ(json["training"].size(), 1u);
  ASSERT_FALSE(json["factorizations"].empty());
  for (const Json& f : json["factorizations"]) {
    EXPECT_EQ(keys(f), (Keys{"name", "layers", "max_norm", "bound", "reconstruction_error", "correction"}));
    EXPECT_EQ(f["layers"], 12);
    const double product = gamma_of(12 * (5 + 1)) * 5 * json["s_max"].get<double>();  // of 12 layers I + A
    EXPECT_LE(f["reconstruction_error"], 2 * product);
  }
  EXPECT_EQ(json["status"], "converged");
  EXPECT_GE(json["gradient_norm"], json["gradient_bound"]);
  EXPECT_LT(json["max_norm"], 1);

  const Json untrained = answer({"linear", "gaussian:d=5", "--no-train"});
  for (const std::string& key : trained) EXPECT_TRUE(untrained.at(key).is_null()) << key;
}

TEST_F(LinearCommand, ReadsDataMapsAndGenerators) {
  const RowMatrix X = gaussian(30, 3, 1), R = 2 * Matrix::Identity(3, 3) + 0.3 * gaussian(3, 3, 2);
  write_npz(path("d.npz"), {{"X", npy(X)}, {"Y", npy(X * R.transpose())}});
  const std::string map = write("R.npy", npy(R)), sigma = write("S.npy", npy(covariance(3, 3)));
  const Json data = answer({"linear", path("d.npz")});
  EXPECT_EQ(data["n"], 30);
  EXPECT_LE(data["least_risk"],
            std::pow(gamma_of(3 * 30) * X.norm() * R.norm(), 2));  // that of rounded targets
  EXPECT_EQ(data["status"], "converged");
  const Json population = answer({"linear", "--map", map});
  EXPECT_TRUE(population["n"].is_null());
  EXPECT_EQ(population["sigma_max"], 1);
  EXPECT_NEAR(population["s_max"].get<double>(), data["s_max"].get<double>(),
              solution_error(30, 10) * R.norm());  // X^T X has a condition below 10
  EXPECT_NE(answer({"linear", "--map", map, "--sigma", sigma})["sigma_max"], 1);
  EXPECT_NEAR(answer({"linear", "rotation:d=4"})["s_min"].get<double>(), 1, 2 * backward_error(4));
  EXPECT_EQ(answer({"linear", "gaussian:d=4", "--seed", "5"})["s_max"],
            answer({"linear", "gaussian:d=4,seed=5"})["s_max"]);
}

TEST_F(LinearCommand, NegativeDeterminantsAreTreated) {
  const std::string odd = write("odd.npy", npy(RowMatrix(-2 * Matrix::Identity(3, 3)))),
                    even = write("even.npy", npy(RowMatrix{{1, 0.5}, {0, -1}}));
  EXPECT_EQ(answer({"linear", "--map", odd})["treatment"], "flipped");
  EXPECT_EQ(answer({"linear", "--map", odd, "--reflection", "augment", "--no-train"})["treatment"],
            "augmented");
  const Json augmented = answer({"linear", "--map", even, "--layers", "6"});
  EXPECT_EQ(augmented["treatment"], "augmented");
  EXPECT_EQ(augmented["d"], 2);
  EXPECT_EQ(augmented["status"], "converged");
  EXPECT_NE(zeroloss({"linear", "--map", even}).out.find("det R < 0"), std::string::npos);
  refused({"linear", "--map", even, "--reflection", "flip"}, {"odd d", "augment"});
}

TEST_F(LinearCommand, DepthStudyIsAFolderWithFigures) {
  const Outcome outcome = zeroloss({"linear", "rotation:d=4", "--layers", "2:30:4", "--out", path("run")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("From 2 to 30 layers"), std::string::npos) << outcome.out;
  for (const char* file : {"manifest.json", "result.json", "metrics.csv", "model.safetensors", "norm.vl.json",
                           "convergence.vl.json"})
    EXPECT_TRUE(fs::exists(path("run") + "/" + file)) << file;
  EXPECT_FALSE(fs::exists(path("run.partial")));
  const Json result = json_of(path("run/result.json"));
  EXPECT_EQ(result["layers"], (Json{2, 6, 10, 14, 18, 22, 26, 30}));
  EXPECT_EQ(result["training"].size(), 8u);
  EXPECT_EQ(json_of(path("run/manifest.json"))["kind"], "linear");
  EXPECT_FALSE(json_of(path("run/norm.vl.json"))["data"]["values"].empty());

  // Every row of metrics.csv keeps the inequality.
  std::istringstream metrics(content(path("run/metrics.csv")));
  std::string line;
  std::getline(metrics, line);
  EXPECT_EQ(line, "layers,step,eta,relative_misfit,risk,excess_risk,gradient_norm,gradient_bound,max_norm");
  int rows = 0;
  for (; std::getline(metrics, line); ++rows) {
    std::vector<double> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(test::number(cell));
    ASSERT_EQ(cells.size(), 9u) << line;
    EXPECT_GE(cells[6], cells[7] * (1 - gamma_of(4 * 30 * (4 + 1)))) << line;  // products of up to 30 layers
  }
  EXPECT_GT(rows, 50);

  const TensorFile model = read_tensors(path("run/model.safetensors"));
  ASSERT_NE(model.find("descent"), nullptr);
  EXPECT_EQ(model.find("descent")->shape, (std::vector<Index>{30, 4, 4}));
  refused({"linear", "rotation:d=4", "--out", path("run")}, {"exists already"});
  const Outcome single = zeroloss({"linear", "rotation:d=4", "--out", path("one")});
  ASSERT_EQ(single.exit_code, 0) << single.err;
  EXPECT_TRUE(fs::exists(path("one/descent.vl.json")));
  const Json layers = json_of(path("one/layers.vl.json"))["data"]["values"];
  const Json one = json_of(path("one/result.json"));
  std::map<std::string, double> largest;
  for (const Json& point : layers)
    largest[point["curve"]] = std::max(largest[point["curve"]], point["y"].get<double>());
  // The command's norms are within a factor 1 + 16 d^2 u and contain the correction of a layer.
  const auto expect_norm = [&](const std::string& name, double norm, double correction) {
    EXPECT_NEAR(largest.at(name), norm, (16 * 16 * kUnit + backward_error(4)) * norm + correction) << name;
  };
  for (const Json& f : one["factorizations"]) expect_norm(f["name"], f["max_norm"], f["correction"]);
  expect_norm("gradient descent", one["max_norm"], 0);
}

// The norms of stored layers, in long double, against what is printed of them and against the object.
TEST_F(LinearCommand, PrintedNormsAreBounds) {
  for (int seed = 0; seed < 12; ++seed) {
    const std::string source =
        fmt::format("{}:d={},seed={}", seed % 2 == 0 ? "rotation" : "gaussian", 1 + seed, seed);
    const std::string out = path("run" + std::to_string(seed));
    const Outcome outcome =
        zeroloss({"linear", source, "--layers", std::to_string(2 + 3 * seed), "--out", out});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto at = outcome.out.find("R exactly with every ||A_i|| <= ");
    ASSERT_NE(at, std::string::npos) << outcome.out;
    const std::string words = outcome.out.substr(at, outcome.out.find(')', at) - at + 1);
    EXPECT_NE(words.find("(proved; "), std::string::npos) << words;
    const double printed = test::number(words.substr(32));
    const Json json = json_of(out + "/result.json");
    const TensorFile model = read_tensors(out + "/model.safetensors");
    double least = std::numeric_limits<double>::infinity();
    for (const Json& f : json["factorizations"]) {
      const Tensor* tensor = model.find(f["name"].get<std::string>());
      ASSERT_NE(tensor, nullptr);
      const Index l = tensor->shape[0], d = tensor->shape[1];
      long double largest = 0;
      for (Index i = 0; i < l; ++i) {
        const LongMatrix A =
            Eigen::Map<const RowMatrix>(tensor->data<double>() + i * d * d, d, d).cast<long double>();
        largest = std::max(largest, jacobi_singular_values(A)(0));
      }
      EXPECT_GE(f["max_norm"].get<double>(), largest) << source << " " << f["name"];
      least = std::min(least, f["max_norm"].get<double>());
    }
    EXPECT_GE(printed, least) << source;
  }
}

// Equal or not, the sides of an inequality that are computed are called so, and a determinant that double
// cannot tell from 0 has no sign: here it is 2^-52.
TEST_F(LinearCommand, WordsAreAboutWhatIsKnown) {
  const Outcome start = zeroloss({"linear", "rotation:d=5", "--max-steps", "0"});
  EXPECT_NE(start.out.find("by the landscape inequality: 1 (computed)"), std::string::npos) << start.out;
  const std::string near = write("N.npy", npy(RowMatrix{{1, 1}, {1, 1 + 0x1p-52}}));
  refused({"linear", "--map", near},
          {"numerically singular", "computed singular values go from 2 down to 1."});
  const Outcome edge = zeroloss({"linear", "--map", write("E.npy", npy(RowMatrix{{16}})), "--layers", "4",
                                 "--no-train", "--require", "small-norm"});
  EXPECT_EQ(edge.exit_code, 1) << edge.out;  // 16 = 2^4: the norms are 1, not below
  EXPECT_NE(edge.out.find("none with every ||A_i|| < 1 was found: 5 layers would be enough"),
            std::string::npos)
      << edge.out;
}

TEST_F(LinearCommand, TooFewLayersAreSaid) {
  const std::string map = write("R.npy", npy(RowMatrix(-Matrix::Identity(2, 2))));
  const Outcome outcome = zeroloss({"linear", "--map", map, "--layers", "2"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("4 layers would be enough"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("did not converge"), std::string::npos) << outcome.out;
  for (const char* property : {"small-norm", "converged"}) {
    const Outcome required = zeroloss({"linear", "--map", map, "--layers", "2", "--require", property});
    EXPECT_EQ(required.exit_code, 1);
    EXPECT_NE(required.err.find(property), std::string::npos);
  }
  EXPECT_EQ(
      zeroloss({"linear", "rotation:d=3", "--require", "small-norm", "--require", "converged"}).exit_code, 0);
}

TEST_F(LinearCommand, BadDataIsNamed) {
  const RowMatrix X = gaussian(10, 3, 1);
  write_npz(path("wide.npz"), {{"X", npy(X)}, {"Y", npy(gaussian(10, 2, 2))}});
  refused({"linear", path("wide.npz")}, {"Y must have d columns", "expected 3; found 2"});
  refused({"linear", "digits"}, {"Y must have d columns"});
  refused({"linear", path("absent.npz")}, {"absent.npz", "no such file"});
  RowMatrix flat = X;
  flat.col(1) = flat.col(0);
  write_npz(path("flat.npz"), {{"X", npy(flat)}, {"Y", npy(X)}});
  refused({"linear", path("flat.npz")}, {"X^T X is numerically singular", "rank is 2", "d is 3"});
  RowMatrix broken = X;
  broken(7, 2) = std::nan("");
  write_npz(path("nan.npz"), {{"X", npy(broken)}, {"Y", npy(X)}});
  refused({"linear", path("nan.npz")}, {"nan.npz", "row 7, column 2"});
  const std::string singular = write("R.npy", npy(RowMatrix{{1, 2}, {2, 4}}));
  refused({"linear", "--map", singular}, {"R is numerically singular", "rank is 1", "d is 2"});
  const std::string sigma = write("S.npy", npy(RowMatrix{{1, 0}, {0, 0}}));
  refused({"linear", "--map", write("I.npy", npy(RowMatrix(Matrix::Identity(2, 2)))), "--sigma", sigma},
          {"Sigma is numerically singular"});
  refused({"linear", "--map", path("none.npy")}, {"none.npy"});
  refused({"linear", "gaussian:d=0"}, {"d must be an integer >= 1"});
}

TEST_F(LinearCommand, WrongUseIsNamed) {
  const std::string most = std::to_string(std::numeric_limits<Index>::max());
  refused({"linear", "rotation:d=2", "--no-train", "--layers", most}, {"layers"});
  refused({"linear", "rotation:d=2", "--no-train", "--layers", most + ":" + most}, {"layers"});
  refused({"linear"}, {"give a problem"});
  refused({"linear", "rotation:d=3", "--map", "R.npy"}, {"not both"});
  refused({"linear", "rotation:d=3", "--sigma", "S.npy"}, {"--sigma goes with --map"});
  for (const char* layers : {"0", "-3", "x", "5:2", "2:9:0", "1:2:3:4", "2:", ":3", "1.5"})
    refused({"linear", "rotation:d=3", "--layers", layers}, {"layers must be a number >= 1 or a range"});
  refused({"linear", "rotation:d=3", "--layers", ""}, {"--layers: its value is empty"});
  refused({"linear", "rotation:d=3", "--layers", "1:100000"}, {"at most 10000 depths"});
  refused({"linear", "rotation:d=3", "--step", "0"}, {"step must be a number > 0"});
  refused({"linear", "rotation:d=3", "--max-steps", "-1"}, {"--max-steps"});
  refused({"linear", "rotation:d=3", "--tolerance", "0"}, {"tolerance"});
  refused({"linear", "rotation:d=3", "--reflection", "mirror"}, {"--reflection"});
  refused({"linear", "rotation:d=3", "--require", "certified"}, {"--require"});
  refused({"linear", "rotation:d=300", "--layers", "1000000", "--no-train"}, {"needs", "try fewer layers"},
          3);
  const Outcome help = zeroloss({"linear", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* flag : {"--map", "--sigma", "--layers", "--step", "--reflection"})
    EXPECT_NE(help.out.find(flag), std::string::npos) << flag;
}

TEST_F(LinearCommand, InterruptedStudiesSayWhatIsDone) {
  RunOptions terminal;
  terminal.terminal = true;
  terminal.interrupt_when = [](const Outcome& so_far) {
    return so_far.err.find("descent, 50") != std::string::npos;
  };
  const Outcome stopped = zeroloss({"linear", "gaussian:d=30,seed=1", "--layers", "10:1000:40", "--max-steps",
                                    "100000", "--tolerance", "1e-13", "--out", path("run")},
                                   terminal);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("interrupted at 50 layers; what was done is above"), std::string::npos)
      << stopped.err;
  EXPECT_NE(stopped.out.find("layers"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_FALSE(fs::exists(path("run.partial")));
}

}  // namespace
}  // namespace zeroloss::test
