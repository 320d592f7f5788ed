// SPDX-License-Identifier: Apache-2.0
// NCCL's contract for transfers, through the exported tables, for every version and transport.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/net_fixture.h"

namespace sluice::test {
namespace {

using NetTransfer = NetContract;

TEST_P(NetTransfer, DevicesDescribeHostMemoryInterfaces) {
  int count = -1;
  ASSERT_EQ(net().devices(&count), ncclSuccess);
  ASSERT_EQ(count, 1);
  abi::NetPropertiesV12 properties;
  ASSERT_EQ(net().properties(0, &properties), ncclSuccess);
  EXPECT_STREQ(properties.name, "lo");
  EXPECT_TRUE(std::filesystem::exists(properties.pciPath)) << properties.pciPath;
  EXPECT_EQ(properties.ptrSupport, abi::kPointerHost);
  EXPECT_EQ(properties.regIsGlobal, 1);
  EXPECT_EQ(properties.forceFlush, 0);
  EXPECT_GT(properties.speed, 0);
  EXPECT_GT(properties.maxComms, 1000);
  EXPECT_EQ(properties.maxRecvs, abi::kMaxReceives);
  EXPECT_EQ(properties.netDeviceType, abi::kDeviceHost);
  EXPECT_EQ(properties.vProps.ndevs, 1);
  EXPECT_EQ(properties.vProps.devs[0], 0);
  EXPECT_GT(properties.maxP2pBytes, 0u);
  EXPECT_LE(properties.maxP2pBytes, size_t{1} << 40);
  EXPECT_GT(properties.maxCollBytes, 0u);
  EXPECT_LE(properties.maxCollBytes, size_t{1} << 40);
  EXPECT_EQ(properties.railId, -1);
  EXPECT_EQ(properties.planeId, -1);
  EXPECT_EQ(net().properties(1, &properties), ncclInvalidArgument);
  EXPECT_EQ(net().properties(-1, &properties), ncclInvalidArgument);
}

TEST_P(NetTransfer, OneBannerAndOneLineForEachCommunicator) {
  const std::string version = std::string("API v").append(std::to_string(net().version()));
  EXPECT_EQ(count_logged(version), 1) << logged_lines();
  EXPECT_EQ(count_logged(plugin_file()), 1) << logged_lines();
  EXPECT_EQ(count_logged(std::get<1>(GetParam())) > 0, true);
  EXPECT_EQ(count_logged("lane 1"), 1) << logged_lines();
}

TEST_P(NetTransfer, ThirtyTwoSendsAndReceivesAreTakenWithoutThePeer) {
  const ConnectionPair pair = session().establish();
  {
    constexpr int kCount = abi::kMaxRequests;
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<void*> requests;
    for (int index = 0; index < kCount; ++index) {
      buffers.push_back(std::make_unique<Buffer>(session(), pair.send, 5000 + index, index));
      requests.push_back(post_send(pair.send, *buffers.back(), index));
      ASSERT_NE(requests.back(), nullptr) << "send " << index;
    }
    for (int index = 0; index < kCount; ++index) {
      buffers.push_back(std::make_unique<Buffer>(session(), pair.receive, 6000, -1));
      requests.push_back(post_receive(pair.receive, *buffers.back(), index));
      ASSERT_NE(requests.back(), nullptr) << "receive " << index;
    }
    std::vector<std::array<int, 8>> sizes;
    ASSERT_EQ(session().finish(requests, &sizes), ncclSuccess) << logged_lines();
    for (int index = 0; index < kCount; ++index) {
      const Buffer expected(session(), nullptr, 5000 + static_cast<size_t>(index), index);
      const size_t receive = static_cast<size_t>(kCount + index);
      EXPECT_EQ(sizes[receive][0], 5000 + index);
      EXPECT_EQ(std::memcmp(buffers[receive]->data(), const_cast<Buffer&>(expected).data(),
                            expected.size()),
                0);
    }
  }
  session().close(pair);
}

TEST_P(NetTransfer, ThirtyTwoGroupedReceivesOfEight) {
  const ConnectionPair pair = session().establish();
  {
    constexpr size_t kBytes = 512;
    constexpr int kGroups = abi::kMaxRequests;
    Buffer target(session(), pair.receive, kGroups * 8 * kBytes, -1);
    Buffer source(session(), pair.send, kGroups * 8 * kBytes, 9);
    std::vector<void*> requests;
    for (int group = 0; group < kGroups; ++group) {
      std::array<void*, 8> data;
      std::array<int64_t, 8> sizes;
      std::array<int, 8> tags;
      std::array<void*, 8> handles;
      for (int index = 0; index < 8; ++index) {
        data[index] = target.data() + static_cast<size_t>(group * 8 + index) * kBytes;
        sizes[index] = kBytes;
        tags[index] = 100 + index;
        handles[index] = target.handle();
      }
      void* request = nullptr;
      ASSERT_EQ(net().receive(pair.receive, 8, data.data(), sizes.data(), tags.data(),
                              handles.data(), &request),
                ncclSuccess);
      ASSERT_NE(request, nullptr) << "group " << group;
      requests.push_back(request);
    }
    // Within a group the tags come in the opposite order.
    for (int group = 0; group < kGroups; ++group) {
      for (int index = 7; index >= 0; --index) {
        void* request = nullptr;
        ASSERT_EQ(
            net().send(pair.send, source.data() + static_cast<size_t>(group * 8 + index) * kBytes,
                       kBytes, 100 + index, source.handle(), &request),
            ncclSuccess);
        ASSERT_NE(request, nullptr);
        requests.push_back(request);
      }
    }
    std::vector<std::array<int, 8>> sizes;
    ASSERT_EQ(session().finish(requests, &sizes), ncclSuccess);
    EXPECT_EQ(sizes[0], (std::array<int, 8>{512, 512, 512, 512, 512, 512, 512, 512}));
    EXPECT_EQ(source.bytes(), target.bytes());
  }
  session().close(pair);
}

TEST_P(NetTransfer, EqualTagsMatchInOrder) {
  const ConnectionPair pair = session().establish();
  {
    Buffer source(session(), pair.send, 300, 3);
    Buffer target(session(), pair.receive, 300, -1);
    std::array<void*, 3> data{target.data(), target.data() + 100, target.data() + 200};
    std::array<int64_t, 3> wanted{100, 100, 100};
    std::array<int, 3> tags{7, 5, 7};
    std::array<void*, 3> handles{target.handle(), target.handle(), target.handle()};
    std::vector<void*> requests(4);
    ASSERT_EQ(net().receive(pair.receive, 3, data.data(), wanted.data(), tags.data(),
                            handles.data(), &requests[0]),
              ncclSuccess);
    const auto send = [&](size_t offset, int64_t size, int tag, void** request) {
      ASSERT_EQ(net().send(pair.send, source.data() + offset, size, tag, source.handle(), request),
                ncclSuccess);
    };
    send(0, 100, 7, &requests[1]);
    send(200, 90, 7, &requests[2]);
    send(100, 80, 5, &requests[3]);
    std::vector<std::array<int, 8>> sizes;
    ASSERT_EQ(session().finish(requests, &sizes), ncclSuccess);
    EXPECT_EQ(sizes[0][0], 100);
    EXPECT_EQ(sizes[0][1], 80);
    EXPECT_EQ(sizes[0][2], 90);
    EXPECT_EQ(std::memcmp(target.data(), source.data(), 100), 0);
    EXPECT_EQ(std::memcmp(target.data() + 100, source.data() + 100, 80), 0);
    EXPECT_EQ(std::memcmp(target.data() + 200, source.data() + 200, 90), 0);
  }
  session().close(pair);
}

TEST_P(NetTransfer, EmptyShortAndTruncatedMessages) {
  const ConnectionPair pair = session().establish();
  for (const size_t base : {size_t{64}, size_t{200000}}) {
    Buffer source(session(), pair.send, 2 * base, 1);
    Buffer target(session(), pair.receive, 2 * base, -1);
    const std::vector<char> before = target.bytes();
    struct Case {
      size_t sent, posted;
    };
    for (const Case& item :
         {Case{0, base}, Case{base / 2, base}, Case{2 * base, base}, Case{0, 0}, Case{base, 0}}) {
      std::copy(before.begin(), before.end(), target.bytes().begin());
      const size_t expected = std::min(item.sent, item.posted);
      std::vector<void*> requests{
          post_receive(pair.receive, target, 1, static_cast<int64_t>(item.posted)),
          post_send(pair.send, source, 1, static_cast<int64_t>(item.sent))};
      std::vector<std::array<int, 8>> sizes;
      ASSERT_EQ(session().finish(requests, &sizes), ncclSuccess);
      EXPECT_EQ(sizes[0][0], static_cast<int>(expected));
      EXPECT_EQ(sizes[1][0], static_cast<int>(expected));
      EXPECT_EQ(std::memcmp(target.data(), source.data(), expected), 0);
      EXPECT_TRUE(std::equal(before.begin() + static_cast<std::ptrdiff_t>(expected), before.end(),
                             target.bytes().begin() + static_cast<std::ptrdiff_t>(expected)))
          << "written beyond the message";
    }
  }
  session().close(pair);
}

TEST_P(NetTransfer, LargeMessagesWithoutSizesAndWithoutMemoryHandles) {
  const ConnectionPair pair = session().establish();
  {
    constexpr size_t kBytes = 9 * 1000 * 1000 + 13;
    Buffer source(session(), nullptr, kBytes, 4);
    Buffer target(session(), nullptr, kBytes, -1);
    std::vector<void*> requests{post_send(pair.send, source), post_receive(pair.receive, target)};
    ASSERT_EQ(session().finish(requests), ncclSuccess);
    EXPECT_EQ(source.bytes(), target.bytes());
  }
  session().close(pair);
}

TEST_P(NetTransfer, FlushOfHostMemoryIsDoneAtOnce) {
  const ConnectionPair pair = session().establish();
  {
    Buffer target(session(), pair.receive, 64);
    void* data = target.data();
    void* handle = target.handle();
    int size = 64;
    void* request = poison();
    EXPECT_EQ(net().flush(pair.receive, 1, &data, &size, &handle, &request), ncclSuccess);
    EXPECT_EQ(request, nullptr);
  }
  session().close(pair);
}

TEST_P(NetTransfer, OnlyHostMemoryIsRegistered) {
  const ConnectionPair pair = session().establish();
  char byte = 0;
  void* handle = poison();
  EXPECT_NE(net().register_memory(pair.send, &byte, 1, abi::kPointerCuda, &handle), ncclSuccess);
  EXPECT_EQ(handle, nullptr);
  handle = poison();
  EXPECT_NE(net().register_dma_buf(pair.send, &byte, 1, &handle), ncclSuccess);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(net().deregister_memory(pair.send, nullptr), ncclSuccess);
  EXPECT_EQ(net().deregister_memory(pair.send, &byte), ncclSuccess);  // unknown: told, no crash
  EXPECT_GE(count_logged("only host memory", NCCL_LOG_WARN), 1);
  EXPECT_GE(count_logged("is not registered", NCCL_LOG_WARN), 1);
  session().close(pair);
}

TEST_P(NetTransfer, BadArgumentsAreRefusedAndTheConnectionStaysUsable) {
  const ConnectionPair pair = session().establish();
  {
    Buffer source(session(), pair.send, 128, 2);
    Buffer target(session(), pair.receive, 128, -1);
    std::array<void*, 16> data;
    data.fill(target.data());
    std::array<void*, 16> handles;
    handles.fill(target.handle());
    std::array<int64_t, 16> sizes;
    sizes.fill(8);
    std::array<int, 16> tags{};
    const auto receive = [&](void* comm, int count) {
      void* request = poison();
      const ncclResult_t result = net().receive(comm, count, data.data(), sizes.data(), tags.data(),
                                                handles.data(), &request);
      EXPECT_EQ(request, nullptr);
      return result;
    };
    const auto send = [&](void* comm, char* from, int64_t size, void* handle) {
      void* request = poison();
      const ncclResult_t result = net().send(comm, from, size, 0, handle, &request);
      EXPECT_EQ(request, nullptr);
      return result;
    };
    for (const int count : {0, -1, 9, 16}) {
      EXPECT_EQ(receive(pair.receive, count), ncclInvalidArgument) << count;
    }
    EXPECT_EQ(receive(nullptr, 1), ncclInvalidArgument);
    EXPECT_EQ(receive(pair.send, 1), ncclInvalidArgument);
    EXPECT_EQ(send(nullptr, source.data(), 8, source.handle()), ncclInvalidArgument);
    EXPECT_EQ(send(pair.receive, source.data(), 8, source.handle()), ncclInvalidArgument);
    EXPECT_EQ(send(pair.send, source.data(), 129, source.handle()), ncclInvalidArgument);
    EXPECT_EQ(send(pair.send, source.data() + 128, 1, source.handle()), ncclInvalidArgument);
    EXPECT_EQ(send(pair.send, nullptr, 8, nullptr), ncclInvalidArgument);
    data[1] = target.data() + 121;
    EXPECT_EQ(receive(pair.receive, 2), ncclInvalidArgument);
    if (net().has_int_sizes()) {
      EXPECT_EQ(send(pair.send, source.data(), -1, source.handle()), ncclInvalidArgument);
      sizes[0] = -5;
      EXPECT_EQ(receive(pair.receive, 1), ncclInvalidArgument);
    }
    int done = 7;
    EXPECT_EQ(net().test(nullptr, &done, nullptr), ncclInvalidArgument);
    EXPECT_EQ(done, 0);
    EXPECT_GE(count_logged("outside the registered", NCCL_LOG_WARN), 1);

    std::vector<void*> requests{post_send(pair.send, source), post_receive(pair.receive, target)};
    ASSERT_EQ(session().finish(requests), ncclSuccess);
    EXPECT_EQ(source.bytes(), target.bytes());
  }
  session().close(pair);
}

TEST_P(NetTransfer, RequestsRunOutAndComeBack) {
  const ConnectionPair pair = session().establish();
  {
    Buffer target(session(), pair.receive, 64, -1);
    Buffer source(session(), pair.send, 64, 5);
    std::vector<void*> requests;
    for (;;) {
      void* data = target.data();
      void* handle = target.handle();
      int64_t size = 64;
      int tag = 0;
      void* request = poison();
      ASSERT_EQ(net().receive(pair.receive, 1, &data, &size, &tag, &handle, &request), ncclSuccess);
      if (request == nullptr) break;
      ASSERT_NE(request, poison());
      requests.push_back(request);
      ASSERT_LT(requests.size(), 10000u);
    }
    EXPECT_GE(requests.size(), static_cast<size_t>(abi::kMaxRequests));
    const size_t receives = requests.size();
    for (size_t index = 0; index < receives; ++index) {
      requests.push_back(post_send(pair.send, source));
      ASSERT_NE(requests.back(), nullptr);
    }
    ASSERT_EQ(session().finish(requests), ncclSuccess);
    std::vector<void*> again{post_send(pair.send, source), post_receive(pair.receive, target)};
    ASSERT_EQ(session().finish(again), ncclSuccess);
  }
  session().close(pair);
}

SLUICE_INSTANTIATE_NET(NetTransfer);

}  // namespace
}  // namespace sluice::test
