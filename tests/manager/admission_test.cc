// SPDX-License-Identifier: Apache-2.0
// Who gets a tree, how much of each node, why not, and when it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/manager/admission_fixture.h"

namespace sluice::manager {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using AdmissionTest = AdmissionFixture;

TimePoint at(int seconds) {
  return TimePoint{} + std::chrono::seconds(seconds);
}

// A node for `groups` groups of two members with windows of 1 MiB: 4 MiB each.
FabricDescription small_node(uint32_t groups, uint64_t memory = 1000 * kMiB,
                             uint64_t bandwidth = 0) {
  return one_switch(8, 1, {groups, memory, bandwidth});
}

AdmissionPolicy with_tenant(const char* name, const Amounts& reserved,
                            const Amounts& limit = {UINT32_MAX, UINT64_MAX, UINT64_MAX}) {
  AdmissionPolicy policy;
  policy.tenants.push_back({name, reserved, limit});
  return policy;
}

TEST_F(AdmissionTest, ChargesWhatTheProtocolNeedsAndGivesItBack) {
  use(one_switch(8, 1, {10, 1000 * kMiB, 1'000'000'000}));
  Request request = request_for({0, 1, 2});
  request.latency_bytes = 1024;
  request.bandwidth = 1000;
  const Decision decision = admit(request);
  ASSERT_TRUE(decision.granted());
  EXPECT_EQ(used("l0:1"), (Amounts{1, 5 * kMiB + 3 * 1024, 3000})) << "(children + 2) windows";
  EXPECT_EQ(admission_->find(decision.lease)->window_chunks(), 16u);
  EXPECT_THAT(admission_->leases_on(node("l0:1")), ElementsAre(decision.lease));
  EXPECT_TRUE(admission_->release(decision.lease));
  EXPECT_EQ(used("l0:1"), Amounts{});
  EXPECT_THAT(admission_->leases_on(node("l0:1")), IsEmpty());
  EXPECT_FALSE(admission_->release(decision.lease)) << "ended already";
  EXPECT_EQ(admission_->find(decision.lease), nullptr);
}

TEST_F(AdmissionTest, AnOldNumberNeverHitsANewLease) {
  use(small_node(10));
  const Decision first = admit_for({0, 1});
  admission_->release(first.lease);
  const Decision second = admit_for({0, 1});
  EXPECT_EQ(first.lease.slot, second.lease.slot);
  EXPECT_NE(first.lease, second.lease);
  EXPECT_FALSE(admission_->renew(first.lease, at(1)));
  EXPECT_TRUE(admission_->renew(second.lease, at(1)));
  EXPECT_EQ(LeaseId::of(second.lease.number()), second.lease);
}

TEST_F(AdmissionTest, DeniesWithReasonAndHolders) {
  use(small_node(2));
  Request request = request_for({0, 1}, "red");
  request.job = "alpha";
  ASSERT_TRUE(admit(request).granted());
  request = request_for({2, 3}, "red");
  request.job = "alpha";
  ASSERT_TRUE(admit(request).granted());
  const Decision denied = admit_for({0, 1});
  EXPECT_EQ(denied.denial.reason, Reason::groups);
  EXPECT_EQ(
      admission_->sentence(denied.denial),
      "no tree on rail 0: node l0:1 near l0 has 0 groups left and 1 group are needed; held by "
      "job alpha (tenant red) 2 groups");
  EXPECT_EQ(admission_->lease_count(), 2u) << "a denial leaves nothing behind";
}

TEST_F(AdmissionTest, DeniesForMemory) {
  use(small_node(10, 6 * kMiB));
  ASSERT_TRUE(admit_for({0, 1}).granted());
  const Decision denied = admit_for({0, 1});
  EXPECT_EQ(denied.denial.reason, Reason::memory);
  EXPECT_THAT(admission_->sentence(denied.denial),
              HasSubstr("has 2.0 MiB left and 4.0 MiB are needed; held by job job1 (tenant "
                        "default) 4.0 MiB"));
}

TEST_F(AdmissionTest, AWindowMayBeSmallerThanWanted) {
  use(small_node(10, 6 * kMiB));
  ASSERT_TRUE(admit_for({0, 1}).granted());
  Request request = request_for({0, 1});
  request.least_window_bytes = 64 << 10;
  const Decision decision = admit(request);
  ASSERT_TRUE(decision.granted());
  EXPECT_EQ(admission_->find(decision.lease)->window_bytes, 512u << 10) << "half of it fits";
  EXPECT_EQ(used("l0:1").memory, 6 * kMiB);
  request = request_for({0, 1});
  request.least_window_bytes = 64 << 10;
  EXPECT_EQ(admit(request).denial.reason, Reason::memory) << "not even the least";
}

TEST_F(AdmissionTest, DeniesForBandwidth) {
  use(small_node(10, 1000 * kMiB, 1000));
  Request request = request_for({0, 1});
  request.bandwidth = 400;
  ASSERT_TRUE(admit(request).granted());
  request = request_for({0, 1});
  request.bandwidth = 400;
  EXPECT_EQ(admit(request).denial.reason, Reason::bandwidth);
  EXPECT_TRUE(admit_for({0, 1}).granted()) << "who wants none in particular gets in";
}

TEST_F(AdmissionTest, DeniesWithoutNodes) {
  use(small_node(10));
  fabric_.set_state(node("l0:1"), NodeState::draining);
  const Decision denied = admit_for({0, 1});
  EXPECT_EQ(denied.denial.reason, Reason::no_nodes);
  EXPECT_THAT(admission_->sentence(denied.denial), HasSubstr("no aggregation node is up near l0"));
  fabric_.set_state(node("l0:1"), NodeState::up);
  Request request = request_for({0, 1});
  request.avoid = {node("l0:1")};
  EXPECT_EQ(admit(request).denial.reason, Reason::no_nodes) << "the only one is to be avoided";
}

TEST_F(AdmissionTest, RefusesNonsense) {
  use(small_node(10));
  const auto refused = [&](const auto& change) {
    Request request = request_for({0, 1});
    change(request);
    return admit(request).denial.reason == Reason::bad_request;
  };
  EXPECT_TRUE(refused([](Request& request) { request.members.clear(); }));
  EXPECT_TRUE(refused([](Request& request) { request.members.assign(5000, HostId{0}); }));
  EXPECT_TRUE(refused([](Request& request) { request.members[0] = HostId{4711}; }));
  EXPECT_TRUE(refused([](Request& request) { request.members[0] = HostId{}; }));
  EXPECT_TRUE(refused([](Request& request) { request.rails.clear(); }));
  EXPECT_TRUE(refused([](Request& request) { request.rails = {16}; }));
  EXPECT_TRUE(refused([](Request& request) { request.rails = {0, 0}; }));
  EXPECT_TRUE(refused([](Request& request) { request.priority = kPriorities; }));
  EXPECT_TRUE(refused([](Request& request) { request.tenant = TenantId{99}; }));
  EXPECT_TRUE(refused([](Request& request) { request.chunk_bytes = 0; }));
  EXPECT_TRUE(refused([](Request& request) { request.chunk_bytes = 1 << 30; }));
  EXPECT_TRUE(refused([](Request& request) { request.window_bytes = 1; }));
  EXPECT_TRUE(refused([](Request& request) { request.window_bytes = UINT64_MAX; }));
  EXPECT_TRUE(refused([](Request& request) { request.least_window_bytes = UINT64_MAX; }));
  EXPECT_TRUE(refused([](Request& request) { request.latency_bytes = UINT64_MAX; }));
  EXPECT_TRUE(refused([](Request& request) { request.bandwidth = UINT64_MAX; }));
  EXPECT_TRUE(refused([](Request& request) { request.avoid = {NodeId{77}}; }));
  EXPECT_FALSE(refused([](Request&) {}));
}

TEST_F(AdmissionTest, TheSameGroupGetsTheSameAnswer) {
  use(small_node(10));
  const Request request = request_for({0, 1});
  const Decision first = admit(request, at(0));
  const Decision again = admit(request, at(50));
  EXPECT_EQ(first.lease, again.lease);
  EXPECT_EQ(used("l0:1").groups, 1u);
  EXPECT_THAT(admission_->expire(at(100)), IsEmpty()) << "asking again has renewed it";
  Request other = request;
  other.job = "somebody else's";
  EXPECT_EQ(admit(other, at(60)).denial.reason, Reason::duplicate_group);
}

TEST_F(AdmissionTest, ReservationsAreKeptFree) {
  use(small_node(3), with_tenant("blue", {2, 0, 0}));
  ASSERT_TRUE(admit_for({0, 1}, "red").granted());
  const Decision denied = admit_for({0, 1}, "red");
  EXPECT_EQ(denied.denial.reason, Reason::reserved);
  EXPECT_THAT(admission_->sentence(denied.denial),
              HasSubstr("is reserved for other tenants than red"));
  ASSERT_TRUE(admit_for({0, 1}, "blue").granted());
  EXPECT_FALSE(admit_for({0, 1}, "red").granted()) << "one is still kept";
  const Decision second = admit_for({0, 1}, "blue");
  ASSERT_TRUE(second.granted());
  EXPECT_EQ(admit_for({0, 1}, "blue").denial.reason, Reason::groups);
  admission_->release(second.lease);
  EXPECT_FALSE(admit_for({0, 1}, "red").granted()) << "it is kept again";
  EXPECT_TRUE(admit_for({0, 1}, "blue").granted());
}

TEST_F(AdmissionTest, ATenantMayHaveMoreThanItsReservation) {
  use(small_node(3), with_tenant("blue", {1, 0, 0}));
  for (int group = 0; group < 3; ++group) EXPECT_TRUE(admit_for({0, 1}, "blue").granted());
}

TEST_F(AdmissionTest, LimitsHoldOverAllNodes) {
  use(leaf_spine(2, 1, 4), with_tenant("red", {}, {4, UINT64_MAX, UINT64_MAX}));
  ASSERT_TRUE(admit_for({0, 1, 4, 5}, "red").granted()) << "three nodes";
  const Decision denied = admit_for({0, 1, 4, 5}, "red");
  EXPECT_EQ(denied.denial.reason, Reason::tenant_limit);
  EXPECT_THAT(admission_->sentence(denied.denial), HasSubstr("tenant red may have 1 groups"));
  EXPECT_TRUE(admit_for({0, 1}, "red").granted()) << "one node";
  EXPECT_TRUE(admit_for({0, 1, 4, 5}, "blue").granted());
}

TEST_F(AdmissionTest, ExclusiveNodes) {
  use(one_switch(8, 2));
  const Decision shared = admit_for({0, 1});
  Request alone = request_for({2, 3});
  alone.exclusive = true;
  const Decision exclusive = admit(alone);
  EXPECT_EQ(tree_of(exclusive), "l0:2(0 1)") << "the one that nobody uses";
  EXPECT_EQ(place({4, 5}), "l0(0 1)") << "and nobody else gets in there";
  Request another = request_for({6, 7});
  another.exclusive = true;
  EXPECT_EQ(admit(another).denial.reason, Reason::exclusive);
  admission_->release(exclusive.lease);
  EXPECT_EQ(tree_of(admit(another)), "l0:2(0 1)");
  EXPECT_TRUE(shared.granted());
}

TEST_F(AdmissionTest, ExclusiveHolderIsNamed) {
  use(one_switch(8, 1));
  Request alone = request_for({2, 3});
  alone.exclusive = true;
  ASSERT_TRUE(admit(alone).granted());
  const Decision denied = admit_for({0, 1});
  EXPECT_EQ(denied.denial.reason, Reason::exclusive);
  EXPECT_THAT(admission_->sentence(denied.denial), HasSubstr("held by job job1"));
}

TEST_F(AdmissionTest, PriorityTakesTreesFromTheLeastImportant) {
  use(small_node(2));
  Request first = request_for({0, 1});
  first.priority = 1;
  const Decision low = admit(first);
  const Decision lowest = admit_for({2, 3});
  Request urgent = request_for({4, 5});
  urgent.priority = 2;
  const Decision decision = admit(urgent);
  ASSERT_TRUE(decision.granted());
  EXPECT_THAT(decision.preempted, ElementsAre(lowest.lease));
  EXPECT_EQ(tree_of(lowest.lease), "no trees") << "but its lease goes on: it falls back";
  EXPECT_EQ(tree_of(low.lease), "l0(0 1)");
  Request equal = request_for({6, 7});
  equal.priority = 1;
  const Decision denied = admit(equal);
  EXPECT_EQ(denied.denial.reason, Reason::groups) << "nobody is less important any more";
  EXPECT_THAT(denied.preempted, IsEmpty());
  admission_->release(decision.lease);
  EXPECT_EQ(tree_of(admission_->reform(lowest.lease, {}, at(1))), "l0(0 1)");
}

TEST_F(AdmissionTest, PreemptionTakesNoMoreThanNeeded) {
  use(leaf_spine(2, 1, 4, {2, 1000 * kMiB, 0}));
  std::vector<LeaseId> low;
  for (int job = 0; job < 2; ++job) low.push_back(admit_for({0, 1, 4, 5}).lease);
  Request urgent = request_for({0, 1, 4, 5});
  urgent.priority = 7;
  const Decision decision = admit(urgent);
  ASSERT_TRUE(decision.granted());
  EXPECT_THAT(decision.preempted, ElementsAre(low[1])) << "the younger; its three nodes suffice";
  EXPECT_EQ(tree_of(decision), "s0(l0(0 1) l1(2 3))");
}

TEST_F(AdmissionTest, WhatIsReservedIsNotPreempted) {
  use(small_node(1), with_tenant("blue", {1, 0, 0}));
  ASSERT_TRUE(admit_for({0, 1}, "blue").granted());
  Request urgent = request_for({4, 5}, "red");
  urgent.priority = 7;
  EXPECT_FALSE(admit(urgent).granted());
}

TEST_F(AdmissionTest, ExclusiveMayPreemptAndBePreempted) {
  use(small_node(5));
  const Decision low = admit_for({0, 1});
  Request alone = request_for({2, 3});
  alone.exclusive = true;
  alone.priority = 1;
  const Decision exclusive = admit(alone);
  ASSERT_TRUE(exclusive.granted());
  EXPECT_THAT(exclusive.preempted, ElementsAre(low.lease));
  Request urgent = request_for({2, 3});
  urgent.priority = 2;
  EXPECT_THAT(admit(urgent).preempted, ElementsAre(exclusive.lease));
}

TEST_F(AdmissionTest, PreemptionCanBeForbidden) {
  AdmissionPolicy policy;
  policy.preemption = false;
  use(small_node(1), policy);
  ASSERT_TRUE(admit_for({0, 1}).granted());
  Request urgent = request_for({4, 5});
  urgent.priority = 7;
  EXPECT_EQ(admit(urgent).denial.reason, Reason::groups);
}

TEST_F(AdmissionTest, LeasesExpireUnlessRenewed) {
  AdmissionPolicy policy;
  policy.lease_duration = std::chrono::seconds(10);
  use(small_node(10), policy);
  const Decision first = admit(request_for({0, 1}), at(0));
  const Decision second = admit(request_for({0, 1}), at(1));
  const Decision third = admit(request_for({0, 1}), at(2));
  EXPECT_TRUE(admission_->renew(first.lease, at(9)));
  EXPECT_THAT(admission_->expire(at(10)), IsEmpty());
  EXPECT_THAT(admission_->expire(at(12)), ElementsAre(second.lease, third.lease));
  EXPECT_EQ(used("l0:1").groups, 1u);
  EXPECT_THAT(admission_->expire(at(19)), ElementsAre(first.lease));
  EXPECT_EQ(used("l0:1"), Amounts{});
}

TEST_F(AdmissionTest, DrainingListsWhatIsToBeReformed) {
  use(leaf_spine(2, 2, 4));
  const Decision decision = admit_for({0, 1, 4, 5});
  EXPECT_EQ(tree_of(decision), "s0(l0(0 1) l1(2 3))");
  fabric_.set_state(node("s0:1"), NodeState::draining);
  EXPECT_THAT(admission_->leases_on(node("s0:1")), ElementsAre(decision.lease));
  const uint32_t epoch = admission_->find(decision.lease)->epoch;
  const Decision reformed = admission_->reform(decision.lease, {}, at(1));
  EXPECT_EQ(reformed.lease, decision.lease);
  EXPECT_EQ(admission_->find(decision.lease)->epoch, epoch + 1);
  EXPECT_EQ(tree_of(reformed), "s1(l0(0 1) l1(2 3))");
  EXPECT_EQ(used("s0:1"), Amounts{});
}

TEST_F(AdmissionTest, ReformingAvoidsWhatItIsTold) {
  use(leaf_spine(2, 2, 4));
  const Decision decision = admit_for({0, 1, 4, 5});
  const NodeId dead[] = {node("s0:1"), node("l0:1")};
  EXPECT_EQ(tree_of(admission_->reform(decision.lease, dead, at(1))), "s1(0 1 l1(2 3))");
  const NodeId all[] = {node("s0:1"), node("l0:1"), node("s1:1"), node("l1:1")};
  EXPECT_EQ(admission_->reform(decision.lease, all, at(2)).denial.reason, Reason::no_nodes);
  EXPECT_EQ(tree_of(decision.lease), "no trees");
  EXPECT_EQ(used("l1:1"), Amounts{}) << "it holds nothing meanwhile";
  EXPECT_EQ(admission_->find(decision.lease)->epoch, 3u)
      << "late packets of any try are told apart";
  EXPECT_EQ(tree_of(admission_->reform(decision.lease, {}, at(3))), "s0(l0(0 1) l1(2 3))");
  EXPECT_EQ(admission_->reform(LeaseId{7, 7}, {}, at(3)).denial.reason, Reason::unknown_lease);
}

TEST_F(AdmissionTest, SeveralGroupsOfOneJob) {
  use(small_node(10));
  Request first = request_for({0, 1});
  Request second = request_for({0, 1, 2});
  second.job = first.job;
  const Decision one = admit(first);
  const Decision two = admit(second);
  EXPECT_NE(one.lease, two.lease);
  EXPECT_EQ(admission_->find(first.group)->id, one.lease);
  EXPECT_EQ(admission_->find(second.group)->id, two.lease);
}

TEST_F(AdmissionTest, ReasonsHaveNames) {
  for (unsigned reason = 0; reason <= static_cast<unsigned>(Reason::unknown_lease); ++reason) {
    EXPECT_STRNE(name_of(static_cast<Reason>(reason)), "unknown");
  }
  EXPECT_STREQ(name_of(static_cast<Reason>(999)), "unknown");
}

}  // namespace
}  // namespace sluice::manager
