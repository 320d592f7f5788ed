// SPDX-License-Identifier: Apache-2.0
// The part of every rank but 0 in the agreement: say hello, follow the plan, vote, await the
// decision.
//
// A rank that has voted yes is bound: it refuses only if the decision says so, if rank 0 is lost,
// or at the hard limit. Thread rule: agree() blocks its caller, at most until hard_limit().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharp/client/agreement.h"

namespace sluice::sharp {

class Participant final : private transport::ConnectionHandler {
 public:
  Participant(transport::Context& context, const ClientSettings& settings, int rank, int ranks);

  Result<Agreement> agree(const transport::ListenerAddress& coordinator);

 private:
  Status reach(const transport::ListenerAddress& coordinator);
  Status say_hello();
  Status follow_plan();
  Status vote();
  Result<Agreement> conclude();

  Status on_message(std::span<const std::byte> message) override;
  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  transport::Context& context_;
  const ClientSettings& settings_;
  const uint16_t rank_;
  const uint16_t ranks_;
  const Deadline meeting_end_;
  const Deadline hard_limit_;
  std::unique_ptr<transport::Connection> connection_;
  std::optional<Plan> plan_;
  std::optional<Decision> decision_;
  std::unique_ptr<NodeJoiner> joiner_;
  std::vector<Message> early_;  // came after the decision: the council's
  bool voted_ = false;
};

}  // namespace sluice::sharp
