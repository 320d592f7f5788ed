// SPDX-License-Identifier: Apache-2.0
// A multilayer perceptron: 64 pixels, two hidden ReLU layers, softmax over 10 digits.
//
// Weights and gradients are plain flat memory in layer order, so that a gradient's tensors can be
// handed to an allreduce where they lie. Thread rule: one thread per object.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "perf/train/dataset.h"

namespace sluice::train {

struct Tensor {  // a part of the flat memory
  size_t first;
  size_t count;
};

class Network {
 public:
  explicit Network(uint64_t seed);

  static std::span<const size_t> layer_sizes();
  // The weights and the bias of every layer.
  static std::vector<Tensor> tensors();
  static size_t weight_count();

  std::span<const float> weights() const { return weights_; }

  // Adds the gradient of the loss of one digit to `gradient`; returns the loss.
  float accumulate(const Digit& digit, std::span<float> gradient);
  bool recognises(const Digit& digit);

  // One step of gradient descent with momentum.
  void step(std::span<const float> gradient, float scale, float rate, float momentum);

 private:
  void forward(const Digit& digit);

  std::vector<float> weights_;
  std::vector<float> velocity_;
  std::vector<std::vector<float>> activations_;  // of every layer, the input's first
  std::vector<std::vector<float>> errors_;       // d loss / d activation
};

}  // namespace sluice::train
