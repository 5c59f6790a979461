#pragma once
#include <memory>
#include <optional>
#include <string>

#include "audit/predictor.hpp"
#include "zeroloss/audit/audit.hpp"
#include "zeroloss/images/patch_features.hpp"

/// The predictor of a data set, with what its options leave to leave-one-out.
namespace zeroloss::internal {

/// Throws std::invalid_argument for options out of range.
void check(const PredictorOptions& options, const char* who);

/// Throws DataError for data whose labels cannot be predicted from each other.
void check_audited(const Dataset& data, const char* who);

/// Throws DataError for test points that the predictor of `data` says nothing about.
void check_against(const Dataset& data, const Dataset& test, const char* who);

/// Targets less their middle: classes as columns of 0 and 1 less the classes' shares, numbers less their mean
/// over their deviation.
class Targets {
 public:
  explicit Targets(const Dataset& data);

  const Matrix& centred() const { return Y_; }
  /// Outputs that targets were: f + middle; numbers in their own units.
  Matrix restored(const Matrix& f) const;
  double unit() const { return unit_; }  ///< 1, or the numbers' deviation

 private:
  Matrix Y_;
  Eigen::RowVectorXd middle_;
  double unit_ = 1;
};

class KernelRidgeSetup {
 public:
  /// Y: Targets::centred(), of one target or of several side by side.
  KernelRidgeSetup(const Dataset& data, const Matrix& Y, const PredictorOptions& options, const Group& group,
                   Progress& progress);

  const Similarity& similarity() const { return *similarity_; }
  const Predictor& predictor() const { return *predictor_; }
  const Nearest& nearest() const { return nearest_; }
  /// Points of the data, or of others of their kind, as the similarity takes them.
  Inputs inputs(const Dataset& data, Progress& progress) const;
  /// What was chosen, in the fields of an answer.
  template <class Result>
  void tell(Result& result) const {
    result.activation = activation_;
    result.scale = scale_;
    result.image_features = image_features_;
    result.mirrored = mirrored_;
    result.embedding = embedding_ > 0 ? share_ : 0;
    result.ridge = ridge_;
    result.inducing = inducing_;
  }

 private:
  void choose(const Dataset& data, const Matrix& Y, Progress& progress);

  PredictorOptions options_;
  Standardization standardization_;
  std::string activation_, scale_;
  std::string image_features_;              // empty: no images
  std::unique_ptr<PatchFeatures> patches_;  // null: none are taken
  Index embedding_ = 0;                     // numbers of the embedding, if that is taken
  double share_ = 0;                        // of the kernel of either
  bool mirrored_ = false;
  double ridge_ = 0;
  Index inducing_ = 0;
  std::unique_ptr<Similarity> similarity_;
  std::unique_ptr<Features> features_;
  Nearest nearest_;
  std::unique_ptr<Predictor> predictor_;
};

}  // namespace zeroloss::internal
