#pragma once
#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pickle.hpp"
#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/present/loss.hpp"
#include "zeroloss/sources/readers.hpp"

/// The extension `zeroloss._core`: the library's structs and functions under their own names. What a Python
/// user should see (keywords with their defaults, arrays of any kind) is in python/zeroloss.
namespace zeroloss::python {

namespace nb = nanobind;
using namespace nanobind::literals;

void bind_core(nb::module_& m);
void bind_data(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_two_layer(nb::module_& m);
void bind_sweep(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_memorize(nb::module_& m);
void bind_width(nb::module_& m);
void bind_audit(nb::module_& m);
void bind_images(nb::module_& m);
void bind_deep(nb::module_& m);
void bind_models(nb::module_& m);

/// The Dataset of Python: it also knows how it was read, which run folders record.
struct DatasetAsRead : Dataset {
  ReadOptions read;
  std::string call;  ///< zeroloss.read_dataset(..) that makes it again
};

/// Runs `task` on a thread of its own, without the interpreter's lock, and waits for it. Meanwhile other
/// threads of Python run, signal handlers are called, and `show` (None or a callable) gets the reports. An
/// exception that a handler or `show` raises (KeyboardInterrupt) cancels the task and is raised when it has
/// ended. What the task throws is thrown here.
void work(const nb::object& show, const std::function<void(Progress&)>& task);

/// The same for a task with a value.
template <class Task>
auto value_of_work(const nb::object& show, const Task& task) {
  using Value = std::invoke_result_t<const Task&, Progress&>;
  std::unique_ptr<Value> value;
  work(show, [&](Progress& progress) { value = std::make_unique<Value>(task(progress)); });
  return std::move(*value);
}

/// Points or numbers as NumPy has them, contiguous; read in place.
using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Array1 = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Array3 = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
inline Eigen::Map<const RowMatrix> rows(const Array2& X) {
  return {X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1))};
}

/// What a user calls points: anything that NumPy makes n x d real numbers of. `function` is named in errors.
inline Array2 points(const char* function, nb::handle X) {
  return nb::cast<Array2>(nb::module_::import_("zeroloss.api.arrays").attr("points")(function, X));
}

/// Arrays as a source: points are copied once, when it is known which are wanted. `sizes`: of a sample, which
/// images have two or three of.
Source source_of(const Array2& X, const std::optional<Array1>& numbers, std::vector<std::string> texts,
                 std::string name, std::vector<std::string> remarks = {},
                 const std::vector<Index>& sizes = {});

/// A data frame as a source: its csv, and whether that begins with names (nothing: told from the cells).
struct Frame {
  std::string csv;
  std::optional<bool> header;
  std::vector<std::string> names{};  ///< of its rows: the labels of an index of its own
  std::string named_by{};            ///< what kind of labels they are
};
inline const std::string kNamedBy = "names: the labels of the frame's index, ";  ///< begins a remark
Source source_of(const Frame& frame, std::string name, const ReadOptions& options);

/// The elements of a vector that belongs to `owner`, as a list of references that keep it alive.
template <class Element>
nb::list references(nb::handle owner, std::vector<Element>& elements) {
  nb::list list;
  for (Element& element : elements) list.append(nb::cast(&element, nb::rv_policy::reference_internal, owner));
  return list;
}

/// Where a matrix or vector lies: as a property, an array in place, read-only, that keeps its owner alive.
template <class Numbers>
Eigen::Map<const Numbers> in_place(const Numbers& numbers) {
  return {numbers.data(), numbers.rows(), numbers.cols()};
}

/// The getter of a field so.
template <class Owner, class Numbers, class Base>
auto in_place(Numbers Base::*field) {
  return [field](const Owner& owner) { return in_place(owner.*field); };
}

/// The text of a class name, a status or a task as Python sees it, matrices in place; other values as they
/// are.
template <class Value>
decltype(auto) seen(const Value& value) {
  if constexpr (std::is_enum_v<Value>)
    return name(value);
  else if constexpr (requires { value.rows(), value.cols(), value.data(); })
    return in_place(value);
  else
    return (value);
}

/// Every field of S as a property of the class (S, or derived from it), with its line of help; but those
/// `by_hand`. Options can be set, too.
template <class S, bool kWritable = false, class Class>
void bind_fields(nb::class_<Class>& c, std::initializer_list<std::string_view> by_hand = {}) {
  const S plain{};
  nb::dict choices;
  fields(plain, [&]<class Value>(const Field& field, const Value& value) {
    for (const std::string_view name : by_hand)
      if (name == field.name) return;
    // Where it lies in any other S.
    const auto at = reinterpret_cast<const char*>(&value) - reinterpret_cast<const char*>(&plain);
    const auto get = [at](const Class& owner) -> decltype(auto) {
      return seen(
          *reinterpret_cast<const Value*>(reinterpret_cast<const char*>(static_cast<const S*>(&owner)) + at));
    };
    const auto set = [at](Class& owner, const Value& given) {
      *reinterpret_cast<Value*>(reinterpret_cast<char*>(static_cast<S*>(&owner)) + at) = given;
    };
    if constexpr (kWritable)
      if (*field.choices != '\0') choices[field.name] = field.choices;
    if constexpr (kWritable && requires { value.has_value(); })
      c.def_prop_rw(field.name, get, set, nb::for_setter(nb::arg("value").none()), field.help);
    else if constexpr (kWritable)
      c.def_prop_rw(field.name, get, set, field.help);
    else
      c.def_prop_ro(field.name, get, field.help);
  });
  if (kWritable)
    c.attr("_choices") = choices;  // for scripts/keywords.py
  else
    c.def(
        "_unknown",
        [](const Class& owner) {
          std::vector<std::string> names;
          fields(static_cast<const S&>(owner), [&](const Field& field, const auto&) {
            if (!field.has_value) names.emplace_back(field.name);
          });
          return names;
        },
        "The fields whose values mean nothing: JSON has null for them, a frame NaN.");
}

template <class S>
nb::class_<S> bind_result(nb::module_& m, const char* name, const char* about,
                          std::initializer_list<std::string_view> by_hand = {}) {
  nb::class_<S> c(m, name, about);
  bind_fields<S>(c, by_hand);
  return c;
}

template <class S>
nb::class_<S> bind_options(nb::module_& m, const char* name, const char* about = "") {
  nb::class_<S> c(m, name, about);
  c.def(nb::init<>());
  bind_fields<S, true>(c);
  return c;
}

/// A result with what it takes to print and save it as the command does.
template <class Result, class Options>
struct Answer : Result {
  Options options;
  std::string call;  ///< as it was written in Python; the manifest's command

