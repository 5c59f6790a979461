#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/field_json.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/present/next.hpp"
#include "zeroloss/theory/certify.hpp"

/// What answers have in common.
namespace zeroloss::internal {

/// One line on the data: "digits: 357 points, 64 features, 2 classes (3, 8)", what was done to the points
/// ("; rows of unit length"), and the remarks on the data.
std::string heading(const Dataset& data, const std::string& done);

/// What is done to points before training: "; columns standardised; rows of unit length".
std::string preparation(const Dataset& data, bool normalize, bool center);

/// Whether labels look wrong that leave-one-out contradicts: of classes, where it is right about most; of
/// numbers, where it is nearer to them than their mean.
inline bool accuses(const CertifyResult& r) {
  const double error = r.leave_one_out_error.value_or(0);
  return r.task == Task::regression ? error < 1 : error <= 0.2;
}

/// With so many digits, rounded up or down.
inline std::string above(double x, int digits = 2) { return decimal(x, digits, Rounding::up); }
inline std::string below(double x, int digits = 2) { return decimal(x, digits, Rounding::down); }

/// Lines of what is known, each a name and a value in columns.
class Facts {
 public:
  explicit Facts(int width) : width_(width) {}  ///< of the column of names
  void operator()(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  int width_;
  std::string text_;
};

/// With what the JSON of an answer begins: data, digest and labels, null where there are none.
Json answer_json(const std::string& data, const std::string& digest, const std::string& labels);
/// The same of a Dataset, and the options.
Json answer_json(const Dataset& data, const Json& options);

/// Two samples: their numbers, their labels and how they lie to each other.
template <>
Json told(const SamplePair& pair);

/// null, or why and the command line.
template <>
Json told(const Next& next);

/// manifest.json: the command line, options, version, data with its digest, machine, time.
std::string manifest(const char* kind, const std::vector<std::string>& arguments, const Json& options,
                     const Dataset& data, const ReadOptions& read, double seconds);

/// The same for what is not a Dataset: `data` describes it.
std::string manifest(const char* kind, const std::vector<std::string>& arguments, const Json& options,
                     const Json& data, double seconds);

}  // namespace zeroloss::internal
