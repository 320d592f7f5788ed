// SPDX-License-Identifier: Apache-2.0
// SendComm and ReceiveComm: NCCL's point-to-point connections, on a message channel.
// Ownership, errors and thread rule: plugin/comm.h.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "plugin/comm.h"
#include "plugin/request_pool.h"
#include "transport/messages/channel.h"

namespace sluice::plugin::net {

class NetComm;

// NCCL's request: a channel's request and the memory it uses.
struct NetRequest {
  NetComm* comm = nullptr;
  transport::Request* inner = nullptr;
  std::array<MemoryHandle*, transport::kMaxGroup> memory{};
  bool in_use = false;
};

class NetComm : public Comm {
 public:
  Result<transport::Completion> test(NetRequest& request);

 protected:
  NetComm(Kind kind, std::shared_ptr<CommunicatorContext> context, std::string what,
          size_t requests);

  virtual transport::Channel* channel() = 0;
  // Fills a request in; nullptr (and the request goes back) when the channel took nothing.
  Result<NetRequest*> finish_post(NetRequest* request, Result<transport::Request*> posted,
                                  std::span<MemoryHandle* const> memory);
  Result<std::unique_ptr<transport::MemoryRegion>> register_region(void* data,
                                                                   size_t size) override;

  RequestPool<NetRequest> requests_;
};

class SendComm final : public NetComm {
 public:
  SendComm(std::shared_ptr<CommunicatorContext> context,
           std::unique_ptr<transport::Connection> connection);
  // nullptr: try again.
  Result<NetRequest*> send(const void* data, size_t size, int tag, void* handle);

 private:
  transport::Channel* channel() override { return channel_.get(); }
  void drop_connection() override { channel_.reset(); }

  std::unique_ptr<transport::SendChannel> channel_;
};

struct PostedBuffer {
  void* data = nullptr;
  size_t size = 0;
  int tag = 0;
  void* handle = nullptr;
};

class ReceiveComm final : public NetComm {
 public:
  ReceiveComm(std::shared_ptr<CommunicatorContext> context,
              std::unique_ptr<transport::Connection> connection);
  // 1..kMaxGroup buffers. nullptr: try again.
  Result<NetRequest*> receive(std::span<const PostedBuffer> buffers);

 private:
  transport::Channel* channel() override { return channel_.get(); }
  void drop_connection() override { channel_.reset(); }

  std::unique_ptr<transport::ReceiveChannel> channel_;
};

}  // namespace sluice::plugin::net
