#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "zeroloss/base/fields.hpp"

namespace zeroloss {

/// What a width of two-layer networks is enough for, or too little (theory 13).
struct WidthRow {
  std::string id;      ///< too_few | measured | these_labels | any_labels | biased, or that of a theorem
  std::string title;   ///< "too few below", "found", .. or the theorem
  std::string about;   ///< which labels, or with which probability
  std::string status;  ///< proved | measured | computed: by numbers that are not verified
  std::optional<double> width = {};  ///< hidden units of each output; of too_few the first that may do
  std::string says = {};             ///< the statement; without a width why there is none
  std::optional<double> output_scale = {};
  std::optional<double> step = {};          ///< of gradient descent: this or any smaller one
  std::optional<double> steps = {};         ///< of it that suffice for the accuracy, rounded up
  std::optional<std::uint64_t> seed = {};   ///< of the network that it is about
  std::string source = {};                  ///< where the proof is
  std::optional<double> lambda_bound = {};  ///< of a theorem: what its width is computed from
};
template <Is<WidthRow> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"id", "too_few | measured | these_labels | any_labels | biased, or that of a theorem."}, r.id);
  visit(Field{"title",
              "Too few below, found, enough for these, enough for any, exists with biases, or the theorem."},
        r.title);
  visit(Field{"about", "Which labels, or with which probability."}, r.about);
  visit(Field{"status",
              "proved | measured | computed: by numbers that are not verified | open: there is no width."},
        r.status);
  visit(Field{"width", "Hidden units of each output; of too_few the first that may do."}, r.width);
  visit(Field{"says", "The statement; without a width why there is none."}, r.says);
  visit(Field{"output_scale", "Of the pairs that the proof is about."}, r.output_scale);
  visit(Field{"step", "Of gradient descent: this or any smaller one."}, r.step);
  visit(Field{"steps", "Of it that suffice for the accuracy, rounded up."}, r.steps);
  visit(Field{"seed", "Of the network that it is about."}, r.seed);
  visit(Field{"source", "Where the proof is."}, r.source);
  visit(Field{"lambda_bound",
              "Of a theorem: the bound of lambda, or the angle, that its width is computed from."},
        r.lambda_bound);
}

}  // namespace zeroloss
