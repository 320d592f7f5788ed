// SPDX-License-Identifier: Apache-2.0
// The leader and its source of trees: giving a tree up, asking for another, the way back.
#include <algorithm>

#include "sharp/client/recovery/leader.h"

namespace sluice::sharp {
namespace {

constexpr Duration kAnswerOfSource = std::chrono::seconds(10);
constexpr Duration kAnswerWhenRevoked = std::chrono::seconds(1);
constexpr Duration kLongestPatience = std::chrono::seconds(30);

}  // namespace

// Called while steady.
void Leader::tend_source(TimePoint now) {
  if (!hosted_ && revoked_.empty()) {
    revoked_ = source_->revoked();
    if (!revoked_.empty()) {
      request_.avoid.clear();
      ask(now);
      asking_ends_ = now + kAnswerWhenRevoked;
    }
  }
  if (hosted_ && !asking_ && now >= ask_again_ && source_->worth_asking()) ask(now);
  if (!asking_) return;
  auto answer = source_->poll();
  if (answer && *answer) {
    take_offer(**answer, now);
  } else if (!answer || now >= asking_ends_) {
    give_up_asking(now);
  }
}

void Leader::ask(TimePoint now) {
  request_.epoch = last_epoch_ + 1;
  source_->request(request_);
  asking_ = true;
  asking_ends_ = now + kAnswerOfSource;
}

void Leader::take_offer(const TreeOffer& offer, TimePoint now) {
  asking_ = false;
  const bool fits = offer.tree.check() && offer.tree.leaf_of_rank.size() == ranks() &&
                    offer.window >= shape_.window;
  if (!fits) {
    inform(format_text("%s cannot use the tree offered by %s: %s", group_name().c_str(),
                       offer.origin.c_str(),
                       offer.window < shape_.window ? "its window is smaller" : "it does not fit"));
    give_up_asking(now);
    return;
  }
  next_token_ = offer.token;
  phase_ = Phase::trying;
  prepare(offer.tree, now);
}

void Leader::give_up_asking(TimePoint now) {
  asking_ = false;
  if (!revoked_.empty()) {
    leave_tree(std::string(revoked_), now);
    return;
  }
  request_.avoid.clear();  // it may be well again
  patience_ = std::min(patience_ * 2, kLongestPatience);
  ask_again_ = now + patience_;
}

}  // namespace sluice::sharp
