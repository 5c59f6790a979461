#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/network/network.hpp"

/// Where training begins: weights that are drawn, or somebody's own.
namespace zeroloss {

struct Start {
  /// gaussian, pairs (draw_pairs): drawn; else where the weights are from.
  std::string source = "gaussian";
  std::string digest{};                      ///< SHA-256 of their file or numbers; empty: drawn
  std::shared_ptr<const Network> network{};  ///< null: drawn. Outputs without v get the v that is drawn
  bool model = false;  ///< `network` is a trained one: activation, scaling, classes and points are settled

  bool drawn() const { return network == nullptr; }
  bool paired() const { return drawn() && source == "pairs"; }
  Index width() const { return network->width(); }  ///< of given weights
  bool has_v() const { return network->outputs.front().v.size() > 0; }
  bool operator==(const Start& other) const {
    return digest == other.digest && (!drawn() || source == other.source);
  }
};
template <Is<Start> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  visit(Field{"source", "gaussian, pairs, or where the weights are from."}, s.source);
  visit(Field{"digest", "SHA-256 of the file, or of the arrays."}, s.digest);
}
std::string text_of(const Start& start);  ///< what it is, wherever it is from: "gaussian", .. or the digest

/// Weights of one output, m x d with m numbers v, or of several, one after another. All finite and of the
/// same sizes; v of all or of none. Throws std::invalid_argument, which begins with `source`, otherwise.
Start start_of(std::vector<TwoLayer> outputs, std::string source = "arrays");

/// Drawn weights by their name, gaussian or pairs; otherwise the weights of a file: our model.safetensors (or
/// the run folder that it lies in); other safetensors files and npz archives with W, m x d, and v, m numbers,
/// or for K classes W, K x m x d, and v, K x m; an npy file with W. v may be absent. Throws DataError naming
/// what the file holds and what was expected.
Start read_start(const std::filesystem::path& path);

}  // namespace zeroloss
