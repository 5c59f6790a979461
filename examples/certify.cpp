// Can a wide network fit this data? Run it on a file, or without arguments on the shipped digits.
#include <cstdio>
#include <zeroloss/theory/certify.hpp>

int main(int argc, char** argv) {
  const auto data = zeroloss::read_dataset(argc > 1 ? argv[1] : "digits", {.n = argc > 1 ? 0 : 500});
  const auto answer = zeroloss::certify(data, {.activation = "relu"});
  std::printf("%s\n", answer.conclusion.c_str());
  for (const auto& suspect : answer.suspects)
    std::printf("sample %td: label %s, but its neighbours say %s\n", suspect.sample.record,
                suspect.sample.label.c_str(), suspect.predicted.c_str());
  return answer.lambda_min_verified ? 0 : 1;
}
