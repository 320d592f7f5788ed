// SPDX-License-Identifier: Apache-2.0
// An admission over a fabric, and requests in a line.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sharp/manager/core/admission.h"
#include "tests/manager/fabrics.h"
#include "tests/manager/trees.h"

namespace sluice::manager::testing {

class AdmissionFixture : public ::testing::Test {
 protected:
  void use(const FabricDescription& description, AdmissionPolicy policy = {}) {
    fabric_ = build(description);
    admission_ = std::make_unique<Admission>(fabric_, std::move(policy));
  }
  Request request_of(std::vector<HostId> members, const char* tenant = "") {
    Request request;
    ++groups_;
    request.group[0] = static_cast<uint8_t>(groups_);
    request.group[1] = static_cast<uint8_t>(groups_ >> 8);
    request.job = format_text("job%u", unsigned{groups_});
    request.tenant = admission_->tenant(tenant);
    request.members = std::move(members);
    request.window_bytes = kMiB;
    request.latency_bytes = 0;
    return request;
  }
  Request request_for(const std::vector<unsigned>& numbers, const char* tenant = "") {
    return request_of(hosts(fabric_, numbers), tenant);
  }
  Decision admit(const Request& request, TimePoint now = {}) {
    return admission_->admit(request, now);
  }
  Decision admit_for(const std::vector<unsigned>& numbers, const char* tenant = "") {
    return admit(request_for(numbers, tenant));
  }
  // The tree as text, or why there is none.
  std::string tree_of(const Decision& decision, size_t rail = 0) {
    if (!decision.granted()) return admission_->sentence(decision.denial);
    return tree_of(decision.lease, rail);
  }
  std::string tree_of(LeaseId id, size_t rail = 0) {
    const Lease* lease = admission_->find(id);
    if (lease == nullptr) return "no lease";
    if (!lease->has_trees()) return "no trees";
    for (const Tree& tree : lease->trees) {
      EXPECT_EQ(what_is_wrong(fabric_, tree, lease->request.members.size()), "")
          << text_of(fabric_, tree);
    }
    return text_of(fabric_, lease->trees[rail]);
  }
  std::string place(const std::vector<unsigned>& numbers) { return tree_of(admit_for(numbers)); }
  NodeId node(const char* address) { return fabric_.find_node(address); }
  Amounts used(const char* address) { return admission_->account(node(address)).used; }

  Fabric fabric_;
  std::unique_ptr<Admission> admission_;
  uint16_t groups_ = 0;
};

}  // namespace sluice::manager::testing
