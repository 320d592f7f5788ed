// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/out_of_band.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sharp/client/backoff.h"

namespace sluice::sharp::libsharp {
namespace {

constexpr auto kFarewellTime = std::chrono::seconds(2);

}  // namespace

OutOfBand::OutOfBand(const Logger& logger, Circle circle)
    : logger_(logger),
      rank_(circle.rank),
      ranks_(static_cast<int>(circle.links.size())),
      name_(std::move(circle.name)),
      links_(std::move(circle.links)),
      outsiders_(std::move(circle.outsiders)) {
  if (!circle.reason.empty()) refuse(circle.reason);
}

OutOfBand::~OutOfBand() {
  close();
}

void OutOfBand::close() {
  closed_ = true;
  for (const auto& link : links_) {
    if (link != nullptr) link->send(Farewell{});
  }
  links_.clear();
  outsiders_.clear();
}

void OutOfBand::set_up(Duration each) {
  set_up_ = true;
  each_ = each;
}

Status OutOfBand::barrier() {
  SLUICE_RETURN_IF_ERROR(gather(0, {}, {}));
  return broadcast({}, 0);
}

Status OutOfBand::broadcast(std::span<std::byte> buffer, int root) {
  SLUICE_RETURN_IF_ERROR(check());
  if (root < 0 || root >= ranks_ || buffer.size() > kMaxOutOfBandBytes) {
    return fail(ErrorKind::invalid_argument,
                format_text("out-of-band broadcast of %zu bytes from rank %d of %d", buffer.size(),
                            root, ranks_));
  }
  const uint32_t number = next_++;
  if (rank_ != 0) {
    if (rank_ == root) {
      links_[0]->send_data(number, buffer);
      return check();
    }
    return receive(0, number, buffer);
  }
  if (root != 0) SLUICE_RETURN_IF_ERROR(receive(root, number, buffer));
  for (int to = 1; to < ranks_; ++to) {
    if (to != root) links_[static_cast<size_t>(to)]->send_data(number, buffer);
  }
  return {};
}

Status OutOfBand::gather(int root, std::span<const std::byte> own, std::span<std::byte> all) {
  SLUICE_RETURN_IF_ERROR(check());
  const size_t most = kMaxOutOfBandBytes / static_cast<size_t>(ranks_);
  if (root < 0 || root >= ranks_ || own.size() > most ||
      (root == rank_ && all.size() != own.size() * static_cast<size_t>(ranks_))) {
    return fail(
        ErrorKind::invalid_argument,
        format_text("out-of-band gather of %zu bytes to rank %d of %d", own.size(), root, ranks_));
  }
  const uint32_t number = next_++;
  if (rank_ == 0) return gather_at_zero(root, number, own, all);
  links_[0]->send_data(number, own);
  if (rank_ != root) return check();
  return receive(0, number, all);
}

Status OutOfBand::gather_at_zero(int root, uint32_t number, std::span<const std::byte> own,
                                 std::span<std::byte> all) {
  std::vector<std::byte> forwarded;
  if (root != 0) {
    forwarded.resize(own.size() * static_cast<size_t>(ranks_));
    all = forwarded;
  }
  if (!own.empty()) std::memcpy(all.data(), own.data(), own.size());
  for (int from = 1; from < ranks_; ++from) {
    const auto block = all.subspan(own.size() * static_cast<size_t>(from), own.size());
    SLUICE_RETURN_IF_ERROR(receive(from, number, block));
  }
  if (root != 0) links_[static_cast<size_t>(root)]->send_data(number, forwarded);
  return {};
}

Status OutOfBand::receive(int from, uint32_t number, std::span<std::byte> into) {
  SLUICE_RETURN_IF_ERROR(check());
  PeerLink& link = *links_[static_cast<size_t>(from)];
  SLUICE_RETURN_IF_ERROR(wait_for_data(link, number));
  const auto data = link.take_data(number);
  if (data.size() != into.size()) {
    refuse(format_text("%s sent %zu bytes in an out-of-band collective where %zu were due",
                       link.name().c_str(), data.size(), into.size()));
    return check();
  }
  if (!data.empty()) std::memcpy(into.data(), data.data(), data.size());
  return {};
}

Status OutOfBand::wait_for_data(PeerLink& link, uint32_t number) {
  const Deadline deadline = set_up_ ? Deadline::after(each_) : deadline_;
  Backoff backoff;
  for (;;) {
    drive();
    if (link.has_data(number)) return {};
    SLUICE_RETURN_IF_ERROR(check());
    if (link.farewell) {
      return fail(ErrorKind::remote, link.name() + " has left its group");
    }
    if (deadline.passed()) {
      refuse(link.name() + " did not answer in time");
      return check();
    }
    backoff.pause();
  }
}

Status OutOfBand::agree(const Status& mine) {
  if (refused_) return check();
  if (!mine) refuse(name_ + ": " + mine.error().message);
  if (rank_ != 0) return await_decision();
  collect_votes();
  tell_decision(reason_.empty());
  if (!reason_.empty()) {
    refused_ = true;
    await_farewells();
  }
  return check();
}

// After a no of its own a rank still waits for rank 0's sentence, which is everybody's.
Status OutOfBand::await_decision() {
  PeerLink& zero = *links_[0];
  if (reason_.empty()) zero.send(Vote{1, ""});
  Backoff backoff;
  while (zero.decisions.empty()) {
    drive();
    if (!zero.decisions.empty()) break;
    if (deadline_.passed()) refuse(zero.name() + " did not decide in time");
    if (zero.farewell) refuse(zero.name() + " left before it decided");
    if (deadline_.passed() || zero.farewell || !zero.trouble.empty()) return check();
    backoff.pause();
  }
  const Decision decision = zero.decisions.front();
  zero.decisions.pop_front();
  // What has gone wrong since a commit is for the next call.
  if (decision.commit != 0) return {};
  reason_ = decision.reason;
  refused_ = true;
  return check();
}

void OutOfBand::collect_votes() {
  Backoff backoff;
  for (int from = 1; from < ranks_ && reason_.empty(); ++from) {
    PeerLink& link = *links_[static_cast<size_t>(from)];
    while (reason_.empty() && link.votes.empty()) {
      drive();
      if (deadline_.passed()) refuse(link.name() + " did not vote in time");
      backoff.pause();
    }
    if (!reason_.empty()) return;
    const Vote vote = std::move(link.votes.front());
    link.votes.pop_front();
    if (vote.yes == 0) refuse(vote.reason);
  }
}

Status OutOfBand::watch() {
  drive();
  return check();
}

void OutOfBand::report(const std::string& sentence) {
  refuse(name_ + ": " + sentence);
}

// Reads from everybody; the first trouble becomes everybody's.
void OutOfBand::drive() {
  for (const auto& link : links_) {
    if (link == nullptr) continue;
    link->drive();
    if (!reason_.empty()) continue;
    if (!link->trouble.empty()) {
      refuse(link->name() + " was lost: " + link->trouble);
    } else if (!link->votes.empty() && link->votes.back().yes == 0) {
      refuse(link->votes.back().reason);
    } else if (!link->decisions.empty() && link->decisions.back().commit == 0) {
      reason_ = link->decisions.back().reason;
    }
  }
}

void OutOfBand::refuse(const std::string& reason) {
  if (!reason_.empty() || closed_) return;
  reason_ = set_up_ ? reason : "in-network reduction refused: " + reason;
  if (rank_ != 0) {
    links_[0]->send(Vote{0, reason});
  } else if (set_up_) {
    tell_decision(false);
  }
}

void OutOfBand::tell_decision(bool commit) {
  if (!commit && !set_up_) SLUICE_WARN(logger_, collective, "%s", reason_.c_str());
  const Decision decision{static_cast<uint8_t>(commit ? 1 : 0), reason_};
  for (const auto& link : links_) {
    if (link != nullptr) link->send(decision);
  }
  for (const auto& link : outsiders_) link->send(decision);
}

// Closing at once could destroy the decision on its way.
void OutOfBand::await_farewells() {
  const auto gone = [](const std::unique_ptr<PeerLink>& link) {
    return link == nullptr || link->farewell || !link->trouble.empty();
  };
  const Deadline deadline = Deadline::after(kFarewellTime);
  Backoff backoff;
  while (!deadline.passed() && !(std::all_of(links_.begin(), links_.end(), gone) &&
                                 std::all_of(outsiders_.begin(), outsiders_.end(), gone))) {
    for (const auto& link : links_) {
      if (link != nullptr) link->drive();
    }
    for (const auto& link : outsiders_) link->drive();
    backoff.pause();
  }
}

Status OutOfBand::check() {
  if (closed_) return fail(ErrorKind::invalid_usage, "the group is being closed");
  if (!reason_.empty()) return fail(set_up_ ? ErrorKind::remote : ErrorKind::refused, reason_);
  return {};
}

}  // namespace sluice::sharp::libsharp
