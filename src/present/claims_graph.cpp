#include <fmt/format.h>

#include <stdexcept>

#include "graph/steps.hpp"
#include "present/claims_of.hpp"

// A graph as nodes of claims (checker/README.md).
namespace zeroloss::internal {
namespace {

using graph::Step;

class StepClaims {
 public:
  StepClaims(Claims& claims, std::string name) : claims_(claims), name_(std::move(name)) {}

  Json node(const Step& step) {
    const auto with = [&](const char* name, const char* key, Json value) {
      return Json{{"op", name}, {key, std::move(value)}};
    };
    const auto other = [&](const char* name) { return with(name, "node", step.step); };
    const auto places = [&](const char* name) { return with(name, "places", array(step.places, step)); };
    switch (step.op) {
      case Step::Op::constant:
        return with("constant", "values", claims_.vector(next(), step.b));
      case Step::Op::take:
        return other("take");
      case Step::Op::pick:
        return places("pick");
      case Step::Op::join:
        return other("join");
      case Step::Op::affine:
        return claims_.affine(name_, fmt::format("{}", ++arrays_), step.W, step.b, false);
      case Step::Op::columns: {
        Json node = places("columns");
        node["weight"] = claims_.matrix(next(), step.W);
        if (step.b.size() > 0) node["bias"] = claims_.vector(next(), step.b);
        if (step.groups > 1) node["groups"] = step.groups;
        return node;
      }
      case Step::Op::largest:
        return places("largest");
      case Step::Op::total:
        return places("total");
      case Step::Op::add:
        return other("add");
      case Step::Op::times:
        return other("times");
      case Step::Op::over:
        return other("over");
      case Step::Op::product: {
        Json node = other("product");
        node["inner"] = step.inner;
        node["columns"] = step.columns;
        return node;
      }
      case Step::Op::scale:
        return with("scale", "by", hexadecimal(step.by));
      case Step::Op::activation:
        return with("activation", "activation", activation_claim(step.name, step.by));
      case Step::Op::function:
        return with("function", "function", step.name);
    }
    throw std::logic_error("a step of no kind");
  }

 private:
  std::string next() { return fmt::format("{}_{}", name_, ++arrays_); }
  std::string array(const std::vector<Index>& places, const Step& step) {
    return claims_.integers(next(), places, step.columns > 0 ? std::ssize(places) / step.columns : 0);
  }

  Claims& claims_;
  const std::string name_;
  int arrays_ = 0;
};

// Products of numbers that a step takes.
double products_of(const Step& step) {
  const auto size = static_cast<double>(step.size);
  if (step.op == Step::Op::affine || step.op == Step::Op::columns)
    return size * static_cast<double>(step.W.cols());
  return step.op == Step::Op::product ? size * static_cast<double>(step.inner) : size;
}

// The linear map behind which constants are added at most: each by three steps.
Index last_map(const std::vector<Step>& steps) {
  Index place = std::ssize(steps) - 1;
  const auto at = [&](Index k) -> const Step& { return steps[static_cast<std::size_t>(k)]; };
  while (place >= 3 && at(place).op == Step::Op::add && at(place).step == place - 2 &&
         at(place - 1).op == Step::Op::take && at(place - 1).step == place - 3 &&
         at(place - 2).op == Step::Op::constant)
    place -= 3;
  return at(place).op == Step::Op::affine ? place : -1;
}

}  // namespace

ClaimedGraph claim_graph(Claims& claims, const std::string& name, const GraphNetwork& network, Index d,
                         double less) {
  const std::vector<Step> steps = graph::steps_of(network, d, less);
  StepClaims made(claims, name);
  ClaimedGraph graph;
  Json nodes = Json::array();
  for (const Step& step : steps) {
    nodes.push_back(made.node(step));
    graph.products += products_of(step);
  }
  graph.last = last_map(steps);
  if (graph.last >= 0) {
    const Step& last = steps[static_cast<std::size_t>(graph.last)];
    graph.last_inputs = last.W.cols();
    graph.last_bias = last.b.size() > 0;
  }
  graph.name = claims.network(name, std::move(nodes));
  return graph;
}

}  // namespace zeroloss::internal
