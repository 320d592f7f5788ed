// SPDX-License-Identifier: Apache-2.0
#include "plugin/net/net_comm.h"

#include <algorithm>
#include <utility>

namespace sluice::plugin::net {

NetComm::NetComm(Kind kind, std::shared_ptr<CommunicatorContext> context, std::string what,
                 size_t requests)
    : Comm(kind, std::move(context), std::move(what)), requests_(requests) {}

Result<transport::Completion> NetComm::test(NetRequest& request) {
  const std::lock_guard lock(driver_);
  if (!request.in_use) return refuse("test of a request that is done already");
  SLUICE_RETURN_IF_ERROR(check_alive());
  auto completion = channel()->test(*request.inner);
  if (!completion) return fail_for_good(std::move(completion).error());
  if (completion->done) {
    release(request.memory);
    requests_.give_back(&request);
  }
  return completion;
}

Result<NetRequest*> NetComm::finish_post(NetRequest* request, Result<transport::Request*> posted,
                                         std::span<MemoryHandle* const> memory) {
  if (!posted || *posted == nullptr) {
    requests_.give_back(request);
    if (!posted) return fail_for_good(std::move(posted).error());
    return nullptr;
  }
  request->comm = this;
  request->inner = *posted;
  request->memory.fill(nullptr);
  std::ranges::copy(memory, request->memory.begin());
  claim(memory);
  return request;
}

Result<std::unique_ptr<transport::MemoryRegion>> NetComm::register_region(void* data, size_t size) {
  if (channel() == nullptr) return fail(ErrorKind::invalid_usage, "the connection was cut off");
  return channel()->connection().register_memory(data, size, transport::MemoryType::host);
}

SendComm::SendComm(std::shared_ptr<CommunicatorContext> context,
                   std::unique_ptr<transport::Connection> connection)
    : NetComm(Kind::send, std::move(context), "send to " + connection->peer(),
              transport::kMaxSends),
      channel_(transport::SendChannel::create(std::move(connection))) {}

Result<NetRequest*> SendComm::send(const void* data, size_t size, int tag, void* handle) {
  const std::lock_guard lock(driver_);
  SLUICE_RETURN_IF_ERROR(check_alive());
  const auto region = region_of(handle, data, size);
  if (!region) return fail(region.error());
  NetRequest* request = requests_.take();
  if (request == nullptr) return nullptr;
  MemoryHandle* memory = static_cast<MemoryHandle*>(handle);
  return finish_post(request, channel_->send(data, size, tag, *region), {&memory, 1});
}

ReceiveComm::ReceiveComm(std::shared_ptr<CommunicatorContext> context,
                         std::unique_ptr<transport::Connection> connection)
    : NetComm(Kind::receive, std::move(context), "receive from " + connection->peer(),
              transport::kMaxReceiveGroups),
      channel_(transport::ReceiveChannel::create(std::move(connection))) {}

Result<NetRequest*> ReceiveComm::receive(std::span<const PostedBuffer> posted) {
  const std::lock_guard lock(driver_);
  SLUICE_RETURN_IF_ERROR(check_alive());
  std::array<transport::ReceiveBuffer, transport::kMaxGroup> buffers;
  std::array<MemoryHandle*, transport::kMaxGroup> memory{};
  for (size_t index = 0; index < posted.size(); ++index) {
    const PostedBuffer& buffer = posted[index];
    const auto region = region_of(buffer.handle, buffer.data, buffer.size);
    if (!region) return fail(region.error());
    buffers[index] = {buffer.data, buffer.size, buffer.tag, *region};
    memory[index] = static_cast<MemoryHandle*>(buffer.handle);
  }
  NetRequest* request = requests_.take();
  if (request == nullptr) return nullptr;
  return finish_post(request, channel_->receive({buffers.data(), posted.size()}),
                     {memory.data(), posted.size()});
}

}  // namespace sluice::plugin::net
