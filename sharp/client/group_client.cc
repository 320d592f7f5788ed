// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/group_client.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sharp/client/posting.h"

namespace sluice::sharp {
namespace {

std::string describe(const Plan& plan, transport::Kind kind) {
  return format_text("on: %u ranks, %s by %s, chunk %g KiB, window %u%s",
                     unsigned{plan.shape.members}, plan.tree.c_str(), transport::name_of(kind),
                     plan.shape.chunk_bytes / 1024.0, plan.shape.window,
                     plan.shape.precision == Precision::exact ? ", exact" : "");
}

// What is agreed once for all epochs.
bool same_geometry(GroupShape a, const GroupShape& b) {
  a.epoch = b.epoch;
  return a == b;
}

}  // namespace

GroupClient::GroupClient(const Logger& logger, const Plan& plan, int rank,
                         NodeJoiner::Session session)
    : logger_(logger),
      rank_(static_cast<uint16_t>(rank)),
      process_(::getpid()),
      description_(describe(plan, session.connection->kind())),
      shape_(plan.shape),
      link_(std::make_unique<TreeLink>(plan.shape, std::move(session), *this)),
      streams_{ChunkStream(TrafficClass::latency, rank_, shape_.latency_window, plan.fallback != 0),
               ChunkStream(TrafficClass::streaming, rank_, shape_.window, plan.fallback != 0)} {
  for (uint32_t index = 0; index < operations_.size(); ++index) {
    operations_[index].client = this;
    operations_[index].index = index;
  }
}

GroupClient::~GroupClient() {
  if (recovery_ != nullptr) recovery_->close();
  if (::getpid() == process_ && link_ != nullptr) link_->leave();
  link_.reset();
  recovery_.reset();
}

void GroupClient::set_recovery(std::unique_ptr<TroubleListener> listener) {
  const std::lock_guard lock(mutex_);
  recovery_ = std::move(listener);
  listener_ = recovery_.get();
}

Result<std::unique_ptr<transport::MemoryRegion>> GroupClient::register_memory(
    void* data, size_t size, transport::MemoryType type) {
  const std::lock_guard lock(mutex_);
  if (link_ != nullptr) return link_->connection().register_memory(data, size, type);
  // Host memory needs no key: what the transports of today do.
  if (type != transport::MemoryType::host) {
    return fail(ErrorKind::invalid_argument, "only host memory can be registered");
  }
  return std::make_unique<transport::MemoryRegion>(static_cast<std::byte*>(data), size, type);
}

Operation* GroupClient::free_operation() {
  for (size_t looked = 0; looked < operations_.size(); ++looked) {
    Operation& operation = operations_[next_free_];
    next_free_ = (next_free_ + 1) % kMaxResultWindows;
    if (!operation.in_use) return &operation;
  }
  return nullptr;
}

template <typename Arguments>
Result<Operation*> GroupClient::post(const Arguments& arguments) {
  const std::lock_guard lock(mutex_);
  if (!status_) return fail(status_.error());
  Operation* operation = free_operation();
  if (operation == nullptr) return operation;
  SLUICE_RETURN_IF_ERROR(prepare(*operation, arguments, shape_, rank_));
  operation->in_use = true;
  operation->number = next_number_++;
  if (operation->cutting.chunks() == 0) return operation;
  stream(operation->traffic_class).post(*operation);
  if (const Status posted = pump(operation->traffic_class); !posted) {
    operation->in_use = false;
    return fail(posted.error());
  }
  return operation;
}

Result<Operation*> GroupClient::allreduce(const AllreduceArguments& arguments) {
  return post(arguments);
}

Result<Operation*> GroupClient::allgather(const AllgatherArguments& arguments) {
  return post(arguments);
}

Result<Operation*> GroupClient::reduce_scatter(const ReduceScatterArguments& arguments) {
  return post(arguments);
}

Result<bool> GroupClient::test(Operation& operation, size_t* bytes) {
  const std::lock_guard lock(mutex_);
  if (!operation.done()) {
    if (!status_) return fail(status_.error());
    if (const Status progressed = progress(); !progressed && !operation.done()) {
      return fail(progressed.error());
    }
    if (!operation.done()) return false;
  }
  if (bytes != nullptr) *bytes = operation.result_bytes;
  stream(operation.traffic_class).retire(operation);
  operation.in_use = false;
  return true;
}

Status GroupClient::progress() {
  if (link_ == nullptr) return status_;
  if (const Status status = link_->progress(); !status) return on_broken(status.error());
  SLUICE_RETURN_IF_ERROR(pump(TrafficClass::latency));
  return pump(TrafficClass::streaming);
}

Status GroupClient::pump(TrafficClass traffic_class) {
  if (link_ == nullptr) return status_;
  Status status = stream(traffic_class).pump(*link_);
  if (status) status = link_->flush();
  if (status) return {};
  return on_broken({status.error().kind, status.error().system_errno,
                    "node " + link_->node() + ": " + status.error().message});
}

// The first error decides, and is logged once: here, or by whoever mends it.
Status GroupClient::on_broken(const Error& error) {
  if (listener_ == nullptr) {
    end({error.kind, error.system_errno, "in-network reduction: " + error.message});
    return status_;
  }
  const uint16_t culprit = link_->culprit();
  drop_link();
  listener_->on_trouble(shape_.epoch, culprit, error.message);
  return {};
}

void GroupClient::drop_link() {
  link_.reset();
  for (Operation& operation : operations_) {
    operation.unconfirmed = 0;
    operation.announced = false;
  }
}

void GroupClient::end(const Error& error) {
  if (!status_) return;
  status_ = fail(error);
  drop_link();
  SLUICE_WARN(logger_, collective, "%s", error.message.c_str());
}

Standing GroupClient::cut_off() {
  const std::lock_guard lock(mutex_);
  if (link_ != nullptr) link_->leave();
  drop_link();
  Standing standing;
  for (size_t at = 0; at < streams_.size(); ++at) {
    standing.classes[at] = streams_[at].standing();
  }
  return standing;
}

Status GroupClient::resume(NodeJoiner::Session session, const Resume& resume,
                           const GroupShape& shape) {
  const std::lock_guard lock(mutex_);
  if (!status_) return status_;
  if (link_ != nullptr || !same_geometry(shape_, shape)) {
    return fail(ErrorKind::remote, "rank 0 resumes a group that is not this one");
  }
  for (size_t at = 0; at < streams_.size(); ++at) {
    SLUICE_RETURN_IF_ERROR(streams_[at].resume(resume.classes[at]));
  }
  shape_ = shape;
  link_ = std::make_unique<TreeLink>(shape, std::move(session), *this);
  return progress();
}

bool GroupClient::settle() {
  const std::lock_guard lock(mutex_);
  // A link that breaks here is reported by on_trouble().
  static_cast<void>(progress());
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const ChunkStream& each) { return each.settled(); });
}

void GroupClient::break_off(const Error& error) {
  const std::lock_guard lock(mutex_);
  end(error);
}

Status GroupClient::on_result(const ChunkHeader& header, const TreeLink::Arrival& arrival) {
  return stream(header.traffic_class).on_result(*link_, header, arrival);
}

Status GroupClient::on_resend(TrafficClass traffic_class, uint64_t sequence) {
  return stream(traffic_class).on_resend(*link_, sequence);
}

void GroupClient::on_sent(uint64_t token) {
  if (token >= operations_.size()) return;  // of a copy that was kept
  Operation& operation = operations_[token];
  if (operation.unconfirmed > 0) --operation.unconfirmed;
}

}  // namespace sluice::sharp
