#include <fmt/format.h>

#include "present/claims_of.hpp"
#include "zeroloss/base/text.hpp"

// What fit proves, as claims.
namespace zeroloss::internal {
namespace {

std::string said(const OutputResult& output, const std::string& what) {
  return output.label.empty() ? what : fmt::format("class {}: {}", output.label, what);
}

}  // namespace

void claim_fit(Claims& claims, const Dataset& data, const FitResult& r) {
  if (r.deep || !r.network.normalize || !r.certificate.holds || claims.leaves_out(data)) return;
  const Network& network = r.network;
  claims.points("data", claims.matrix("points", data.X),
                steps_to_points(claims, network.standardization, network.center));
  const Matrix Y = targets(data);
  for (std::size_t k = 0; k < r.outputs.size(); ++k) {
    const OutputResult& output = r.outputs[k];
    const Certificate& c = output.certificate;
    const TwoLayer& two = network.outputs[k];
    DeepNetwork one;
    one.layers = {Layer{.activation = network.activation, .W = two.W}};
    if (network.activation == "leaky_relu")
      one.layers.front().leak = activation(network.activation).leak.value_or(0);
    one.V = two.v.transpose();
    const bool last = c.kind == "output_weights";
    const std::string number = fmt::format("{}", k);
    const std::string name = claims.network("output" + number, one, {!last, last});
    const std::string y = claims.vector("targets" + number, Vector(Y.col(static_cast<Index>(k))));
    const auto add = [&](const std::string& kind, const std::string& what) -> Json& {
      Json& claim = claims.add(kind, said(output, what));
      claim["network"] = name;
      claim["points"] = "data";
      claim["targets"] = y;
      return claim;
    };
    const std::string within = fmt::format("an exact network is proved to lie within {} of these weights",
                                           decimal(c.radius, 3, Rounding::up));
    if (last) {
      Json& claim = add("last_layer", within);
      claim["lambda_min"] = hexadecimal(c.lambda_min);
      claim["radius"] = hexadecimal(c.radius);
      continue;
    }
    if (c.kind != "descent") {
      add("existence", within)["radius"] = hexadecimal(c.radius);
      continue;
    }
    // That it converges within the radius is that an exact network lies there.
    Json& descends = add("descent", fmt::format("{}, and gradient descent with any step up to {} reaches it",
                                                within, decimal(c.step, 3, Rounding::down)));
    descends["step"] = hexadecimal(c.step);
    descends["rate"] = hexadecimal(c.rate);
    descends["radius"] = hexadecimal(c.radius);
  }
}

}  // namespace zeroloss::internal
