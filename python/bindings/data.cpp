#include "bindings.hpp"
#include "zeroloss/core/digest.hpp"
#include "zeroloss/data/readers.hpp"

namespace zeroloss::python {
namespace {

/// Arrays as a source: points are copied once, when it is known which are wanted.
Source source_of(const Array2& X, const std::optional<Array1>& numbers, std::vector<std::string> texts,
                 std::string name) {
  const auto points = rows(X);
  Source source;
  source.name = std::move(name);
  source.n = points.rows();
  source.d = points.cols();
  source.points = [points](const std::vector<Index>& records) {
    RowMatrix kept(static_cast<Index>(records.size()), points.cols());
    for (Index i = 0; i < kept.rows(); ++i) kept.row(i) = points.row(records[static_cast<std::size_t>(i)]);
    return kept;
  };
  Sha256 digest;
  digest.update(points.data(), sizeof(double) * static_cast<std::size_t>(points.size()));
  if (numbers) {
    source.numbers.assign(numbers->data(), numbers->data() + numbers->size());
    digest.update(numbers->data(), sizeof(double) * numbers->size());
  }
  for (const std::string& text : texts) digest.update(text.c_str(), text.size() + 1);
  source.texts = std::move(texts);
  if (numbers || !source.texts.empty()) source.target_name = "y";
  source.digest = digest.hex();
  return source;
}

}  // namespace

void bind_data(nb::module_& m) {
  nb::class_<ReadOptions>(m, "ReadOptions", "What to read of a source, and what of it to keep.")
      .def(nb::init<>())
      .def_rw("target", &ReadOptions::target)
      .def_rw("task", &ReadOptions::task)
      .def_rw("split", &ReadOptions::split)
      .def_rw("n", &ReadOptions::n)
      .def_rw("d", &ReadOptions::d)
      .def_rw("shuffle", &ReadOptions::shuffle)
      .def_rw("classes", &ReadOptions::classes)
      .def_rw("labels", &ReadOptions::labels)
      .def_rw("seed", &ReadOptions::seed)
      .def_rw("cache", &ReadOptions::cache);

  nb::class_<Sample>(m, "Sample", "A point as people know it.")
      .def_ro("record", &Sample::record, "Its 0-based number in the source.")
      .def_ro("label", &Sample::label, "Class name or number; empty without labels.")
      .def("__repr__", [](const Sample& s) { return "<sample " + describe(s) + ">"; });

  nb::class_<Dataset>(m, "Dataset", "n points with their targets. Made by zeroloss.read_dataset.")
      .def_prop_ro(
          "X", [](nb::handle self) { return view(self, nb::cast<const Dataset&>(self).X); },
          nb::sig("def X(self) -> numpy.typing.NDArray[numpy.float64]"),
          "n x d, as read (not yet centred or normalised), read-only.")
      .def_prop_ro(
          "y", [](nb::handle self) { return view(self, nb::cast<const Dataset&>(self).y); },
          nb::sig("def y(self) -> numpy.typing.NDArray[numpy.float64]"),
          "n numbers, or class indices 0..c-1; empty without targets; read-only.")
      .def_prop_ro(
          "task", [](const Dataset& d) { return name(d.task); }, "none | regression | classification.")
      .def_ro("class_names", &Dataset::class_names, "c names, sorted; empty unless classification.")
      .def_ro("records", &Dataset::records, "0-based record of each point in its source.")
      .def_ro("name", &Dataset::name, "What the user called it.")
      .def_ro("digest", &Dataset::digest, "SHA-256 of the bytes of the source.")
      .def_ro("feature_names", &Dataset::feature_names, "d names, or none.")
      .def_ro("target_name", &Dataset::target_name, "Where y came from; empty if nowhere.")
      .def_ro("label_treatment", &Dataset::label_treatment, "given | random | noise:p.")
      .def_prop_ro("n", &Dataset::n, "Points.")
      .def_prop_ro("d", &Dataset::d, "Features.")
      .def("__repr__", [](const Dataset& d) {
        return "<Dataset " + d.name + ": " + std::to_string(d.n()) + " points, " + std::to_string(d.d()) +
               " features, " +
               (d.task == Task::classification ? std::to_string(d.classes()) + " classes"
                : d.task == Task::regression   ? "target " + d.target_name
                                               : "no targets") +
               ">";
      });

  m.def(
      "read_dataset",
      [](const std::string& source, const ReadOptions& options) {
        return std::make_shared<Dataset>(
            value_of_work(nb::none(), [&](Progress&) { return read_dataset(source, options); }));
      },
      "source"_a, "options"_a);
  m.def(
      "dataset",
      [](const Array2& X, const std::optional<Array1>& numbers, std::vector<std::string> texts,
         const ReadOptions& options, std::string name) {
        return std::make_shared<Dataset>(value_of_work(nb::none(), [&](Progress&) {
          return select(source_of(X, numbers, std::move(texts), std::move(name)), options);
        }));
      },
      "X"_a, "numbers"_a.none(), "texts"_a, "options"_a, "name"_a);
}

}  // namespace zeroloss::python
