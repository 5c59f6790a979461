#include "width/search.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::internal {

MeasuredWidth measure_width(const Dataset& data, Index width, const WidthOptions& options,
                            const Deadline& deadline, Progress& progress,
                            std::shared_ptr<const FitResult>& found) {
  MeasuredWidth measured{.width = width};
  FitOptions fit_options;
  fit_options.activation = options.activation;
  fit_options.center = options.center;
  fit_options.normalize = options.normalize;
  fit_options.width = width;
  fit_options.optimizer = "gauss_newton";
  fit_options.max_steps = 500;
  fit_options.patience = 50;
  fit_options.certify_every = 0;
  while (measured.tries < options.restarts && !measured.certified && deadline.left() > 0) {
    measured.seed = options.seed + static_cast<std::uint64_t>(measured.tries++);
    fit_options.seed = measured.seed;
    fit_options.max_seconds = deadline.left();
    Progress silent = progress.silent();
    auto result = std::make_shared<const FitResult>(fit(data, fit_options, silent));
    progress.check();
    measured.certified = result->status == Status::certified;
    if (measured.certified) found = std::move(result);
  }
  return measured;
}

}  // namespace zeroloss::internal
