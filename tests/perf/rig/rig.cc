// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/rig/rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "perf/driver/data_type.h"
#include "perf/driver/test_data.h"

namespace sluice::test {
namespace {

constexpr uint32_t kMagic = 0x72696721;
constexpr auto kConnectTimeout = std::chrono::seconds(20);

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int make_ready(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

bool corrupts() {
  return std::getenv("TEST_PLUGIN_CORRUPT") != nullptr;
}

void flip_a_bit(void* data, size_t size) {
  if (corrupts() && size != 0) static_cast<unsigned char*>(data)[size / 2] ^= 0x10;
}

}  // namespace

int device_count() {
  const char* text = std::getenv("TEST_PLUGIN_DEVICES");
  return text != nullptr ? std::atoi(text) : 1;
}

bool hangs() {
  return std::getenv("TEST_PLUGIN_HANG") != nullptr;
}

RigListener* RigListener::open(RigHandle* handle) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, generic, size) != 0 || ::listen(fd, 128) != 0 ||
      ::getsockname(fd, generic, &size) != 0) {
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  *handle = {kMagic, ntohs(address.sin_port)};
  return new RigListener(fd);
}

int RigListener::accept() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  return fd < 0 ? -1 : make_ready(fd);
}

int rig_connect(const RigHandle& handle) {
  if (handle.magic != kMagic) return -1;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(handle.port);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return make_ready(fd);
  }
  if (fd >= 0) ::close(fd);
  return -1;
}

struct RigComm::Send final : RigRequest {
  Send(RigComm& owner, const void* data, uint64_t bytes) : comm(owner), size(bytes) {
    comm.stream_.send(&size, sizeof size, &pending);
    if (size != 0) comm.stream_.send(data, size, &pending);
  }
  ncclResult_t test(int* done, int* sizes) override {
    const bool alive = comm.stream_.pump();
    *done = pending == 0 ? 1 : 0;
    if (*done != 0 && sizes != nullptr) *sizes = static_cast<int>(size);
    return *done != 0 || alive ? ncclSuccess : ncclRemoteError;
  }
  RigComm& comm;
  uint64_t size;
  int pending = 0;
};

struct RigComm::Receive final : RigRequest {
  Receive(RigComm& owner, void* memory, size_t room) : comm(owner), data(memory), most(room) {
    comm.receives_.push_back(this);
  }
  // Only the oldest receive may touch the stream; it reads the size, then the bytes.
  bool advance() {
    if (!asked_size) comm.stream_.receive(&size, sizeof size, &pending);
    asked_size = true;
    bool alive = comm.stream_.pump();
    if (pending == 0 && !asked_data) {
      asked_data = true;
      if (size > most) return false;
      if (size != 0) comm.stream_.receive(data, size, &pending);
      alive = comm.stream_.pump();
    }
    complete = asked_data && pending == 0;
    return alive || complete;
  }
  ncclResult_t test(int* done, int* sizes) override {
    while (!complete && !comm.receives_.empty()) {
      Receive* oldest = comm.receives_.front();
      if (!oldest->advance()) return ncclRemoteError;
      if (!oldest->complete) break;
      flip_a_bit(oldest->data, oldest->size);
      comm.receives_.pop_front();
    }
    *done = complete ? 1 : 0;
    if (complete && sizes != nullptr) *sizes = static_cast<int>(size);
    return ncclSuccess;
  }
  RigComm& comm;
  void* data;
  size_t most;
  uint64_t size = 0;
  int pending = 0;
  bool asked_size = false;
  bool asked_data = false;
  bool complete = false;
};

RigRequest* RigComm::send(const void* data, size_t size) {
  return new Send(*this, data, size);
}
RigRequest* RigComm::receive(void* data, size_t size) {
  return new Receive(*this, data, size);
}

