// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/tree_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sharp/client/agreement.h"
#include "sharp/client/client.h"
#include "sharp/client/manager_source.h"
#include "sharp/client/static_tree.h"

namespace sluice::sharp {
namespace {

// "host:port,host:port". Names are looked up.
Result<std::vector<transport::SocketAddress>> addresses_in(const std::string& text) {
  std::vector<transport::SocketAddress> addresses;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    auto address = transport::SocketAddress::parse(text.substr(at, comma - at));
    if (!address) {
      return fail(address.error().kind, "SLUICE_MANAGER: " + address.error().message);
    }
    addresses.push_back(*address);
    at = comma + 1;
  }
  return addresses;
}

// The manager, and the configured trees while no manager answers. What a manager denies is denied.
class ManagedSource final : public TreeSource {
 public:
  ManagedSource(const transport::Context& context, const ManagerSource::Options& options,
                std::vector<TreeSpec> trees)
      : logger_(context.logger()), manager_(context, options) {
    if (!trees.empty()) configured_.emplace(std::move(trees));
  }

  void request(const TreeRequest& request) override {
    request_ = request;
    alone_ = false;
    manager_.request(request);
  }
  Result<std::optional<TreeOffer>> poll() override {
    if (alone_) return configured_->poll();
    auto answer = manager_.poll();
    if (answer || answer.error().kind != ErrorKind::timeout || !configured_) return answer;
    SLUICE_WARN(logger_, collective, "%s; SLUICE_AGG's tree is taken",
                answer.error().message.c_str());
    alone_ = true;
    configured_->request(request_);
    return configured_->poll();
  }
  std::string revoked() override { return alone_ ? configured_->revoked() : manager_.revoked(); }
  bool worth_asking() override {
    const bool manager = manager_.worth_asking();
    return manager || (alone_ && configured_->worth_asking());
  }

 private:
  Logger logger_;
  TreeRequest request_;
  ManagerSource manager_;
  std::optional<StaticTreeSource> configured_;
  bool alone_ = false;  // the last request went to the configuration
};

// A wrong setting: the answer to everything.
class NoSource final : public TreeSource {
 public:
  explicit NoSource(Error error) : error_(std::move(error)) {}
  void request(const TreeRequest&) override {}
  Result<std::optional<TreeOffer>> poll() override { return fail(error_); }
  std::string revoked() override { return {}; }
  bool worth_asking() override { return false; }

 private:
  const Error error_;
};

}  // namespace

std::unique_ptr<TreeSource> make_tree_source(transport::Context& context,
                                             const ClientSettings& settings) {
  if (settings.manager.empty())
    return std::make_unique<StaticTreeSource>(settings.trees, settings.tree_patience);
  auto managers = addresses_in(settings.manager);
  if (!managers) return std::make_unique<NoSource>(std::move(managers).error());
  ManagerSource::Options options;
  options.managers = std::move(*managers);
  // Some time must be left for the configuration's tree.
  options.answer_time = tree_budget(settings.connect_timeout) * 3 / 4;
  return std::make_unique<ManagedSource>(context, options, settings.trees);
}

}  // namespace sluice::sharp
