// SPDX-License-Identifier: Apache-2.0
// A fixed set of requests: NCCL gets pointers to them, which stay valid memory until the pool goes.
// Thread rule: guarded by its owner.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace sluice::plugin {

// Request has a member `bool in_use`.
template <typename Request>
class RequestPool {
 public:
  explicit RequestPool(size_t size) : requests_(std::make_unique<Request[]>(size)) {
    free_.reserve(size);
    for (size_t index = size; index-- > 0;) free_.push_back(&requests_[index]);
  }

  // nullptr: all are in use.
  Request* take() {
    if (free_.empty()) return nullptr;
    Request* request = free_.back();
    free_.pop_back();
    request->in_use = true;
    return request;
  }

  void give_back(Request* request) {
    request->in_use = false;
    free_.push_back(request);
  }

 private:
  std::unique_ptr<Request[]> requests_;
  std::vector<Request*> free_;
};

}  // namespace sluice::plugin
