// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/session.h"

#include <utility>

namespace sluice::sharp::libsharp {
namespace {

// Polls of a blocking wait before libsharp asks for the caller's own progress: there is none.
constexpr int kPolls = 10'000'000;

std::span<std::byte> bytes_at(void* address, size_t size) {
  return {static_cast<std::byte*>(address), size};
}

int as_callback_result(const Status& status) {
  return status ? 0 : -1;
}

// libsharp is C: nothing may be thrown through it.
int on_barrier(void* context) noexcept {
  return as_callback_result(static_cast<OutOfBand*>(context)->barrier());
}

int on_broadcast(void* context, void* buffer, int size, int root) noexcept {
  if (size < 0) return -1;
  auto* out_of_band = static_cast<OutOfBand*>(context);
  return as_callback_result(
      out_of_band->broadcast(bytes_at(buffer, static_cast<size_t>(size)), root));
}

int on_gather(void* context, int root, void* send, void* receive, int size) noexcept {
  if (size < 0) return -1;
  auto* out_of_band = static_cast<OutOfBand*>(context);
  const auto own = static_cast<size_t>(size);
  // Only the root's buffer for the result is touched: the others may have none.
  const size_t all =
      out_of_band->rank() == root ? own * static_cast<size_t>(out_of_band->ranks()) : 0;
  return as_callback_result(out_of_band->gather(root, bytes_at(send, own), bytes_at(receive, all)));
}

}  // namespace

Error call_error(const Library& library, const char* what, int status) {
  return {ErrorKind::remote, 0,
          format_text("SHARP %s failed: %s", what, library.describe(status).c_str())};
}

Session::~Session() {
  close_group();
  if (context_ != nullptr) library_->functions().finalize(context_);
}

Status Session::open_context(const Settings& settings, uint64_t job) {
  const std::string devices = device_list(settings.device);
  sharp_coll_init_spec spec{};
  spec.job_id = job;
  spec.world_rank = out_of_band_->rank();
  spec.world_size = out_of_band_->ranks();
  spec.enable_thread_support = 1;
  spec.config = *library_->functions().default_config;
  spec.config.user_progress_num_polls = kPolls;
  if (!devices.empty()) spec.config.ib_dev_list = devices.c_str();
  spec.oob_colls.barrier = on_barrier;
  spec.oob_colls.bcast = on_broadcast;
  spec.oob_colls.gather = on_gather;
  spec.oob_ctx = out_of_band_.get();
  const int status = library_->functions().init(&spec, &context_);
  if (status < 0) {
    context_ = nullptr;
    return fail(call_error(*library_, "initialization", status));
  }
  return {};
}

Status Session::open_group() {
  sharp_coll_comm_init_spec spec{};
  spec.rank = out_of_band_->rank();
  spec.size = out_of_band_->ranks();
  spec.oob_ctx = out_of_band_.get();
  const int status = library_->functions().comm_init(context_, &spec, &group_);
  if (status < 0) {
    group_ = nullptr;
    return fail(call_error(*library_, "group creation", status));
  }
  return {};
}

void Session::close_group() {
  out_of_band_->close();
  if (group_ != nullptr) library_->functions().comm_destroy(std::exchange(group_, nullptr));
}

Result<Capabilities> Session::capabilities(const Settings& settings) const {
  sharp_coll_caps caps{};
  const int status = library_->functions().caps_query(context_, &caps);
  if (status < 0) return fail(call_error(*library_, "query of capabilities", status));
  Capabilities capabilities;
  if (settings.newer_data_types) capabilities.data_types = caps.support_mask.dtypes;
  capabilities.allgather = settings.allgather && library_->functions().allgather != nullptr;
  capabilities.reduce_scatter =
      settings.reduce_scatter && library_->functions().reduce_scatter != nullptr;
  return capabilities;
}

}  // namespace sluice::sharp::libsharp