RigGroup* RigGroup::connect(void** handles, int ranks, int rank, RigListener* listener) {
  auto group = std::make_unique<RigGroup>();
  group->rank_ = static_cast<size_t>(rank);
  const auto own = static_cast<uint8_t>(rank);
  if (rank != 0) {
    const int fd = rig_connect(*static_cast<RigHandle*>(handles[0]));
    if (fd < 0 || ::send(fd, &own, 1, MSG_NOSIGNAL) != 1) return nullptr;
    group->peers_.push_back(std::make_unique<Stream>(fd));
    return group.release();
  }
  group->peers_.resize(static_cast<size_t>(ranks - 1));
  const auto until = std::chrono::steady_clock::now() + kConnectTimeout;
  for (int missing = ranks - 1; missing > 0;) {
    if (std::chrono::steady_clock::now() > until) return nullptr;
    const int fd = listener->accept();
    if (fd < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    uint8_t peer = 0;
    while (::recv(fd, &peer, 1, 0) < 0 && std::chrono::steady_clock::now() < until) {
    }
    if (peer == 0 || peer >= ranks) return nullptr;
    group->peers_[peer - 1u] = std::make_unique<Stream>(fd);
    --missing;
  }
  return group.release();
}

struct RigGroup::Operation final : RigRequest {
  ncclResult_t test(int* done, int* sizes) override {
    bool alive = true;
    for (auto& peer : group->peers_) alive = peer->pump() && alive;
    if (group->rank_ == 0 && pending == 0 && !reduced) {
      for (auto& input : inputs) perf::reduce(type, op, result, result, input.data(), count);
      flip_a_bit(result, bytes);
      for (auto& peer : group->peers_) peer->send(result, bytes, &pending);
      reduced = true;
      for (auto& peer : group->peers_) alive = peer->pump() && alive;
    }
    *done = pending == 0 ? 1 : 0;
    if (*done != 0 && taken != nullptr) std::memcpy(taken, window.data() + own.begin, own.size);
    if (*done != 0 && sizes != nullptr) *sizes = static_cast<int>(bytes);
    return *done != 0 || alive ? ncclSuccess : ncclRemoteError;
  }
  RigGroup* group = nullptr;
  std::byte* result = nullptr;
  size_t count = 0;
  size_t bytes = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int pending = 0;
  bool reduced = false;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::byte> window;  // a scatter's, of which `own` goes to `taken`
  Own own;
  void* taken = nullptr;
};

RigRequest* RigGroup::allreduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                                ncclRedOp_t op) {
  auto* operation = new Operation;
  operation->group = this;
  operation->result = static_cast<std::byte*>(receive);
  operation->count = count;
  operation->bytes = count * perf::info_of(type).bytes;
  operation->type = type;
  operation->op = op;
  if (rank_ != 0) {
    peers_[0]->send(send, operation->bytes, &operation->pending);
    peers_[0]->receive(receive, operation->bytes, &operation->pending);
    return operation;
  }
  operation->inputs.resize(peers_.size());
  if (send != receive) std::memcpy(receive, send, operation->bytes);
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    operation->inputs[peer].resize(operation->bytes);
    peers_[peer]->receive(operation->inputs[peer].data(), operation->bytes, &operation->pending);
  }
  return operation;
}

RigGroup::Own RigGroup::own_part(size_t bytes_per_rank, size_t offset, size_t bytes) const {
  const size_t block = rank_ * bytes_per_rank;
  const size_t begin = std::clamp(block, offset, offset + bytes);
  const size_t end = std::clamp(block + bytes_per_rank, offset, offset + bytes);
  return {begin - offset, end - begin};
}

RigRequest* RigGroup::allgather(const void* send, void* receive, size_t bytes_per_rank,
                                size_t offset, size_t bytes) {
  const Own own = own_part(bytes_per_rank, offset, bytes);
  auto* const window = static_cast<std::byte*>(receive);
  std::memmove(window + own.begin, send, own.size);
  std::memset(window, 0, own.begin);
  std::memset(window + own.begin + own.size, 0, bytes - own.begin - own.size);
  return allreduce(receive, receive, bytes, ncclUint8, ncclSum);
}

RigRequest* RigGroup::reduce_scatter(const void* send, void* receive, size_t bytes_per_rank,
                                     size_t offset, size_t bytes, ncclDataType_t type,
                                     ncclRedOp_t op) {
  const auto* from = static_cast<const std::byte*>(send);
  std::vector<std::byte> window(from, from + bytes);
  std::byte* const data = window.data();
  auto* operation =
      static_cast<Operation*>(allreduce(data, data, bytes / perf::info_of(type).bytes, type, op));
  operation->window = std::move(window);  // stays where it is
  operation->own = own_part(bytes_per_rank, offset, bytes);
  operation->taken = receive;
  return operation;
}

}  // namespace sluice::test
