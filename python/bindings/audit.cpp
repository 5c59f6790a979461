#include "zeroloss/present/audit.hpp"

#include "bindings.hpp"
#include "zeroloss/audit/decisions.hpp"
#include "zeroloss/train/test_set.hpp"

namespace zeroloss::python {

/// The data of the predictor, the data whose labels were judged (none: the same), and the options.
template <class Settings>
struct OnBoth {
  std::shared_ptr<DatasetAsRead> data;
  std::shared_ptr<DatasetAsRead> test;
  Settings settings;
};
template <class Settings>
struct Members<OnBoth<Settings>> {
  static constexpr std::array names{"data", "test", "settings"};
  static auto of(auto& on) { return std::tie(on.data, on.test, on.settings); }
};

namespace {

/// The same as one that pickles; null for none.
std::shared_ptr<DatasetAsRead> kept(const TestSet& test) {
  if (!test.data) return {};
  auto data = std::make_shared<DatasetAsRead>();
  static_cast<Dataset&>(*data) = *test.data;
  return data;
}

using Audited = Answer<AuditResult, OnBoth<AuditOptions>>;
using Influenced = Answer<InfluenceResult, OnBoth<InfluenceOptions>>;

/// Which samples the numbers of an answer are of.
template <class Class, class Asked>
void add_names(Class& answer, Asked asked) {
  using T = typename Class::Type;
  answer.def_prop_ro(
      "records", [asked](const T& a) { return asked(a).records; },
      "The 0-based records of the samples in their source, in order.");
  answer.def_prop_ro(
      "ids", [asked](const T& a) { return asked(a).ids; }, "The names of the samples, in order, or none.");
  answer.def_prop_ro(
      "_index",
      [asked](const T& a) {
        for (const std::string& remark : asked(a).remarks)
          if (remark.starts_with(kNamedBy)) return remark.substr(kNamedBy.size());
        return std::string();
      },
      "What kind of labels the frame's index has that the names are; empty where they are none.");
}

void bind_parts(nb::module_& m) {
  bind_result<Reason>(m, "Reason", "A training sample and what it does to a prediction.");
  bind_result<LabelIssue>(m, "LabelIssue", "A label that is worth a look.");
  bind_result<Estimate>(m, "Estimate", "An estimate with its 95 % interval.");
  bind_result<Confusion>(m, "Confusion", "How many samples of one class are labelled as another.");
  bind_result<Twins>(m, "Twins", "Two samples that are next to equal.");
  bind_result<Outlier>(m, "Outlier", "A sample that is far from every other one.");
  bind_result<Explained>(m, "Explained", "A prediction and the training samples that matter most for it.");
}

/// With what somebody's model says of the points; empty arrays: nothing.
template <class Data>
void know(Data& data, const Array2& embedding, const Array2& probabilities) {
  if (embedding.size() > 0) data.embedding = rows_of_records(data, rows(embedding), "`embedding`");
  if (probabilities.size() > 0)
    data.probabilities = rows_of_records(data, rows(probabilities), "`probabilities`");
}

void bind_audited(nb::module_& m) {
  m.def(
      "with_known",
      [](const std::shared_ptr<DatasetAsRead>& data, const Array2& embedding, const Array2& probabilities) {
        if (embedding.size() == 0 && probabilities.size() == 0) return data;
        auto made = std::make_shared<DatasetAsRead>(*data);
        know(*made, embedding, probabilities);
        return made;
      },
      "data"_a, "embedding"_a, "probabilities"_a, "A copy that has them, unless both are empty.");
  m.def(
      "with_known",
      [](const TestSet& test, const Array2& embedding, const Array2& probabilities) {
        if (embedding.size() == 0 && probabilities.size() == 0) return test;
        auto made = std::make_shared<Dataset>(*test.data);
        know(*made, embedding, probabilities);
        return TestSet(std::shared_ptr<const Dataset>(std::move(made)));
      },
      "test"_a, "embedding"_a, "probabilities"_a);
  bind_options<AuditOptions>(m, "AuditOptions");
  m.def(
      "give_people",
      [](AuditOptions& options, const std::shared_ptr<DatasetAsRead>& data, const TestSet& test,
         const std::string& checked, const std::vector<bool>& right, const std::string& accepted,
         const std::vector<Index>& rows) {
        const Dataset& asked = test.data ? *test.data : *data;
        if (!checked.empty()) options.checked = read_checked(checked, asked);
        if (!right.empty()) {
          const auto count = std::min(std::ssize(right), asked.n());
          options.checked.positions = draw_samples(asked.n(), count, options.predictor.seed);
          options.checked.seed = options.predictor.seed;
          for (const bool one : right) options.checked.wrong.push_back(!one);
        }
        if (!accepted.empty()) options.accepted = read_accepted(accepted, asked);
        options.accepted.insert(options.accepted.end(), rows.begin(), rows.end());
      },
      "options"_a, "data"_a, "test"_a, "checked"_a, "right"_a, "accepted"_a, "rows"_a,
      "What people said of samples: of paths, of the samples that a draw names, of rows.");
  nb::class_<Audited> answer(m, "AuditResult", "Which labels are wrong. print() shows the worst of them.");
  bind_fields<AuditResult>(answer);
  add_output<Audited>(
      answer,
      [](const Audited& a) {
        return audit_text(*a.options.data, a.options.test.get(), a.options.settings, a);
      },
      [](const Audited& a) {
        return audit_json(*a.options.data, a.options.test.get(), a.options.settings, a);
      },
      [](RunFolder& folder, const Audited& a) {
        write_audit(folder, *a.options.data, a.options.test.get(), a.options.data->read, a.options.settings,
                    a, {a.call});
      });
  answer.def_prop_ro(
      "given",
      [](const Audited& a) {
        const Dataset& asked = a.options.test ? *a.options.test : *a.options.data;
        std::vector<std::string> labels;
        for (Index i = 0; i < asked.n(); ++i) labels.push_back(sample(asked, i).label);
        return labels;
      },
      "The labels of the samples, in order.");
  add_names(answer, [](const Audited& a) -> const Dataset& {
    return a.options.test ? *a.options.test : *a.options.data;
  });
  add_pickles(answer);
  m.def(
      "audit_each",
      [](const std::vector<std::shared_ptr<DatasetAsRead>>& data, const AuditOptions& options,
         const std::string& call, const nb::object& progress, const Group& group) {
        std::vector<Target> targets;
        for (const auto& one : data)
          targets.push_back({one->target_name, one->task, one->y, one->class_names, one->records});
        auto results = value_of_work(
            progress, [&](Progress& p) { return audit_each(*data.front(), targets, options, p, group); });
        std::vector<Audited> answers;
        for (std::size_t k = 0; k < results.size(); ++k)
          answers.emplace_back(std::move(results[k]), OnBoth<AuditOptions>{data[k], nullptr, options}, call);
        return answers;
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a,
      "Of data sets with the same points and other targets.");
  m.def(
      "audit",
      [](const std::shared_ptr<DatasetAsRead>& data, const TestSet& test, const AuditOptions& options,
         const std::string& call, const nb::object& progress, const Group& group) {
        auto result = value_of_work(progress, [&](Progress& p) {
          return test.data ? audit(*data, *test.data, options, p, group) : audit(*data, options, p, group);
        });
        return Audited(std::move(result), {data, kept(test), options}, call);
      },
      "data"_a, "test"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a);
}

void bind_influenced(nb::module_& m) {
  bind_options<InfluenceOptions>(m, "InfluenceOptions");
  nb::class_<Influenced> answer(m, "InfluenceResult",
                                "Which training samples make predictions what they are.");
  bind_fields<InfluenceResult>(answer);
  add_output<Influenced>(
      answer,
      [](const Influenced& a) {
        return influence_text(*a.options.data, *a.options.test, a.options.settings, a);
      },
      [](const Influenced& a) {
        return influence_json(*a.options.data, *a.options.test, a.options.settings, a);
      },
      [](RunFolder& folder, const Influenced& a) {
        write_influence(folder, *a.options.data, *a.options.test, a.options.data->read, a.options.settings, a,
                        {a.call});
      });
  add_names(answer, [](const Influenced& a) -> const Dataset& { return *a.options.data; });
  add_pickles(answer);
  m.def(
      "influence",
      [](const std::shared_ptr<DatasetAsRead>& data, const TestSet& test, const InfluenceOptions& options,
         const std::string& call, const nb::object& progress, const Group& group) {
        auto result = value_of_work(
            progress, [&](Progress& p) { return influence(*data, *test.data, options, p, group); });
        return Influenced(std::move(result), {data, kept(test), options}, call);
      },
      "data"_a, "test"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a);
}

}  // namespace

void bind_audit(nb::module_& m) {
  bind_parts(m);
  bind_audited(m);
  bind_influenced(m);
}

}  // namespace zeroloss::python
