// SPDX-License-Identifier: Apache-2.0
#include "perf/train/network.h"

#include <algorithm>
#include <cmath>

namespace sluice::train {
namespace {

constexpr size_t kSizes[] = {kPixels, 128, 64, kClasses};
constexpr size_t kLayers = std::size(kSizes) - 1;

struct Layer {
  size_t inputs;
  size_t outputs;
  size_t weights;  // where they start, [input][output]
  size_t bias;
};

constexpr std::array<Layer, kLayers> make_layers() {
  std::array<Layer, kLayers> layers{};
  size_t first = 0;
  for (size_t index = 0; index < kLayers; ++index) {
    const size_t product = kSizes[index] * kSizes[index + 1];
    layers[index] = {kSizes[index], kSizes[index + 1], first, first + product};
    first += product + kSizes[index + 1];
  }
  return layers;
}
constexpr std::array<Layer, kLayers> kLayer = make_layers();

void softmax(std::vector<float>& values) {
  const float largest = *std::max_element(values.begin(), values.end());
  float sum = 0;
  for (float& value : values) sum += value = std::exp(value - largest);
  for (float& value : values) value /= sum;
}

}  // namespace

std::span<const size_t> Network::layer_sizes() {
  return kSizes;
}

size_t Network::weight_count() {
  return kLayer.back().bias + kLayer.back().outputs;
}

std::vector<Tensor> Network::tensors() {
  std::vector<Tensor> tensors;
  for (const Layer& layer : kLayer) {
    tensors.push_back({layer.weights, layer.inputs * layer.outputs});
    tensors.push_back({layer.bias, layer.outputs});
  }
  return tensors;
}

Network::Network(uint64_t seed) : weights_(weight_count()), velocity_(weight_count()) {
  Random random(seed);
  for (const Layer& layer : kLayer) {
    // He's scale; a uniform distribution of that variance.
    const float limit = std::sqrt(6.0f / static_cast<float>(layer.inputs));
    for (size_t index = layer.weights; index < layer.bias; ++index) {
      weights_[index] = (2 * random.uniform() - 1) * limit;
    }
  }
  for (const size_t size : kSizes) {
    activations_.emplace_back(size);
    errors_.emplace_back(size);
  }
}

void Network::forward(const Digit& digit) {
  std::copy(digit.pixels.begin(), digit.pixels.end(), activations_[0].begin());
  for (size_t index = 0; index < kLayers; ++index) {
    const Layer& layer = kLayer[index];
    std::vector<float>& output = activations_[index + 1];
    const auto bias = weights_.begin() + static_cast<std::ptrdiff_t>(layer.bias);
    std::copy(bias, bias + static_cast<std::ptrdiff_t>(layer.outputs), output.begin());
    for (size_t input = 0; input < layer.inputs; ++input) {
      const float value = activations_[index][input];
      const float* row = &weights_[layer.weights + input * layer.outputs];
      for (size_t to = 0; to < layer.outputs; ++to) output[to] += value * row[to];
    }
    if (index + 1 == kLayers) break;
    for (float& value : output) value = std::max(value, 0.0f);
  }
  softmax(activations_.back());
}

float Network::accumulate(const Digit& digit, std::span<float> gradient) {
  forward(digit);
  const auto label = static_cast<size_t>(digit.label);
  errors_.back() = activations_.back();
  errors_.back()[label] -= 1;
  for (size_t index = kLayers; index-- > 0;) {
    const Layer& layer = kLayer[index];
    const std::vector<float>& error = errors_[index + 1];
    for (size_t to = 0; to < layer.outputs; ++to) gradient[layer.bias + to] += error[to];
    for (size_t input = 0; input < layer.inputs; ++input) {
      const float value = activations_[index][input];
      const size_t row = layer.weights + input * layer.outputs;
      float back = 0;
      for (size_t to = 0; to < layer.outputs; ++to) {
        gradient[row + to] += value * error[to];
        back += weights_[row + to] * error[to];
      }
      errors_[index][input] = value > 0 ? back : 0;  // ReLU; the pixels' own is not used
    }
  }
  return -std::log(std::max(activations_.back()[label], 1e-30f));
}

bool Network::recognises(const Digit& digit) {
  forward(digit);
  const auto& output = activations_.back();
  return std::max_element(output.begin(), output.end()) - output.begin() == digit.label;
}

void Network::step(std::span<const float> gradient, float scale, float rate, float momentum) {
  for (size_t index = 0; index < weights_.size(); ++index) {
    velocity_[index] = momentum * velocity_[index] - rate * scale * gradient[index];
    weights_[index] += velocity_[index];
  }
}

}  // namespace sluice::train
