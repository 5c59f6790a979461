#include "train/distributed_outputs.hpp"

#include <map>
#include <mutex>
#include <thread>

#include "base/field_json.hpp"
#include "data/dataset_archive.hpp"
#include "processes/task_queue.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

class DistributedOutputs final : public Outputs {
 public:
  DistributedOutputs(const Group& group, const Dataset& data, const FitOptions& options)
      : group_(group), data_(data), options_(options) {}

  void train(Index count, RunState& state, Checkpoint& checkpoint, const TrainOutput& one) override {
    next_ = std::ssize(state.finished);
    count_ = count;
    if (count_ - next_ < 2) return Outputs::train(count, state, checkpoint, one);
    std::string bytes = job();
    group_.call(kOutputService);
    group_.broadcast(bytes);
    std::jthread dealer([&] {
      guarded([&] {
        run_tasks(
            group_,
            [&]() -> std::optional<std::string> {
              const std::optional<Index> output = take();
              return output ? std::optional(BinaryArchive().put(*output).bytes()) : std::nullopt;
            },
            [&](const std::string& answer) {
              BinaryArchive parcel(answer);
              const auto output = parcel.get<Index>();
              keep(output, output_of(parcel.text()), state, checkpoint);
            });
      });
    });
    RunState own;
    Index output_of_own = 0;
    guarded([&] {
      own.current = std::move(state.current);  // of a resumed run
      state.current.reset();
      Checkpoint none("", 0, {});  // which would take an output for the one that is next
      while (const std::optional<Index> output = take()) {
        output_of_own = *output;
        one(*output, own, none);
        if (own.current) return stop();
        keep(*output, std::move(own.finished.back()), state, checkpoint);
        own.finished.clear();
      }
    });
    dealer.join();
    if (failure_) std::rethrow_exception(failure_);
    if (own.current && output_of_own == std::ssize(state.finished)) {
      state.current = std::move(own.current);
      checkpoint.save(state);
    } else if (own.current) {
      throw Interrupted();  // in an output behind one that was elsewhere: the checkpoint ends before both
    }
  }

 private:
  std::string job() const {
    BinaryArchive parcel;
    put(parcel, data_);
    const bool tested = options_.test.data != nullptr;
    parcel.put(stored(options_).dump()).put(options_.start.source).put(tested);
    if (tested) put(parcel, *options_.test.data);
    return parcel.bytes();
  }

  std::optional<Index> take() {
    const std::scoped_lock lock(mutex_);
    return next_ < count_ ? std::optional(next_++) : std::nullopt;
  }
  void stop() {
    const std::scoped_lock lock(mutex_);
    next_ = count_;
  }
  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (...) {
      stop();
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void keep(Index output, OutputState finished, RunState& state, Checkpoint& checkpoint) {
    const std::scoped_lock lock(mutex_);
    waiting_.emplace(output, std::move(finished));
    const auto before = state.finished.size();
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == std::ssize(state.finished);
         first = waiting_.erase(first))
      state.finished.push_back(std::move(first->second));
    if (state.finished.size() > before) checkpoint.save(state);
  }

  const Group group_;
  const Dataset& data_;
  const FitOptions& options_;
  std::mutex mutex_;  // of everything below
  Index next_ = 0, count_ = 0;
  std::map<Index, OutputState> waiting_;  // for one before them
  std::exception_ptr failure_;
};

struct Finished {};

class Taken final : public Outputs {
 public:
  explicit Taken(const Group& group) : group_(group) {}
  void train(Index, RunState&, Checkpoint&, const TrainOutput& one) override {
    work_on_tasks(group_, 1, [&](const std::string& task) {
      const auto output = BinaryArchive(task).get<Index>();
      RunState state;
      Checkpoint none("", 0, {});
      one(output, state, none);
      return BinaryArchive().put(output).put(bytes_of(state.finished.back())).bytes();
    });
    throw Finished();  // what the outputs amount to is not asked here
  }

 private:
  const Group group_;
};

}  // namespace

void Outputs::train(Index count, RunState& state, Checkpoint& checkpoint, const TrainOutput& one) {
  for (auto c = std::ssize(state.finished); c < count; ++c) {
    one(c, state, checkpoint);
    if (state.current) return;  // interrupted
  }
}

std::unique_ptr<Outputs> dealt_outputs(const Group& group, const Dataset& data, const FitOptions& options) {
  return std::make_unique<DistributedOutputs>(group, data, options);
}

void serve_outputs(const Group& group) {
  std::string bytes;
  group.broadcast(bytes);
  BinaryArchive parcel(std::move(bytes));
  const Dataset data = dataset_of(parcel);
  FitOptions options;
  restore(Json::parse(parcel.text()), options);
  parcel.get(options.start.source);
  if (parcel.get<bool>()) options.test = TestSet(std::make_shared<const Dataset>(dataset_of(parcel)));
  Progress silent;
  Taken taken(group);
  CheckedOptions settings = checked(options);
  settings.outputs = &taken;
  try {
    fit_checked(data, settings, silent);
  } catch (const Finished&) {
  }
}

bool can_be_dealt(const FitOptions& options) {
  return options.start.drawn() && !optimizer(options.optimizer).infinite;
}

}  // namespace zeroloss::internal
