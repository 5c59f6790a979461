#pragma once
#include <vector>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// From predictions that know nothing of their own labels to the probability that each label is right:
/// classes.
namespace zeroloss::internal {

/// log(max(F, 0) + 0.1).
Matrix logarithm_of(const Matrix& F);

/// At most 10,000 samples, each class with its share, evenly spread over it: those that the model is fitted
/// to. Of more samples intervals of estimates are those of 10,000, too wide by the root of how many one of
/// them stands for.
struct ShownSamples {
  std::vector<Index> rows, labels;
};
ShownSamples shown_samples(const std::vector<Index>& labels);

/// Of labels, each with its weight: sum_i w_i log sum_j softmax_j(scale L_i) T_jk(i).
double log_likelihood(const Matrix& L, const std::vector<Index>& labels, const Vector& weights, double scale,
                      const Matrix& T);

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
/// pseudo-samples) or not (10). Two fits, of either L, both with n, estimate which classes are mistaken for
/// others; the third one, of F with 10, widens intervals. Which labels are wrong, and how many, is said by
/// readings of the outputs: integrate_noise().
struct NoiseModel {
  std::vector<NoiseFit> fits;  ///< three
  std::vector<Reading> readings;
  Matrix labels;             ///< n x c: P(label | x)
  double sharpness = 0;      ///< that the readings' links are relative to
  bool like_others = false;  ///< sharpness is that of other samples
};

/// What the model of n labels of c classes and its estimates take at most.
double noise_bytes(Index n, Index c, Index draws);

/// F: n x c predictions, each without its own sample; labels in [0, c). With `like` for samples that the same
/// predictor was not shown: of them F may be few, so its sharpness is taken. Throws Interrupted once
/// cancelled.
NoiseModel noise_model(const Matrix& F, const std::vector<Index>& labels, const NoiseModel* like,
                       Progress& progress);

/// c x c by rows, 0 on the diagonal: samples of the class that are labelled as the other one. The mean of the
/// first two fits, with the hull of all three intervals, 1.96 standard deviations of what each of them
/// estimates from samples drawn anew.
std::vector<Estimate> estimate_confusions(const Matrix& F, const std::vector<Index>& labels,
                                          const NoiseModel& model, Index draws, std::uint64_t seed,
                                          Progress& progress);

}  // namespace zeroloss::internal
