#pragma once
#include <vector>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// From predictions that know nothing of their own labels to the probability that each label is right:
/// classes.
namespace zeroloss::internal {

/// P(class j | x) = softmax_j(sharpness L(x)), P(label k | class j) = transition(j, k): found by expectation
/// maximisation (Dawid & Skene 1979, with the predictor in place of other annotators).
struct NoiseFit {
  double sharpness = 0;
  Matrix transition;  ///< c x c, rows sum to 1
  Matrix classes;     ///< n x c: P(class | x, label)
  Matrix labels;      ///< n x c: P(label | x)
};

/// L: n x c; labels in [0, c). Each class has `pseudo` samples more, with as many wrong labels as all have,
/// each equally likely.
/// `sharpness`: as it is, of a fit to other samples; 0: to be found. Cancelled, it ends early, with anything.
NoiseFit fit_noise(const Matrix& L, const std::vector<Index>& labels, double pseudo, double sharpness = 0,
                   const Progress& progress = {});

/// One way to tell wrong labels from classes that overlap: a link, and how far labels are wrong as often from
/// any class to any other.
struct Reading {
  Matrix link;                 ///< LogitCalibration's B
  double precision = 0;        ///< of its entries
  double pseudo = 0;           ///< of rows of T: 0, as many as samples, if labels are wrong in all ways
                               ///< alike; 1 if in a few ways; 10 between
  double weight = 1;           ///< its probability
  std::vector<NoiseFit> fits;  ///< two, of either L of the linked outputs
};

/// What is not known of predictions is which L they are: F as it is or log(max(F, 0) + 0.1), which holds
/// where classes overlap; nor whether labels are wrong as often from any class to any other (n
/// pseudo-samples) or not (10). Two fits, of either L, both with n, estimate rates; the third one, of F with
/// 10, widens intervals. Probabilities are made by readings of the outputs, which say more about which labels
/// are wrong, and nothing new about how many.
struct NoiseModel {
  std::vector<NoiseFit> fits;  ///< three
  std::vector<Reading> readings;
  Vector right;              ///< n: P(label right), with at least 1 % wrong
  Matrix labels;             ///< n x c: P(label | x)
  double rate = 0;           ///< of wrong labels, as the readings have it
  bool like_others = false;  ///< sharpness is that of other samples
};

/// What the model of n labels of c classes and its estimates take at most.
double noise_bytes(Index n, Index c, Index draws);

/// F: n x c predictions, each without its own sample; labels in [0, c). With `like` for samples that the same
/// predictor was not shown: of them F may be few, so its sharpness is taken. Throws Interrupted once
/// cancelled.
NoiseModel noise_model(const Matrix& F, const std::vector<Index>& labels, const NoiseModel* like,
                       Progress& progress);

/// Estimates, the mean of the first two fits, with the hull of all three intervals, 1.96 standard deviations
/// of what each of them estimates from samples drawn anew, and of the readings' rate.
struct NoiseEstimates {
  Estimate rate;
  std::vector<Estimate> samples;  ///< c x c by rows: of the class, labelled as; 0 on the diagonal
};
NoiseEstimates estimate_noise(const Matrix& F, const std::vector<Index>& labels, const NoiseModel& model,
                              Index draws, std::uint64_t seed, Progress& progress);

}  // namespace zeroloss::internal
