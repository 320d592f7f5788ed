// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/meeting.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sharp/client/backoff.h"
#include "transport/setup/host.h"

namespace sluice::sharp::libsharp {
namespace {

std::string process_name() {
  return format_text("%s, pid %d", transport::host_name().c_str(), static_cast<int>(::getpid()));
}

std::string rank_name(int rank) {
  return format_text("rank %d (%s)", rank, process_name().c_str());
}

// Rank 0's part: sorts whoever comes into the circle.
class Host {
 public:
  Host(int ranks, transport::Listener& listener, Duration timeout)
      : ranks_(ranks),
        listener_(listener),
        start_(Clock::now()),
        end_(start_ + timeout),
        links_(static_cast<size_t>(ranks)) {}

  OutOfBand::Circle gather() {
    Backoff backoff;
    while (came_ < ranks_ - 1 && Clock::now() < end_) {
      auto connection = listener_.accept();
      // The listener has a time limit of its own; what it means is the same.
      if (!connection && connection.error().kind == ErrorKind::timeout) break;
      if (!connection) {
        refuse("rank 0 cannot accept the others: " + connection.error().message);
        break;
      }
      const bool news = *connection != nullptr;
      if (news) {
        const std::string peer = (*connection)->peer();
        strangers_.push_back(std::make_unique<PeerLink>(*std::move(connection), peer));
      }
      hear_strangers();
      if (!news) backoff.pause();
    }
    if (came_ < ranks_ - 1) {
      refuse(missing_ranks() +
             format_text(" did not come within %.3g s", in_seconds(Clock::now() - start_)));
    }
    return {0, rank_name(0), std::move(links_), std::move(outsiders_), reason_};
  }

 private:
  void hear_strangers() {
    for (auto& stranger : strangers_) {
      stranger->drive();
      if (stranger->hello) {
        greet(std::move(stranger));
      } else if (const std::string why = stranger->trouble + stranger->complaint; !why.empty()) {
        // Whoever has shown a handle of this communicator is one of the ranks.
        ++came_;
        refuse(stranger->name() + " cannot take part: " + why);
        outsiders_.push_back(std::move(stranger));
      }
    }
    std::erase(strangers_, nullptr);
  }

  void greet(std::unique_ptr<PeerLink> link) {
    const OutOfBandHello& hello = *link->hello;
    ++came_;
    end_ = std::min(end_, Clock::now() + std::chrono::milliseconds(hello.time_left_ms));
    const char* complaint = nullptr;
    if (hello.ranks != ranks_) {
      complaint = "counts other ranks than rank 0";
    } else if (hello.rank == 0 || hello.rank >= ranks_) {
      complaint = "has a number that nobody has";
    } else if (links_[hello.rank] != nullptr) {
      complaint = "came twice";
    }
    if (complaint == nullptr) {
      links_[hello.rank] = std::move(link);
      return;
    }
    refuse(link->name() + " " + complaint);
    outsiders_.push_back(std::move(link));
  }

  void refuse(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
  }

  std::string missing_ranks() const {
    std::string text;
    int count = 0;
    for (int rank = 1; rank < ranks_; ++rank) {
      if (links_[static_cast<size_t>(rank)] != nullptr) continue;
      if (++count <= 8) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (count > 8) text += format_text(" and %d more", count - 8);
    return (count == 1 ? "rank " : "ranks ") + text;
  }

  const int ranks_;
  transport::Listener& listener_;
  const TimePoint start_;
  TimePoint end_;
  Links links_;
  Links strangers_;  // have not said who they are
  Links outsiders_;
  int came_ = 0;
  std::string reason_;
};

// What every other rank does.
Result<std::unique_ptr<PeerLink>> reach(transport::Context& context,
                                        const transport::ListenerAddress& zero, Duration timeout) {
  auto connector = transport::Connector::open(context, zero, transport::Purpose::rendezvous);
  if (!connector) return fail(std::move(connector).error());
  const Deadline deadline = Deadline::after(timeout);
  Backoff backoff;
  for (;;) {
    auto connection = (*connector)->progress();
    if (!connection) return fail(std::move(connection).error());
    if (*connection != nullptr) {
      const std::string name = "rank 0 (" + (*connection)->peer() + ")";
      return std::make_unique<PeerLink>(*std::move(connection), name);
    }
    if (deadline.passed()) {
      return fail(ErrorKind::timeout,
                  format_text("no answer from %s within %g s", transport::text_of(zero).c_str(),
                              in_seconds(timeout)));
    }
    backoff.pause();
  }
}

}  // namespace

Result<std::unique_ptr<OutOfBand>> meet(transport::Context& context,
                                        std::span<const transport::ListenerAddress> handles,
                                        int rank, Rendezvous& rendezvous, Duration timeout) {
  const int ranks = static_cast<int>(handles.size());
  if (rank == 0) {
    return std::make_unique<OutOfBand>(context.logger(),
                                       Host(ranks, rendezvous.listener(), timeout).gather());
  }
  const Deadline end = Deadline::after(timeout);
  auto link = reach(context, handles[0], timeout);
  if (!link) {
    return fail(link.error().kind,
                "in-network reduction refused: rank 0 cannot be reached: " + link.error().message);
  }
  OutOfBandHello hello;
  hello.rank = static_cast<uint16_t>(rank);
  hello.ranks = static_cast<uint16_t>(ranks);
  hello.time_left_ms = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(end.left()).count());
  hello.host = process_name();
  (*link)->send(hello);
  OutOfBand::Circle circle;
  circle.rank = rank;
  circle.name = rank_name(rank);
  circle.links.resize(handles.size());
  circle.links[0] = *std::move(link);
  return std::make_unique<OutOfBand>(context.logger(), std::move(circle));
}

}  // namespace sluice::sharp::libsharp
