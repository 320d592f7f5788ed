// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/node_tree.h"

#include <algorithm>
#include <charconv>

namespace sluice::perf {
namespace {

constexpr size_t kMostLevels = 7;  // below the root
constexpr int kMostFanOut = 64;
constexpr int kMostNodes = 128;

}  // namespace

Result<TreeShape> TreeShape::parse(std::string_view text) {
  TreeShape shape;
  int width = 1;
  int nodes = 1;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int fan_out = 0;
    const auto [last, error] = std::from_chars(at, end, fan_out);
    const bool separated = last == end || (*last == 'x' && last + 1 != end);
    if (error != std::errc() || !separated || fan_out < 1 || fan_out > kMostFanOut) {
      return fail(ErrorKind::invalid_argument,
                  "--tree " + std::string(text) +
                      ": expected fan-outs of 1 to 64 from the root down, as in 2 or 2x2");
    }
    width = std::min(width * fan_out, kMostNodes + 1);
    nodes += width;
    shape.fan_out.push_back(fan_out);
    at = last == end ? end : last + 1;
  }
  if (shape.fan_out.size() <= kMostLevels && nodes <= kMostNodes) return shape;
  return fail(ErrorKind::invalid_argument,
              format_text("--tree %s: at most %zu levels below the root and %d nodes in all",
                          std::string(text).c_str(), kMostLevels, kMostNodes));
}

Result<NodeTree> NodeTree::start(const TreeShape& shape, const NodeProgram& program) {
  NodeTree tree;
  auto root = tree.add(shape, program, 0);
  if (!root) return fail(std::move(root).error());
  return tree;
}

Result<size_t> NodeTree::add(const TreeShape& shape, const NodeProgram& program, size_t level) {
  const bool is_leaf = level == shape.fan_out.size();
  std::string name = level == 0 ? "root"
                     : is_leaf  ? "leaf" + std::to_string(leaves_++)
                                : "inner" + std::to_string(inner_++);
  auto process = NodeProcess::start(program, name);
  if (!process) return fail(std::move(process).error());
  const size_t index = nodes_.size();
  nodes_.push_back({std::move(name), {}, std::move(*process)});
  const int children = is_leaf ? 0 : shape.fan_out[level];
  for (int child = 0; child < children; ++child) {
    auto below = add(shape, program, level + 1);
    if (!below) return below;
    nodes_[index].children.push_back(*below);
  }
  return index;
}

std::string NodeTree::text_of(size_t node) const {
  std::string text = nodes_[node].process.address();
  char separator = '(';
  for (const size_t child : nodes_[node].children) {
    text += separator;
    text += text_of(child);
    separator = ',';
  }
  if (separator == ',') text += ')';
  return text;
}

NodeProcess* NodeTree::find(std::string_view name) {
  if (nodes_.size() == 1 && name == "leaf0") name = "root";
  for (Node& node : nodes_) {
    if (node.name == name) return &node.process;
  }
  return nullptr;
}

std::string NodeTree::names() const {
  std::string text;
  for (const Node& node : nodes_) {
    if (!text.empty()) text += ", ";
    text += node.name;
  }
  return text;
}

}  // namespace sluice::perf
