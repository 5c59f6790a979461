#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "present/point_file.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/deep/network.hpp"
#include "zeroloss/network/network.hpp"

/// What an answer says is proved, as claims that another program decides again (checker/README.md).
namespace zeroloss::internal {

/// claims.json of a run folder, and claims.bin, the arrays that its claims are about.
class Claims {
 public:
  static constexpr double kMost = 100e6;  ///< bytes that are copied of points, and of weights

  explicit Claims(RunFolder& folder) : folder_(folder) {}

  /// Returns the name, which is what claims call the array.
  std::string matrix(const std::string& name, const RowMatrix& numbers);
  /// The same of points, in the smallest type that has all of their numbers, or as the file that leaves_out()
  /// found them in.
  std::string point_array(const std::string& name, const RowMatrix& X);
  std::string vector(const std::string& name, const Vector& numbers);
  /// Of one size, or of so many rows.
  std::string integers(const std::string& name, const std::vector<Index>& numbers, Index rows = 0);
  std::string pairs(const std::string& name, const std::vector<std::pair<Index, Index>>& numbers);

  /// Points as rows; `steps`: what is done to each of them, in order. Returns the name.
  std::string points(const std::string& name, const std::string& array, Json steps,
                     const std::vector<Index>* rows = nullptr);
  /// A network of these nodes, as checker/README.md has them. Returns the name.
  std::string network(const std::string& name, Json nodes);
  /// An affine node, with weights called name_part.
  Json affine(const std::string& name, const std::string& part, const RowMatrix& W, const Vector& b,
              bool trained);
  /// Nodes of a network; layers that `moving` has (1 .. L, then the output layer) are trained.
  /// `less` is subtracted from a single output.
  std::string network(const std::string& name, const DeepNetwork& network, const std::vector<bool>& moving,
                      double less = 0);

  /// A claim with the line that was printed; its keys are filled in by the caller.
  Json& add(const std::string& kind, const std::string& text);

  /// Whether the points of the data are too many to be copied, and in no file that another program reads:
  /// then there are no claims, and claims.json says why.
  bool leaves_out(const Dataset& data);
  bool copies_all() const { return folder_.copies_points(); }  ///< points, however many
  /// Whether these points are copied.
  bool copies(const RowMatrix& X) const;
  /// Whether the points of the data are copied, or in a file that another program reads.
  bool keeps(const Dataset& data);
  /// Whether so many bytes of these are too many to be copied, likewise.
  bool leaves_out(double bytes, const std::string& what);

  /// What `make` returns, which puts arrays and networks here; where it throws DataError none of it stays,
  /// the note says why, and there is nothing.
  template <class F>
  auto attempt(const F& make) -> std::optional<decltype(make())> {
    const Json arrays = arrays_, networks = networks_;
    const std::size_t bytes = bytes_.size();
    try {
      return make();
    } catch (const DataError& error) {
      arrays_ = arrays, networks_ = networks;
      bytes_.resize(bytes);
      note_ = error.what();
      return {};
    }
  }

  /// Writes claims.json, if there is something to say.
  void write();

 private:
  std::string put(const std::string& name, const char* type, const std::vector<Index>& shape,
                  const void* numbers, std::size_t count);

  RunFolder& folder_;
  Json arrays_ = Json::object(), points_ = Json::object(), networks_ = Json::object();
  std::optional<PointFile> file_;       // that the points are in
  std::string in_file_;                 // which of the arrays that is
  const RowMatrix* of_file_ = nullptr;  // the points themselves
  std::vector<Json> claims_;
  std::string bytes_, note_;
};

/// A number as C's %a prints it, which is exact.
std::string hexadecimal(double x);

/// {"subtract": C} of a centre, high + low.
Json subtracted(Claims& claims, const std::string& name, const Center& center);

/// What is done to points before networks of one hidden layer and their kernels see them: scales, a constant,
/// what is subtracted, and lengths.
Json steps_to_points(Claims& claims, const Standardization& how, const Center& center);

/// A network of one hidden layer and one output as one of layers.
DeepNetwork layers_of(const std::string& activation_name, const TwoLayer& two);

/// A number > 0 in nine digits, larger or smaller by 1e-9 of it at least: another program may bound what it
/// rests on less tightly.
double nearly(double x, Rounding rounding);

/// The activation of a layer.
Json activation_claim(const std::string& name, double leak);
/// The activation of a name that activation() knows.
Json activation_claim(const std::string& name);

}  // namespace zeroloss::internal
