// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/tree_spec.h"

#include <utility>

#include "sharp/wire/membership.h"

namespace sluice::sharp {
namespace {

class TreeParser {
 public:
  explicit TreeParser(std::string_view text) : text_(text) {}

  Result<std::vector<TreeSpec>> list() {
    auto trees = several(1);
    if (!trees) return trees;
    if (at_ < text_.size()) return complain("a ) without its (");
    return trees;
  }

 private:
  Result<std::vector<TreeSpec>> several(size_t depth) {
    std::vector<TreeSpec> trees;
    do {
      auto tree = one(depth);
      if (!tree) return fail(std::move(tree).error());
      trees.push_back(*std::move(tree));
    } while (take(','));
    return trees;
  }

  Result<TreeSpec> one(size_t depth) {
    if (depth > kMaxTreeDepth) {
      return complain(format_text("more than %zu levels of nodes", kMaxTreeDepth));
    }
    const size_t end = text_.find_first_of("(),", skip_blanks());
    const size_t stop = end == std::string_view::npos ? text_.size() : end;
    TreeSpec tree;
    tree.address = text_.substr(at_, stop - at_);
    while (!tree.address.empty() && is_blank(tree.address.back())) tree.address.pop_back();
    if (tree.address.empty()) return complain("a node without an address");
    at_ = stop;
    if (!take('(')) return tree;
    auto below = several(depth + 1);
    if (!below) return fail(std::move(below).error());
    if (!take(')')) return complain("a ( without its )");
    tree.below = *std::move(below);
    return tree;
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  size_t skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_;
  }
  bool take(char c) {
    if (skip_blanks() >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Error> complain(const std::string& what) const {
    return fail(ErrorKind::invalid_usage,
                format_text("SLUICE_AGG has %s at character %zu of \"%.*s\": want host:port,... or "
                            "root:port(leaf:port,leaf:port),...",
                            what.c_str(), at_ + 1, static_cast<int>(text_.size()), text_.data()));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string TreeSpec::text() const {
  std::string text = address;
  for (size_t at = 0; at < below.size(); ++at) {
    text += at == 0 ? '(' : ',';
    text += below[at].text();
  }
  if (!below.empty()) text += ')';
  return text;
}

Result<std::vector<TreeSpec>> parse_trees(std::string_view text) {
  return TreeParser(text).list();
}

Status look_up(TreeSpec& tree) {
  const auto found = transport::SocketAddress::parse(tree.address);
  if (!found) return fail(found.error());
  tree.address = found->text();
  for (TreeSpec& each : tree.below) SLUICE_RETURN_IF_ERROR(look_up(each));
  return {};
}

}  // namespace sluice::sharp
