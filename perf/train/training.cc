// SPDX-License-Identifier: Apache-2.0
#include "perf/train/training.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"

namespace sluice::train {
namespace {

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The part of `count` items that is a rank's.
struct Share {
  Share(size_t count, int rank, int ranks)
      : first(count * static_cast<size_t>(rank) / static_cast<size_t>(ranks)),
        end(count * static_cast<size_t>(rank + 1) / static_cast<size_t>(ranks)) {}
  size_t first;
  size_t end;
};

class Trainer {
 public:
  Trainer(const TrainingPlan& plan, const Dataset& data, Network& network, Reducer& reducer)
      : plan_(plan),
        data_(data),
        network_(network),
        reducer_(reducer),
        random_(plan.seed),
        order_(data.training.size()),
        partial_(plan.alone ? Network::weight_count() : 0) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  Result<EpochReport> epoch(int number) {
    const TimePoint start = Clock::now();
    communication_ = 0;
    EpochReport report;
    report.epoch = number;
    // Falls to nothing in the end, so that the last epochs settle instead of wandering.
    rate_ = plan_.rate * static_cast<float>(plan_.epochs + 1 - number) /
            static_cast<float>(plan_.epochs);
    shuffle(order_, random_);  // the same on every rank
    for (size_t first = 0; first < order_.size(); first += plan_.batch) {
      const size_t size = std::min(plan_.batch, order_.size() - first);
      auto loss = learn(std::span(order_).subspan(first, size));
      if (!loss) return fail(std::move(loss).error());
      report.loss += *loss / static_cast<double>(order_.size());
    }
    auto accuracy = measure_accuracy();
    if (!accuracy) return fail(std::move(accuracy).error());
    report.accuracy = *accuracy;
    report.seconds = seconds_since(start);
    report.communication = communication_;
    return report;
  }

 private:
  int first_share() const { return plan_.alone ? 0 : plan_.rank; }
  int end_of_shares() const { return plan_.alone ? plan_.ranks : plan_.rank + 1; }

  // The gradient of a rank's share of the batch; its loss.
  float contribute(std::span<const size_t> batch, int rank, std::span<float> gradient) {
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    const Share share(batch.size(), rank, plan_.ranks);
    float loss = 0;
    for (size_t index = share.first; index < share.end; ++index) {
      loss += network_.accumulate(data_.training[batch[index]], gradient);
    }
    return loss;
  }

  // One global batch; its summed loss.
  Result<double> learn(std::span<const size_t> batch) {
    const Contribution memory = reducer_.memory();
    memory.loss[0] = contribute(batch, first_share(), memory.gradient);
    for (int rank = first_share() + 1; rank < end_of_shares(); ++rank) {
      memory.loss[0] += contribute(batch, rank, partial_);
      for (size_t index = 0; index < partial_.size(); ++index) {
        memory.gradient[index] += partial_[index];
      }
    }
    SLUICE_RETURN_IF_ERROR(timed([&] { return reducer_.sum_gradients(); }));
    const float scale = 1.0f / static_cast<float>(batch.size());
    network_.step(memory.gradient, scale, rate_, plan_.momentum);
    return static_cast<double>(memory.loss[0]);
  }

  Result<double> measure_accuracy() {
    const Contribution memory = reducer_.memory();
    memory.correct[0] = 0;
    for (int rank = first_share(); rank < end_of_shares(); ++rank) {
      const Share share(data_.held_out.size(), rank, plan_.ranks);
      for (size_t index = share.first; index < share.end; ++index) {
        memory.correct[0] += network_.recognises(data_.held_out[index]) ? 1 : 0;
      }
    }
    SLUICE_RETURN_IF_ERROR(timed([&] { return reducer_.sum_correct(); }));
    return static_cast<double>(memory.correct[0]) / static_cast<double>(data_.held_out.size());
  }

  template <typename Work>
  Status timed(Work&& work) {
    const TimePoint start = Clock::now();
    Status status = work();
    communication_ += seconds_since(start);
    return status;
  }

  const TrainingPlan& plan_;
  const Dataset& data_;
  Network& network_;
  Reducer& reducer_;
  Random random_;
  std::vector<size_t> order_;
  std::vector<float> partial_;
  float rate_ = 0;
  double communication_ = 0;
};

}  // namespace

Result<double> train(const TrainingPlan& plan, const Dataset& data, Network& network,
                     Reducer& reducer, const std::function<void(const EpochReport&)>& on_epoch) {
  Trainer trainer(plan, data, network, reducer);
  double accuracy = 0;
  for (int number = 1; number <= plan.epochs; ++number) {
    auto report = trainer.epoch(number);
    if (!report) return fail(std::move(report).error());
    accuracy = report->accuracy;
    if (on_epoch) on_epoch(*report);
  }
  return accuracy;
}

}  // namespace sluice::train
