#include "zeroloss/present/data.hpp"

#include <fmt/format.h>

#include "bindings.hpp"
#include "zeroloss/base/digest.hpp"

namespace zeroloss::python {

using D = DatasetAsRead;

template <>
struct Members<PictureSize> {
  static constexpr std::array names{"height", "width", "planes", "together"};
  static auto of(auto& p) { return std::tie(p.height, p.width, p.planes, p.together); }
};
template <>
struct Members<D> {
  static constexpr std::array names{"X",
                                    "y",
                                    "task",
                                    "class_names",
                                    "records",
                                    "name",
                                    "digest",
                                    "feature_names",
                                    "target_name",
                                    "label_treatment",
                                    "ids",
                                    "standardization",
                                    "encoding",
                                    "remarks",
                                    "source_classes",
                                    "picture",
                                    "source_records",
                                    "targets",
                                    "embedding",
                                    "probabilities",
                                    "read",
                                    "call"};
  static auto of(auto& d) {
    return std::tie(d.X, d.y, d.task, d.class_names, d.records, d.name, d.digest, d.feature_names,
                    d.target_name, d.label_treatment, d.ids, d.standardization, d.encoding, d.remarks,
                    d.source_classes, d.picture, d.source_records, d.targets, d.embedding, d.probabilities,
                    d.read, d.call);
  }
};

Source source_of(const Array2& X, const std::optional<Array1>& numbers, std::vector<std::string> texts,
                 std::string name, std::vector<std::string> remarks, const std::vector<Index>& sizes) {
  const auto points = rows(X);
  Source source;
  source.name = std::move(name);
  source.remarks = std::move(remarks);
  source.n = points.rows();
  source.d = points.cols();
  source.picture = picture_of_sizes(sizes);
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

Source source_of(const Frame& frame, std::string name, const ReadOptions& options) {
  Source source = open_csv(std::move(name), frame.csv, frame.header, options);
  if (!frame.names.empty() && options.id.empty()) {
    source.ids = frame.names;
    source.remarks.push_back(kNamedBy + frame.named_by);
  }
  return source;
}

namespace {

/// What `zeroloss data info` says: as text, without the line that follows, and as JSON.
struct Described {
  std::string text, json;
};

Described describe(const Source& source, const ReadOptions& options) {
  const Dataset data = select(source, options);
  const Summary summary = summarize(data);
  const auto table = describe_columns(source, data, options);
  return {summary_text(data, summary, table),
          summary_json(data, summary, table, after_summary(data, options, table))};
}

/// The points that certify and fit divide by their lengths: columns of one scale, the constant appended.
RowMatrix points_of(const D& data) {
  Dataset points;
  points.X = scaled(data.X, data.standardization);
  if (!data.standardization.origin.empty()) subtract(points, data.standardization.origin);
  return std::move(points.X);
}

void bind_dataset(nb::module_& m) {
  nb::class_<D> dataset(m, "Dataset", "n points with their targets. Made by zeroloss.read_dataset.");
  dataset.def_prop_ro("X", in_place<D>(&D::X), "n x d, as read (not yet centred or normalised), read-only.")
      .def_prop_ro("y", in_place<D>(&D::y),
                   "n numbers, or class indices 0..c-1; empty without targets; read-only.")
      .def_prop_ro(
          "task", [](const D& d) { return name(d.task); }, "none | regression | classification.")
      .def_ro("class_names", &D::class_names, "c names, sorted; empty unless classification.")
      .def_ro("source_classes", &D::source_classes,
              "All classes of the source, sorted, whichever were kept; none where that is not known.")
      .def_ro("records", &D::records, "0-based record of each point in its source.")
      .def_ro("name", &D::name, "What the user called it.")
      .def_ro("digest", &D::digest, "SHA-256 of the bytes of the source.")
      .def_ro("feature_names", &D::feature_names, "d names, or none.")
      .def_ro("target_name", &D::target_name, "Where y came from; empty if nowhere.")
      .def_ro("label_treatment", &D::label_treatment, "given | random | noise:p.")
      .def_ro("ids", &D::ids, "The names of the samples, or none.")
      .def_ro("remarks", &D::remarks, "What was done to a table, a line each.")
      .def_prop_ro(
          "standardize", [](const D& d) { return d.standardization.how; },
          "What certify and fit do to the columns first: no | yes | robust | min-max.")
      .def_prop_ro(
          "bias", [](const D& d) { return d.standardization.bias; },
          "The constant that certify and fit append; 0: none.")
      .def_prop_ro(
          "scale",
          [](const D& d) {
            const Vector& scale = d.standardization.scale;
            return scale.size() > 0 ? scale : Vector(Vector::Ones(d.d()));
          },
          "d powers of two, which certify and fit multiply the columns with first.")
      .def_prop_ro(
          "points", points_of,
          "n x d or n x (d + 1): X as certify and fit see it before rows are divided by their lengths, "
          "columns of one scale and the constant appended; rounded to double.")
      .def_prop_ro("n", &D::n, "Points.")
      .def_prop_ro("d", &D::d, "Features.")
      .def_ro("call", &D::call, "The call of zeroloss.read_dataset that makes it again.")
      .def("__repr__", [](const D& d) {
        return "<Dataset " + d.name + ": " + fmt::to_string(d.n()) + " points, " + fmt::to_string(d.d()) +
               " features, " +
               (d.task == Task::classification ? fmt::to_string(d.classes()) + " classes"
                : d.task == Task::regression   ? "target " + d.target_name
                                               : "no targets") +
               ">";
      });
  add_state(dataset, "Dataset");
}

void bind_describer(nb::module_& m) {
  nb::class_<Described>(m, "Described", "What the command data info says.")
      .def_ro("text", &Described::text)
      .def_ro("json", &Described::json);
  struct Describer {};
  nb::class_<Describer>(m, "Describer", "Describes what the functions of these names read.")
      .def(nb::init<>())
      .def(
          "read_dataset",
          [](const Describer&, const std::string& source, const ReadOptions& options, const std::string&) {
            return value_of_work(nb::none(),
                                 [&](Progress&) { return describe(open_source(source, options), options); });
          },
          "source"_a, "options"_a, "call"_a)
      .def(
          "dataset",
          [](const Describer&, const Array2& X, const std::optional<Array1>& numbers,
             std::vector<std::string> texts, const ReadOptions& options, std::string name, const std::string&,
             std::vector<std::string> remarks, const std::vector<Index>& sizes) {
            return value_of_work(nb::none(), [&](Progress&) {
              return describe(
                  source_of(X, numbers, std::move(texts), std::move(name), std::move(remarks), sizes),
                  options);
            });
          },
          "X"_a, "numbers"_a.none(), "texts"_a, "options"_a, "name"_a, "call"_a, "remarks"_a, "sizes"_a)
      .def(
          "table",
          [](const Describer&, const Frame& frame, const ReadOptions& options, std::string name,
             const std::string&) {
            return value_of_work(nb::none(), [&](Progress&) {
              return describe(source_of(frame, std::move(name), options), options);
            });
          },
          "frame"_a, "options"_a, "name"_a, "call"_a)
      .def(
          "of",
          [](const Describer&, const D& data) {
            const Summary summary = summarize(data);
            return Described{summary_text(data, summary),
                             summary_json(data, summary, {}, after_summary(data, {}, {}))};
          },
          "data"_a);
}

}  // namespace

void bind_data(nb::module_& m) {
  bind_options<ReadOptions>(m, "ReadOptions", "What to read of a source, and what of it to keep.");

  bind_result<Sample>(m, "Sample", "A point as people know it.").def("__repr__", [](const Sample& s) {
    return "<sample " + describe(s) + ">";
  });

  nb::class_<Frame>(
      m, "Frame",
      "A data frame: its csv, whether that begins with names (None: to be told), the labels of its "
      "rows where it has its own, and what those are.")
      .def(
          "__init__",
          [](Frame* self, std::string csv, std::optional<bool> header, std::vector<std::string> names,
             std::string named_by) {
            new (self) Frame{std::move(csv), header, std::move(names), std::move(named_by)};
          },
          "csv"_a, "header"_a.none(), "names"_a = std::vector<std::string>(), "named_by"_a = "");

  bind_dataset(m);
  m.def(
      "read_dataset",
      [](const std::string& source, const ReadOptions& options, const std::string& call) {
        return std::make_shared<D>(value_of_work(nb::none(), [&](Progress&) {
          return D{read_dataset(source, options), options, call};
        }));
      },
      "source"_a, "options"_a, "call"_a);
  m.def(
      "dataset",
      [](const Array2& X, const std::optional<Array1>& numbers, std::vector<std::string> texts,
         const ReadOptions& options, std::string name, const std::string& call,
         std::vector<std::string> remarks, const std::vector<Index>& sizes) {
        return std::make_shared<D>(value_of_work(nb::none(), [&](Progress&) {
          const Source source =
              source_of(X, numbers, std::move(texts), std::move(name), std::move(remarks), sizes);
          return D{select(source, options), options, call};
        }));
      },
      "X"_a, "numbers"_a.none(), "texts"_a, "options"_a, "name"_a, "call"_a, "remarks"_a, "sizes"_a);
  m.def(
      "table",
      [](const Frame& frame, const ReadOptions& options, std::string name, const std::string& call) {
        return std::make_shared<D>(value_of_work(nb::none(), [&](Progress&) {
          return D{select(source_of(frame, std::move(name), options), options), options, call};
        }));
      },
      "frame"_a, "options"_a, "name"_a, "call"_a);

  m.def(
      "joined_targets",
      [](const std::vector<std::shared_ptr<D>>& of_each) {
        std::vector<Dataset> all;
        for (const auto& one : of_each) all.push_back(*one);
        return std::make_shared<D>(
            D{joined_targets(std::move(all)), of_each.front()->read, of_each.front()->call});
      },
      "of_each"_a, "The first of data sets that differ in their target, with the targets of all.");
  m.def(
      "columns_of",
      [](const D& data) {
        D columns;
        columns.encoding = data.encoding;
        columns.standardization = data.standardization;
        columns.name = data.name;
        return columns;
      },
      "data"_a, "How the rows of its table became points, without the points.");
  m.def(
      "table_like",
      [](const D& columns, const Frame& frame, std::string name) {
        const ReadOptions all{.target = "none", .na_values = columns.encoding.na_values};
        D made{select(source_of(frame, std::move(name), all), all, {.encoding = &columns.encoding}), all, ""};
        made.standardization = columns.standardization;
        return made;
      },
      "columns"_a, "frame"_a, "name"_a, "The rows of another table as points, by these columns.");
  bind_describer(m);
}

}  // namespace zeroloss::python
