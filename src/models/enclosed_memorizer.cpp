#include "models/enclosed_memorizer.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

GraphOutputs EnclosedMemorizer::outputs(const Eigen::Ref<const RowMatrix>& X, const std::string& execution,
                                        Progress& progress) const {
  const bool exact = execution == "exact";
  if (!exact && execution != network_->precision)
    throw std::invalid_argument(
        fmt::format("`execution` of a memoriser in {0} must be exact or {0}; got '{1}'", network_->precision,
                    excerpt(execution)));
  if (X.cols() != features())
    throw DataError(fmt::format("points have {} features, the memoriser takes {}", X.cols(), features()));
  MemorizerOutputs all = enclosed_outputs(*network_, X, progress);
  return {std::move(all.f), std::move(exact ? all.exact_error : all.own_error), {1, network_->outputs()}};
}

std::shared_ptr<const Memorizer> memorizer_of(const GraphNetwork& network) {
  const auto* enclosed = dynamic_cast<const EnclosedMemorizer*>(network.enclosure.get());
  return enclosed == nullptr ? nullptr : enclosed->network();
}

GraphNetwork network_of_memorizer(const std::filesystem::path& file) {
  const auto enclosed = std::make_shared<const EnclosedMemorizer>(file);
  const Memorizer& it = *enclosed->network();
  GraphNetwork network;
  network.name = file.string();
  network.description =
      fmt::format("a memoriser of {} of width {}, {}",
                  count(it.blocks(), "residual block", "residual blocks"), it.hidden(), it.precision);
  network.not_layers = "it memorises, block by block";
  network.numbers = it.precision;
  network.class_names = it.class_names;
  network.labels = it.task == Task::classification;
  network.parameters = it.parameters();
  network.enclosure = enclosed;
  if (it.precision == "float32")
    network.notes.emplace_back("points are rounded to float32, which its layers take");
  return network;
}

}  // namespace zeroloss::internal
