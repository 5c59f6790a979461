// R as a product of layers I + A: docs/theory.md, section 10.

#include <algorithm>
#include <cmath>

#include "kinds.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {
namespace {

std::vector<double> numbers_of(const Array& a, bool identity) {
  std::vector<double> x(a.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = a.real(i) + (identity && i / a.columns() == i % a.columns() ? 1 : 0);
  }
  return x;
}

// I + A as doubles, and how far they are off.
double off_of_sum(const Array& a) {
  double off = 0;
  for (std::size_t i = 0; i < a.columns(); ++i) {
    off += std::pow(std::fabs(1 + a.real(i * a.columns() + i)) * 0x1p-53, 2);
  }
  return std::sqrt(off) * 1.001;
}

}  // namespace

// With ||P - R|| <= e, g >= ||I + A|| of an end layer and s_min(R) >= s > e that layer has to be changed by e
// g/(s - e) at most, so that s >= e + e g/c will do for c.
std::string check_factorisation(const Folder& folder, const Json& claim, const std::string& where) {
  const Object o(claim, where, {"kind", "text", "map", "layers", "max_norm", "correction", "error"});
  const Bits bits(std::max<slong>(precision, 256));
  const Array& map = folder.reals(o.text("map"), 2);
  const std::size_t d = map.rows();
  if (map.columns() != d || !o.at("layers").is_array() || o.at("layers").empty()) {
    o.fail("map is not square, or layers is not a list of one or more");
  }
  std::vector<const Array*> layers;
  for (const Json& name : o.at("layers")) {
    layers.push_back(&folder.reals(name.is_string() ? name.get<std::string>() : "", 2));
    if (layers.back()->rows() != d || layers.back()->columns() != d) {
      o.fail("a layer is not of the size of the map");
    }
  }
  const double x = o.number("max_norm");
  std::vector<Balls> product(d, Balls(d));  // its columns
  for (std::size_t i = 0; i < d; ++i) {
    product[i][i] = 1;
  }
  for (const Array* layer : layers) {
    Balls a(d * d);
    for (std::size_t i = 0; i < d * d; ++i) {
      a[i] = layer->real(i);
    }
    for (Balls& column : product) {
      Balls moved(d);
      for (std::size_t i = 0; i < d; ++i) {
        moved[i] = column[i] + dot(a.data() + i * d, column.data(), d);
      }
      column = std::move(moved);
    }
  }
  Ball squares;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      squares += square(product[j][i] - Ball(map.real(i * d + j)));
    }
  }
  const double e = sqrt(squares).upper();
  if (o.has("error") && !(e <= o.number("error"))) {
    throw Open("||P - R||_F <= " + up(e) + " only");
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (!norm_at_most(d, d, numbers_of(*layers[l], false), x)) {
      throw Open("layer " + std::to_string(l) + " is not proved to have a norm of at most " + down(x));
    }
  }
  Symmetric gram = inner_products(d, d, numbers_of(map, false));
  for (const std::size_t end : {std::size_t{0}, layers.size() - 1}) {
    const Array& layer = *layers[end];
    const double room = x - spectral_norm(d, d, numbers_of(layer, false), 0);
    const double c = std::min(room * (1 - 1e-15), o.has("correction") ? o.number("correction") : INFINITY);
    if (!(c > 0)) {
      continue;
    }
    if (layers.size() == 1) {
      if (e <= c) {
        return "||P - R||_F <= " + up(e);
      }
      continue;
    }
    const double g = spectral_norm(d, d, numbers_of(layer, true), off_of_sum(layer));
    const double s = (Ball(e) + Ball(e) * Ball(g) / Ball(c)).upper() * (1 + 1e-15);
    if (least_eigenvalue(gram, 1, s * s * (1 + 1e-15)).lower >= s * s) {
      return "||P - R||_F <= " + up(e) + ", and a change of layer " + std::to_string(end) + " by " + up(c) +
             " makes it 0";
    }
  }
  throw Open("no end layer is proved to need so small a change");
}

}  // namespace check
