/// kernel_bench DATA N: reads one measurement a line from stdin, runs it once, answers with one JSON line on
/// stdout. bench/run.py asks it and the peers in turn. The clock covers the library call with its
/// allocations, not the reading of the data.
///
// clang-format off
///     gram float32|float64 [L]         Sigma(relu); Theta_L(relu) of L layers
///     products float32|float64         G = X X^T, then Sigma(relu), through the same code in memory in use
///     lambda_min [double]              of Sigma(relu), with the proof; without float32
///     cholesky                         of Sigma(relu), without building it
///     gemm float32|float64 SIZE        C = A B, square: the rate this machine reaches
///     entries float32|float64 FILE M   M x M entries of Sigma(relu), evenly spaced, as raw doubles
///     deep FILE M NAME L SCALE         so of Theta_L of an activation; residual if SCALE is not 0
// clang-format on
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/deep.hpp"
#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace {

using namespace zeroloss;
using Json = nlohmann::json;

template <class Work>
double seconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class T>
Json time_gram(const Rows<T>& X, const Kernel& kernel) {
  Progress progress;
  return {{"seconds", seconds([&] { gram(X, kernel, progress); })}};
}

template <class T>
Json time_products(const Rows<T>& X, const Kernel& kernel) {
  Progress progress;
  auto work = gram(X, kernel, progress);
  const double products = seconds([&] { gram_into(work, X, power(1), progress); });
  const double all = seconds([&] { gram_into(work, X, kernel, progress); });
  return {{"seconds", products}, {"gram_seconds", all}};
}

LambdaMin in_double(const RowMatrix& X, const Kernel& kernel, Progress& progress) {
  PackedMatrix work(X);
  work.form(kernel, 0, progress);
  LambdaMin answer;
  answer.ridge = factor_with_ridge(work, kernel, progress);
  answer.lowest = smallest_eigenpair(work, answer.ridge, progress);
  answer.verified = verify_lambda_min(work, kernel, answer.lowest.value, Proof::theorem, progress);
  return answer;
}

Json time_lambda_min(const RowMatrix& X, const Kernel& kernel, bool by_double) {
  Json stages = Json::array();
  Progress progress([&](const ProgressReport& report) {
    if (report.finished) stages.push_back({report.stage, report.elapsed_s});
  });
  LambdaMin answer;
  const double time =
      seconds([&] { answer = by_double ? in_double(X, kernel, progress) : lambda_min(X, kernel, progress); });
  return {{"seconds", time},
          {"lambda_min", answer.lowest.value},
          {"verified", answer.verified.holds ? Json(answer.verified.lambda_min) : Json()},
          {"stages", stages},
          {"factorizations", 1 + answer.verified.factorizations},
          {"lanczos_steps", answer.lowest.iterations}};
}

Json time_cholesky(const RowMatrix& X, const Kernel& kernel) {
  Progress progress;
  auto work = gram(X, kernel, progress);
  bool completed = false;
  const double time = seconds([&] { completed = factor(work.K, progress); });
  return {{"seconds", time}, {"completed", completed}};
}

template <class T>
Json time_gemm(Index size) {
  using Square = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const Square A = Square::Random(size, size), B = Square::Random(size, size);
  Square C = Square::Zero(size, size);
  return {{"seconds", seconds([&] { C.noalias() = A * B; })}};
}

template <class T>
Json write_entries(const Rows<T>& X, const Kernel& kernel, const std::string& path, Index m) {
  Progress progress;
  const auto K = gram(X, kernel, progress).K;
  const auto point = [&](Index a) { return a * K.n() / m; };
  std::ofstream out(path, std::ios::binary);
  for (Index a = 0; a < m; ++a)
    for (Index b = 0; b < m; ++b) {
      const double entry = K(point(std::max(a, b)), point(std::min(a, b)));
      out.write(reinterpret_cast<const char*>(&entry), sizeof entry);
    }
  return {{"written", out.good()}};
}

class Bench {
 public:
  explicit Bench(RowMatrix X) : X_(std::move(X)), X32_(X_.cast<float>()) {}

  Json answer(const std::string& line) const {
    std::istringstream words(line);
    std::string what, type, path;
    Index size = 0;
    words >> what;
    if (what == "lambda_min") return time_lambda_min(X_, relu_, (words >> type) && type == "double");
    if (what == "cholesky") return time_cholesky(X_, relu_);
    if (what == "deep") return deep_entries(words);
    words >> type;
    const bool single = type == "float32";
    if (single || type == "float64") {
      if (what == "gram") {
        const Kernel kernel = words >> size ? deep_tangent(activation("relu"), {.layers = size}) : relu_;
        return single ? time_gram(X32_, kernel) : time_gram(X_, kernel);
      }
      if (what == "products") return single ? time_products(X32_, relu_) : time_products(X_, relu_);
      if (what == "gemm" && words >> size) return single ? time_gemm<float>(size) : time_gemm<double>(size);
      if (what == "entries" && words >> path >> size)
        return single ? write_entries(X32_, relu_, path, size) : write_entries(X_, relu_, path, size);
    }
    throw std::invalid_argument("not a measurement: " + line);
  }

 private:
  Json deep_entries(std::istream& words) const {
    std::string path, name;
    Index size = 0;
    Depth depth;
    words >> path >> size >> name >> depth.layers >> depth.scale;
    depth.residual = depth.scale > 0;
    if (!depth.residual) depth.scale = 1;
    return write_entries(X_, deep_tangent(activation(name), depth), path, size);
  }

  RowMatrix X_;
  Rows<float> X32_;
  Kernel relu_ = sigma(activation("relu"));
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: kernel_bench DATA N");
  auto data = read_dataset(argv[1], {.n = std::stoll(argv[2])});
  normalize_rows(data);
  const Bench bench(std::move(data.X));
  for (std::string line; std::getline(std::cin, line);) std::cout << bench.answer(line).dump() << std::endl;
} catch (const std::exception& error) {
  std::cerr << "kernel_bench: " << error.what() << '\n';
  return 2;
}