  Answer(Result result, Options used, std::string text)
      : Result(std::move(result)), options(std::move(used)), call(std::move(text)) {}
};

/// The data that a result is about, and the options.
template <class Data, class Settings>
struct On {
  std::shared_ptr<Data> data;
  Settings settings;
};
template <class Data, class Settings>
struct Members<On<Data, Settings>> {
  static constexpr std::array names{"data", "settings"};
  static auto of(auto& on) { return std::tie(on.data, on.settings); }
};

std::string html_of(const std::string& conclusion, const std::string& text);

inline constexpr const char* kToFrame =
    "A part as a pandas.DataFrame, a row a record; not known is NaN. Of certify: suspects, guarantees, "
    "bottleneck, closest, forecast, widths; of width: rows, drawn, measured; of audit: issues, scores, "
    "confusions, twins, outliers; of prove: networks; of influence: tests, values; of fit: curve, outputs; "
    "of memorize: "
    "blocks, tried; of sweep: cells; of "
    "linear: factorizations, descent, curve. The first is the default. ValueError naming the parts for "
    "another, ImportError without pandas.";

/// What a line about a network that is trained says behind its conclusion.
template <class A>
std::string of_its_loss(const A& a) {
  return "; loss " + squared_loss(a.options.data->task);
}

/// How an Answer shows and stores itself: `text` and `json` as the command prints them, `write` all
/// that it writes into a run folder, which it finishes; `more` is what a line of it says after the
/// conclusion.
template <class A>
void add_output(nb::class_<A>& c, const std::function<std::string(const A&)>& text,
                const std::function<std::string(const A&)>& json,
                const std::function<void(RunFolder&, const A&)>& write,
                const std::function<std::string(const A&)>& more = {}) {
  const std::string name = nb::cast<std::string>(c.attr("__name__"));
  c.def("__str__", text, "What the command prints.")
      .def(
          "__repr__",
          [name, more](const A& a) { return "<" + name + ": " + a.conclusion + (more ? more(a) : "") + ">"; })
      .def("_repr_html_", [text](const A& a) { return html_of(a.conclusion, text(a)); })
      .def(
          "to_dict", [json](const A& a) { return nb::module_::import_("json").attr("loads")(json(a)); },
          nb::sig("def to_dict(self) -> dict[str, object]"),
          "What the command prints with --json, as a dict. A number that is infinite is None.")
      .def(
          "save",
          [write](const A& a, const std::filesystem::path& path) {
            // The answer is still in memory: half a folder is of no use.
            RunFolder folder(path, false, RunFolder::Writers::one, RunFolder::Rest::removed);
            write(folder, a);
          },
          "path"_a,
          "Writes the run folder that the command writes with --out. ValueError if it exists, ResourceError "
          "if it cannot be written; then nothing is left of it.")
      .def(
          "to_frame",
          [](nb::handle self, const std::string& part) {
            return nb::module_::import_("zeroloss.api.tables").attr("frame_of")(self, part);
          },
          "part"_a = "", nb::sig("def to_frame(self, part: str = '') -> typing.Any"), kToFrame)
      .def(
          "plot",
          [](nb::handle self) { return nb::module_::import_("zeroloss.figures").attr("of_result")(self); },
          nb::sig("def plot(self) -> typing.Any"),
          "The figures that the run folder would hold, by name: zeroloss.figures.of(result). In a notebook "
          "they draw themselves; plot().save('all.pdf') writes them. ValueError of a result that has none.");
}

/// Pickles of an Answer, which copies and joblib go by too.
template <class Result, class Options>
void add_pickles(nb::class_<Answer<Result, Options>>& c) {
  using A = Answer<Result, Options>;
  c.def("__getstate__", [](const A& a) {
     nb::dict content;
     content["result"] = pickled<Result>(a);
     content["options"] = pickled(a.options);
     content["call"] = a.call;
     return versioned(content);
   }).def("__setstate__", [kind = nb::cast<std::string>(c.attr("__name__"))](A& self, nb::handle state) {
    restored(kind.c_str(), state, [&](const nb::object& content) {
      new (&self) A(unpickled<Result>(content["result"]), unpickled<Options>(content["options"]),
                    nb::cast<std::string>(content["call"]));
    });
  });
}

}  // namespace zeroloss::python
