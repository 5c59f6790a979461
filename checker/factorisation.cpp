// R as a product of layers I + A: docs/theory.md, section 10.

#include <cmath>

#include "kinds.hpp"
#include "tangent.hpp"
#include "verdict.hpp"

namespace check {
namespace {

using Columns = std::vector<Balls>;

// (I + A) P.
Columns grown(const Array& layer, Columns p) {
  const std::size_t d = layer.rows();
  const std::vector<double> numbers = layer.reals();
  const Balls a(numbers.begin(), numbers.end());
  for (Balls& column : p) {
    Balls moved(d);
    for (std::size_t i = 0; i < d; ++i) {
      moved[i] = column[i] + dot(a.data() + i * d, column.data(), d);
    }
    column = std::move(moved);
  }
  return p;
}

// (I + A_k) .. (I + A_1) of these layers.
Columns product_of(std::size_t d, const Array* const* first, const Array* const* end) {
  Columns product(d, Balls(d));
  for (std::size_t i = 0; i < d; ++i) {
    product[i][i] = 1;
  }
  for (; first != end; ++first) {
    product = grown(**first, std::move(product));
  }
  return product;
}

// X with M X = E, or with X M = E; not finite where M is not proved regular.
Columns solved(const Columns& m, const Columns& e, bool from_right) {
  const auto d = static_cast<slong>(m.size());
  arb_mat_t a, b, x;
  for (arb_mat_struct* one : {a, b, x}) {
    arb_mat_init(one, d, d);
  }
  for (slong i = 0; i < d; ++i) {
    for (slong j = 0; j < d; ++j) {  // from the right it is M^T X^T = E^T
      arb_set(from_right ? arb_mat_entry(a, j, i) : arb_mat_entry(a, i, j), m[j][i].get());
      arb_set(from_right ? arb_mat_entry(b, j, i) : arb_mat_entry(b, i, j), e[j][i].get());
    }
  }
  if (arb_mat_solve(x, a, b, precision) == 0) {
    arb_mat_indeterminate(x);
  }
  Columns result(m.size(), Balls(m.size()));
  for (slong i = 0; i < d; ++i) {
    for (slong j = 0; j < d; ++j) {
      arb_set(result[j][i].get(), from_right ? arb_mat_entry(x, j, i) : arb_mat_entry(x, i, j));
    }
  }
  for (arb_mat_struct* one : {a, b, x}) {
    arb_mat_clear(one);
  }
  return result;
}

}  // namespace

// R = M (I + A_1 + C) for C = M^-1 (R - P), M being the product of the other layers, or (I + A_l + C) M for C
// = (R - P) M^-1: the change that an end layer needs.
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
  const Array* const* const first = layers.data();
  const Array* const* const last = first + layers.size() - 1;
  const Columns but_last = product_of(d, first, last);
  Columns rest = grown(**last, but_last);
  Ball squares;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      rest[j][i] = Ball(map.real(i * d + j)) - rest[j][i];
      squares += square(rest[j][i]);
    }
  }
  const double e = sqrt(squares).upper();
  if (o.has("error") && !(e <= o.number("error"))) {
    throw Open("||P - R||_F <= " + up(e) + " only");
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (!norm_at_most(d, d, layers[l]->reals(), x)) {
      throw Open("layer " + std::to_string(l) + " is not proved to have a norm of at most " + down(x));
    }
  }
  for (const Array* const* end : {last, first}) {
    const Columns c =
        end == last ? solved(but_last, rest, true) : solved(product_of(d, first + 1, last + 1), rest, false);
    Ball change, off;
    std::vector<double> numbers(d * d);
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        const Ball sum = Ball((*end)->real(i * d + j)) + c[j][i];
        change += square(c[j][i]);
        off += square(sum - Ball(numbers[i * d + j] = sum.middle()));
      }
    }
    change = sqrt(change);
    if (change.upper() <= (o.has("correction") ? o.number("correction") : INFINITY) &&
        norm_at_most(d, d, numbers, (Ball(x) - sqrt(off)).lower())) {
      return "||P - R||_F <= " + up(e) + ", and a change of layer " + std::to_string(end - first) + " by " +
             up(change.upper()) + " makes it 0";
    }
  }
  throw Open("no end layer is proved to need so small a change");
}

}  // namespace check
