// SPDX-License-Identifier: Apache-2.0
// Data-parallel training: every rank has the whole network and a share of every global batch.
//
// train() is the same loop for one process and for many; the Reducer makes the difference.
// Thread rule: one thread.
#pragma once

#include <functional>
#include <span>

#include "base/result.h"
#include "perf/train/dataset.h"
#include "perf/train/network.h"

namespace sluice::train {

struct TrainingPlan {
  int epochs = 30;
  size_t batch = 64;   // over all ranks
  float rate = 0.05f;  // of the first epoch; falls linearly
  float momentum = 0.9f;
  uint64_t seed = 1;
  int rank = 0;
  int ranks = 1;
  // One process does the work of all ranks, adding their shares up in rank order. (Sums in another
  // order differ in the last bit, a ReLU near zero may then switch, and weights drift apart.)
  bool alone = false;
};

// What is summed over the ranks in one go.
struct Contribution {
  std::span<float> gradient;   // in the network's tensors
  std::span<float> loss;       // one value
  std::span<int32_t> correct;  // one value
};

class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual Contribution memory() = 0;   // where this rank's contribution goes, and the sums come
  virtual Status sum_gradients() = 0;  // gradient and loss
  virtual Status sum_correct() = 0;
};

// Alone: the contribution is the sum.
class LoneReducer final : public Reducer {
 public:
  Contribution memory() override { return {gradient_, {&loss_, 1}, {&correct_, 1}}; }
  Status sum_gradients() override { return {}; }
  Status sum_correct() override { return {}; }

 private:
  std::vector<float> gradient_ = std::vector<float>(Network::weight_count());
  float loss_ = 0;
  int32_t correct_ = 0;
};

struct EpochReport {
  int epoch = 0;
  double loss = 0;
  double accuracy = 0;  // on the held-out digits, 0 to 1
  double seconds = 0;
  double communication = 0;  // seconds of them
};

// Returns the last epoch's accuracy.
Result<double> train(const TrainingPlan& plan, const Dataset& data, Network& network,
                     Reducer& reducer, const std::function<void(const EpochReport&)>& on_epoch);

}  // namespace sluice::train
