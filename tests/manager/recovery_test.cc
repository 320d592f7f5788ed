// SPDX-License-Identifier: Apache-2.0
// A manager that comes back: from a snapshot, from what nodes report, or from both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/manager/admission_fixture.h"

namespace sluice::manager {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TimePoint second(int seconds) {
  return TimePoint{} + std::chrono::seconds(seconds);
}

class Recovery : public AdmissionFixture {
 protected:
  // A new process: knows the snapshot; nodes register again if `nodes`.
  void restart(const FabricDescription& description, bool nodes, TimePoint now,
               AdmissionPolicy policy = {}) {
    const Snapshot snapshot = admission_->save();
    FabricDescription topology = description;
    if (!nodes) topology.nodes.clear();
    use(topology, std::move(policy));
    const Status status = admission_->restore(snapshot, fabric_, now);
    ASSERT_TRUE(status) << status.error().message;
  }
  static RunningGroup running(const Lease& lease) {
    return {lease.request.group, lease.epoch, lease.request.job, "default", 4 * kMiB};
  }
};

TEST_F(Recovery, ASnapshotBringsLeasesBack) {
  const FabricDescription fabric = leaf_spine(2, 2, 4);
  use(fabric);
  Request request = request_for({0, 1, 4, 5}, "red");
  request.priority = 3;
  request.bandwidth = 100;
  const Decision decision = admit(request);
  const Decision gone = admit_for({0, 1});
  admission_->release(gone.lease);
  fabric_.set_state(node("s1:1"), NodeState::draining);
  const Lease before = *admission_->find(decision.lease);
  const Amounts used_before = used("s0:1");

  for (const bool nodes : {true, false}) {
    restart(fabric, nodes, second(0));
    const Lease* after = admission_->find(decision.lease);
    ASSERT_NE(after, nullptr) << "under its number";
    EXPECT_EQ(after->request.job, before.request.job);
    EXPECT_EQ(admission_->tenant_name(after->request.tenant), "red");
    EXPECT_EQ(after->request.priority, 3);
    EXPECT_EQ(after->epoch, before.epoch);
    EXPECT_EQ(after->window_bytes, before.window_bytes);
    EXPECT_EQ(used("s0:1"), used_before);
    EXPECT_EQ(fabric_.node(node("s1:1")).state, NodeState::draining);
    for (const NodeDescription& each : fabric.nodes) ASSERT_TRUE(fabric_.register_node(each));
    EXPECT_EQ(tree_of(decision.lease), "s0(l0(0 1) l1(2 3))");
    EXPECT_EQ(fabric_.node(node("s1:1")).state, NodeState::draining) << "still";
    EXPECT_EQ(admit(request).lease, decision.lease) << "its job may ask again";
    EXPECT_EQ(admission_->find(gone.lease), nullptr);
  }
  const Decision fresh = admit_for({0, 1});
  EXPECT_NE(fresh.lease.generation, gone.lease.generation) << "numbers are not given twice";
  admission_->release(decision.lease);
  EXPECT_EQ(used("s0:1"), Amounts{});
}

TEST_F(Recovery, WhatNobodyReportsEndsAfterTheGrace) {
  const FabricDescription fabric = one_switch(8);
  use(fabric);
  const Decision reported = admit_for({0, 1});
  const Decision renewed = admit_for({2, 3});
  const Decision silent = admit_for({4, 5});
  AdmissionPolicy policy;
  policy.recovery_grace = std::chrono::seconds(20);
  restart(fabric, true, second(100), policy);
  EXPECT_THAT(admission_->expire(second(119)), IsEmpty());
  const RunningGroup group = running(*admission_->find(reported.lease));
  EXPECT_THAT(admission_->report(node("l0:1"), {&group, 1}, second(119)).stale, IsEmpty());
  EXPECT_TRUE(admission_->renew(renewed.lease, second(119)));
  EXPECT_THAT(admission_->expire(second(121)), ElementsAre(silent.lease));
  EXPECT_EQ(used("l0:1").groups, 2u);
}

TEST_F(Recovery, UnknownGroupsAreAdopted) {
  use(leaf_spine(2, 1, 4));
  RunningGroup group;
  group.group[3] = 9;
  group.epoch = 5;
  group.job = "orphan";
  group.tenant = "red";
  group.memory = 10 * kMiB;
  const ReportOutcome outcome = admission_->report(node("l0:1"), {&group, 1}, second(0));
  ASSERT_EQ(outcome.adopted.size(), 1u);
  EXPECT_THAT(admission_->report(node("s0:1"), {&group, 1}, second(1)).adopted, IsEmpty());
  EXPECT_EQ(used("l0:1"), (Amounts{1, 10 * kMiB, 0}));
  EXPECT_EQ(used("s0:1"), (Amounts{1, 10 * kMiB, 0}));
  EXPECT_THAT(admission_->leases_on(node("s0:1")), ElementsAre(outcome.adopted[0]));
  EXPECT_THAT(admission_->expire(second(60)), IsEmpty()) << "reports renew";

  // A snapshot keeps it, its job may ask for it by name.
  restart(leaf_spine(2, 1, 4), true, second(60));
  EXPECT_EQ(used("s0:1"), (Amounts{1, 10 * kMiB, 0}));
  EXPECT_TRUE(admission_->find(outcome.adopted[0])->adopted);
  Request request = request_for({0, 1, 4, 5}, "red");
  request.group = group.group;
  request.job = "orphan";
  const Decision decision = admit(request, second(61));
  EXPECT_EQ(decision.lease, outcome.adopted[0]);
  EXPECT_EQ(tree_of(decision), "s0(l0(0 1) l1(2 3))");
  EXPECT_EQ(admission_->find(decision.lease)->epoch, 6u)
      << "the old tree's packets are foreign now";
  EXPECT_THAT(admission_->report(node("l0:1"), {&group, 1}, second(62)).stale,
              ElementsAre(group.group));
}

TEST_F(Recovery, OldEpochsAndLostTreesAreEnded) {
  use(leaf_spine(2, 2, 4));
  const Decision decision = admit_for({0, 1, 4, 5});
  const RunningGroup before = running(*admission_->find(decision.lease));
  const NodeId avoid[] = {node("s0:1")};
  ASSERT_TRUE(admission_->reform(decision.lease, avoid, second(1)).granted());
  EXPECT_THAT(admission_->report(node("s0:1"), {&before, 1}, second(2)).stale,
              ElementsAre(before.group))
      << "the old epoch";
  const RunningGroup now = running(*admission_->find(decision.lease));
  EXPECT_THAT(admission_->report(node("s0:1"), {&now, 1}, second(2)).stale,
              ElementsAre(before.group))
      << "the epoch is right, but the node is none of its tree";
  EXPECT_THAT(admission_->report(node("s1:1"), {&now, 1}, second(2)).stale, IsEmpty());
}

TEST_F(Recovery, ANewerEpochThanTheSnapshotIsBelieved) {
  use(one_switch(8, 2));
  const Decision decision = admit_for({0, 1});
  RunningGroup newer = running(*admission_->find(decision.lease));
  newer.epoch += 2;
  EXPECT_THAT(admission_->report(node("l0:2"), {&newer, 1}, second(1)).stale, IsEmpty());
  EXPECT_EQ(used("l0:1"), Amounts{});
  EXPECT_EQ(used("l0:2").groups, 1u);
  EXPECT_EQ(admission_->find(decision.lease)->epoch, newer.epoch);
}

TEST_F(Recovery, NothingAbsurdGetsIn) {
  const FabricDescription fabric = leaf_spine(2, 1, 4);
  use(fabric);
  ASSERT_TRUE(admit_for({0, 1, 4, 5}).granted());
  const Snapshot good = admission_->save();
  const auto refused = [&](const auto& damage) -> std::string {
    Snapshot bad = good;
    damage(bad.leases[0]);
    use(fabric);
    const Status status = admission_->restore(bad, fabric_, second(0));
    if (status) return "";
    EXPECT_EQ(admission_->lease_count(), 0u);
    EXPECT_EQ(used("s0:1"), Amounts{});
    return status.error().message;
  };
  EXPECT_EQ(refused([](SavedLease&) {}), "");
  EXPECT_THAT(refused([](SavedLease& lease) { lease.rails.clear(); }), HasSubstr("rails"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.priority = 99; }), HasSubstr("priority"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.chunk_bytes = 0; }), HasSubstr("chunk"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.members.clear(); }), HasSubstr("members"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.members[0] = ""; }), HasSubstr("name"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.lease = UINT64_MAX; }), HasSubstr("number"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.trees[0].nodes.clear(); }),
              HasSubstr("without nodes"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.trees[0].nodes[1].parent = 7; }),
              HasSubstr("parent's child"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.trees[0].nodes[1].address = ""; }),
              HasSubstr("address"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.trees[0].nodes[1].children[0].index = 70; }),
              HasSubstr("rank"));
  EXPECT_THAT(refused([](SavedLease& lease) { lease.trees[0].nodes[1].children.pop_back(); }),
              HasSubstr("in no tree"));
}

TEST_F(Recovery, OneBadLeaseDoesNotCostTheOthers) {
  const FabricDescription fabric = one_switch(8);
  use(fabric);
  admit_for({0, 1});
  const Decision good = admit_for({2, 3});
  Snapshot snapshot = admission_->save();
  snapshot.leases[0].chunk_bytes = 0;
  use(fabric);
  EXPECT_FALSE(admission_->restore(snapshot, fabric_, second(0)));
  EXPECT_EQ(tree_of(good.lease), "l0(0 1)");
}

}  // namespace
}  // namespace sluice::manager
