/// train_bench N D M: reads one measurement a line from stdin, runs it once, answers with one JSON line on
/// stdout. bench/train.py asks it and PyTorch in turn. Full-batch gradient descent of a relu network in
/// float32 on N random unit rows of R^D, M hidden units, step 0.1: the network of bench/train_peers.py.
///
// clang-format off
///     step weights|gram          seconds of one step in that space, misfit at its start
///     sgemm I J K                C = A B, A I x J, B J x K, in memory in use already
///     info                       the cheaper space, and the machine
// clang-format on
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "linalg/lapack.hpp"
#include "train/engine/trainer.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/run.hpp"

namespace {

using namespace zeroloss;
using Json = nlohmann::json;

constexpr double kStep = 0.1;

template <class Work>
double seconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Training {
 public:
  Training(Index n, Index d, Index m) : X_(n, d), y_(n) {
    Random random(0, Stream::points);
    for (double& x : X_.reshaped()) x = random.normal();
    X_.rowwise().normalize();
    for (double& y : y_) y = random.normal();
    start_ = draw({.width = m, .d = d, .precision = "float32"});
  }

  Json step(const std::string& name) {
    const Space space = name == "gram" ? Space::gram : Space::weights;
    auto& [data, trainer] = running_[name];
    if (!trainer) {
      data = std::make_unique<Points<float>>(points<float>(X_, space));
      trainer = std::make_unique<Trainer<float>>(*data, start_, activation("relu"), space);
    }
    const double misfit = (trainer->f() - y_).squaredNorm();
    return {{"seconds", seconds([&] { trainer->move(kStep * (trainer->f() - y_)); })}, {"misfit", misfit}};
  }

  Json info() const {
    const Space space = cheaper_space(X_.rows(), X_.cols(), true);
    Json json = Json::parse(machine_json());
    json["cheaper"] = space == Space::gram ? "gram" : "weights";
    return json;
  }

 private:
  RowMatrix X_;
  Vector y_;
  TwoLayer start_;
  std::map<std::string, std::pair<std::unique_ptr<Points<float>>, std::unique_ptr<Trainer<float>>>> running_;
};

Json sgemm(Index i, Index j, Index k) {
  static std::map<std::string, Columns<float>> kept;
  const auto memory = [](Index rows, Index columns) -> Columns<float>& {
    auto& A = kept[std::to_string(rows) + " " + std::to_string(columns)];
    if (A.size() == 0) A = Columns<float>::Random(rows, columns);
    return A;
  };
  const auto &A = memory(i, j), &B = memory(j, k);
  static Columns<float> C;
  C.resize(i, k);
  return {{"seconds", seconds([&] {
             lapack::gemm('N', 'N', i, k, j, 1.0F, A.data(), i, B.data(), j, 0.0F, C.data(), i);
           })}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: train_bench N D M\n";
    return 2;
  }
  Training training(std::stol(argv[1]), std::stol(argv[2]), std::stol(argv[3]));
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, space;
    Index i = 0, j = 0, k = 0;
    words >> what;
    if (what == "step" && words >> space)
      std::cout << training.step(space) << std::endl;
    else if (what == "sgemm" && words >> i >> j >> k)
      std::cout << sgemm(i, j, k) << std::endl;
    else if (what == "info")
      std::cout << training.info() << std::endl;
    else
      throw std::invalid_argument("train_bench: not a measurement: " + line);
  }
}
