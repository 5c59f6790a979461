#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "zeroloss/images/patch_features.hpp"

namespace zeroloss::python {

void bind_images(nb::module_& m) {
  m.def(
      "picture_of_sizes",
      [](const std::vector<Index>& sizes) {
        const PictureSize p = picture_of_sizes(sizes);
        return std::tuple(p.height, p.width, p.planes, p.together);
      },
      "sizes"_a,
      "Height, width, planes and whether pixels stand side by side, of sizes of an image; 0 for others.");
  m.def(
      "patch_filters",
      [](const Array2& X, const std::vector<Index>& sizes, Index filters, std::uint64_t seed) {
        return value_of_work(nb::none(), [&](Progress& progress) {
          const PatchFeatures made(rows(X), picture_of_sizes(sizes), {.filters = filters, .seed = seed},
                                   progress);
          const PatchFilters& f = made.filters();
          return std::tuple(f.weights, f.shift, f.grey, f.least, f.levels);
        });
      },
      "X"_a, "sizes"_a, "filters"_a, "seed"_a,
      "What PatchFeatures learn of images: numbers x filters, and more.");
  m.def(
      "patch_features",
      [](const Array2& X, const std::vector<Index>& sizes, const Array2& weights, const Array1& shift,
         bool grey, double least, double levels, bool mirror) {
        PatchFilters filters{.size = picture_of_sizes(sizes), .grey = grey, .least = least, .levels = levels};
        filters.weights = rows(weights);
        filters.shift = Eigen::Map<const Vector>(shift.data(), static_cast<Index>(shift.shape(0)));
        const PatchFeatures patches(std::move(filters), mirror);
        return value_of_work(nb::none(), [&](Progress& progress) { return patches(rows(X), progress); });
      },
      "X"_a, "sizes"_a, "weights"_a, "shift"_a, "grey"_a, "least"_a, "levels"_a, "mirror"_a,
      "Features of images, by what was learned of others.");
}

}  // namespace zeroloss::python
