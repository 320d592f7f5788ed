// SPDX-License-Identifier: Apache-2.0
// What every transport must do, said once and run over each: transport/transport.h is the
// specification.
#include "tests/transport/conformance.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <random>

#include "transport/shm/connection.h"

namespace sluice::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Transports, Conformance, testing::ValuesIn(kVariants), name_of_variant);

TEST_P(Conformance, IsOfTheKindThatWasAskedFor) {
  const bool shm = GetParam().choice == TransportChoice::shm;
  EXPECT_EQ(pair_.left.connection->kind(), shm ? Kind::shm : Kind::tcp);
  EXPECT_EQ(pair_.right.connection->kind(), pair_.left.connection->kind());
  EXPECT_THAT(pair_.left.connection->peer(), HasSubstr("pid " + std::to_string(getpid())));
  EXPECT_THAT(pair_.right.connection->peer(), HasSubstr("pid " + std::to_string(getpid())));
  if (!shm) return;
  const auto* left = dynamic_cast<shm::ShmConnection*>(pair_.left.connection.get());
  const auto* right = dynamic_cast<shm::ShmConnection*>(pair_.right.connection.get());
  EXPECT_EQ(left->writes_directly(), GetParam().direct);
  EXPECT_EQ(right->writes_directly(), GetParam().direct);
}

TEST_P(Conformance, MessagesArriveWholeAndInOrder) {
  constexpr int kCount = 2000;
  for (int i = 0; i < kCount; ++i) {
    const std::string head = std::to_string(i) + ":";
    const std::string body(static_cast<size_t>(i) % 700, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(pair_.left.connection->send_message(bytes_of(head), bytes_of(body)));
  }
  ASSERT_TRUE(pair_.left.connection->send_message(bytes_of(std::string(kMaxMessage, 'x')), {}));
  ASSERT_TRUE(pair_.left.connection->send_message({}, {}));
  ASSERT_TRUE(pair_.pump([&] { return pair_.right.handler.messages.size() == kCount + 2; }));
  for (int i = 0; i < kCount; ++i) {
    const std::string body(static_cast<size_t>(i) % 700, static_cast<char>('a' + i % 26));
    ASSERT_EQ(pair_.right.handler.messages[static_cast<size_t>(i)], std::to_string(i) + ":" + body);
  }
  EXPECT_EQ(pair_.right.handler.messages[kCount], std::string(kMaxMessage, 'x'));
  EXPECT_EQ(pair_.right.handler.messages[kCount + 1], "");
}

TEST_P(Conformance, AnnouncementsKeepTheirPlaceAmongMessages) {
  std::vector<std::byte> memory(100);
  std::vector<LocalWindow> windows;
  for (WindowId id = 0; id < kMaxWindowsPerNote; ++id) {
    windows.push_back({id, memory.data() + id, 10 + id, nullptr});
  }
  auto& right = *pair_.right.connection;
  ASSERT_TRUE(right.send_message(bytes_of("one"), {}));
  ASSERT_TRUE(right.announce(windows, bytes_of(std::string(kMaxNote, 'n'))));
  ASSERT_TRUE(right.send_message(bytes_of("two"), {}));
  ASSERT_TRUE(right.announce({}, {}));
  ASSERT_TRUE(pair_.pump([&] { return pair_.left.handler.order.size() == 4; }));
  EXPECT_EQ(pair_.left.handler.order, "mama");
  const auto& announcement = pair_.left.handler.announcements[0];
  EXPECT_EQ(announcement.note, std::string(kMaxNote, 'n'));
  ASSERT_EQ(announcement.windows.size(), kMaxWindowsPerNote);
  for (WindowId id = 0; id < kMaxWindowsPerNote; ++id) {
    EXPECT_EQ(announcement.windows[id].id, id);
    EXPECT_EQ(announcement.windows[id].size, 10 + id);
  }
}

TEST_P(Conformance, WritesOfAnySizeLandWhole) {
  const size_t sizes[] = {0, 1, 127, 128, 4095, 8192, 8193, 65537, (3 << 20) + 5, 70 << 20};
  uint64_t token = 100;
  for (const size_t size : sizes) {
    SCOPED_TRACE(size);
    const auto data = pattern(size, token);
    std::vector<std::byte> memory(size + 2, std::byte{0x5a});
    announce(3, memory);
    Write write = write_to(3, data, token);
    write.offset = 1;
    const std::string record = "record " + std::to_string(size);
    write.record = bytes_of(record);
    auto& right = pair_.right.handler;
    auto& left = pair_.left.handler;
    right.arrivals.clear();
    left.written.clear();
    right.when_arrival = [&](const Recorder::Arrival&) {
      EXPECT_TRUE(std::equal(data.begin(), data.end(), memory.begin() + 1));
    };
    ASSERT_TRUE(pair_.left.connection->write(write));
    ASSERT_TRUE(pair_.pump([&] { return !right.arrivals.empty() && !left.written.empty(); }));
    EXPECT_THAT(left.written, ElementsAre(token));
    ASSERT_EQ(right.arrivals.size(), 1U);
    EXPECT_EQ(right.arrivals[0].window, 3U);
    EXPECT_EQ(right.arrivals[0].offset, 1U);
    EXPECT_EQ(right.arrivals[0].size, size);
    EXPECT_EQ(right.arrivals[0].record, record);
    EXPECT_EQ(memory.front(), std::byte{0x5a});
    EXPECT_EQ(memory.back(), std::byte{0x5a});
    ++token;
  }
}

TEST_P(Conformance, AWindowWithoutMemoryTakesRecords) {
  const LocalWindow window{7, nullptr, 0, nullptr};
  announce({&window, 1}, "empty");
  Write write;
  write.window = pair_.left.handler.remote.at(7);
  const std::string record(kMaxRecord, 'r');
  write.record = bytes_of(record);
  ASSERT_TRUE(pair_.left.connection->write(write));
  ASSERT_TRUE(pair_.pump([&] { return !pair_.right.handler.arrivals.empty(); }));
  EXPECT_EQ(pair_.right.handler.arrivals[0].record, record);
}

TEST_P(Conformance, WindowsAreUsedInAnyOrderAndParts) {
  constexpr WindowId kWindows = 20;
  constexpr size_t kPart = 30000;
  std::vector<std::vector<std::byte>> memory(kWindows, std::vector<std::byte>(3 * kPart));
  for (WindowId id = 0; id < kWindows; ++id) announce(id, memory[id]);
  std::vector<std::vector<std::byte>> data;
  for (WindowId id = 0; id < kWindows; ++id) data.push_back(pattern(3 * kPart, id));
  size_t posted = 0;
  for (const size_t part : {2, 0, 1}) {
    for (WindowId id = kWindows; id-- > 0;) {
      Write write = write_to(id, data[id], posted++);
      write.offset = part * kPart;
      write.data += part * kPart;
      write.size = kPart;
      ASSERT_TRUE(pair_.left.connection->write(write));
    }
  }
  ASSERT_TRUE(pair_.pump([&] {
    return pair_.right.handler.arrivals.size() == posted &&
           pair_.left.handler.written.size() == posted;
  }));
  for (WindowId id = 0; id < kWindows; ++id) EXPECT_EQ(memory[id], data[id]);
}

TEST_P(Conformance, LandedMeansThatTheBytesAreThere) {
  for (const size_t size : {100, 5000, 300000, 5 << 20}) {
    const auto data = pattern(size, size);
    std::vector<std::byte> memory(size);
    announce(0, memory);
    pair_.left.handler.written.clear();
    pair_.left.handler.when_written = [&](uint64_t) { EXPECT_EQ(memory, data); };
    ASSERT_TRUE(pair_.left.connection->write(write_to(0, data, 1)));
    ASSERT_TRUE(pair_.pump([&] { return !pair_.left.handler.written.empty(); }));
  }
}

TEST_P(Conformance, ABufferMayBeReusedOnceSaidSo) {
  constexpr size_t kSize = 50000;
  constexpr int kCount = 40;
  std::vector<std::byte> memory(kSize * kCount);
  announce(0, memory);
  std::vector<std::byte> data;
  for (int i = 0; i < kCount; ++i) {
    data = pattern(kSize, static_cast<uint64_t>(i));
    Write write = write_to(0, data, static_cast<uint64_t>(i));
    write.offset = static_cast<uint64_t>(i) * kSize;
    write.confirm = Confirm::buffer_reusable;
    ASSERT_TRUE(pair_.left.connection->write(write));
    ASSERT_TRUE(pair_.pump([&] { return pair_.left.handler.written.size() == size_t(i) + 1; }));
    std::fill(data.begin(), data.end(), std::byte{0xee});
  }
  ASSERT_TRUE(pair_.pump([&] { return pair_.right.handler.arrivals.size() == kCount; }));
  for (int i = 0; i < kCount; ++i) {
    const auto expected = pattern(kSize, static_cast<uint64_t>(i));
    EXPECT_EQ(std::memcmp(memory.data() + size_t(i) * kSize, expected.data(), kSize), 0) << i;
  }
}

// Far more than any window of unconfirmed writes.
TEST_P(Conformance, TenThousandSmallWrites) {
  constexpr size_t kCount = 10000;
  std::vector<std::byte> memory(kCount);
  announce(0, memory);
  const auto data = pattern(kCount, 9);
  for (size_t i = 0; i < kCount; ++i) {
    Write write = write_to(0, data, i);
    write.offset = i;
    write.data += i;
    write.size = 1;
    write.confirm = i % 3 == 0 ? Confirm::landed : Confirm::buffer_reusable;
    ASSERT_TRUE(pair_.left.connection->write(write));
  }
  ASSERT_TRUE(pair_.pump([&] {
    return pair_.right.handler.arrivals.size() == kCount &&
           pair_.left.handler.written.size() == kCount;
  }));
  EXPECT_EQ(memory, data);
}

TEST_P(Conformance, AHandlerMayPost) {
  constexpr int kRounds = 200;
  std::vector<std::byte> memory(20000);
  announce(0, memory);
  const auto data = pattern(memory.size(), 4);
  auto& left = pair_.left;
  auto& right = pair_.right;
  int replies = 0;
  right.handler.when_arrival = [&](const Recorder::Arrival&) {
    ASSERT_TRUE(right.connection->send_message(bytes_of("got it"), {}));
    ASSERT_TRUE(right.connection->flush());
  };
  left.handler.when_message = [&] {
    if (++replies == kRounds) return;
    ASSERT_TRUE(left.connection->write(write_to(0, data, 0)));
  };
  ASSERT_TRUE(left.connection->write(write_to(0, data, 0)));
  ASSERT_TRUE(pair_.pump([&] { return replies == kRounds; }));
  EXPECT_EQ(memory, data);
}

TEST_P(Conformance, PostingReturnsThoughThePeerDoesNothing) {
  std::vector<std::byte> memory(8 << 20);
  announce(0, memory);
  const auto data = pattern(memory.size(), 1);
  auto& left = pair_.left;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(left.connection->write(write_to(0, data, size_t(i))));
    for (int j = 0; j < 100; ++j) {
      ASSERT_TRUE(left.connection->send_message(bytes_of(std::string(4000, 'm')), {}));
    }
    ASSERT_TRUE(left.connection->flush());
    ASSERT_TRUE(left.progress());
  }
  ASSERT_TRUE(pair_.pump([&] {
    return left.handler.written.size() == 20 && pair_.right.handler.messages.size() == 2000 &&
           pair_.right.handler.arrivals.size() == 20;
  }));
  EXPECT_EQ(memory, data);
}

TEST_P(Conformance, ManyMixedPostsBothWays) {
  constexpr WindowId kWindows = 8;
  constexpr size_t kWindow = 200000;
  std::mt19937_64 random(20240607);
  End* ends[] = {&pair_.left, &pair_.right};
  std::vector<std::byte> memory[2];
  std::vector<std::byte> expected[2];
  for (int end = 0; end < 2; ++end) {
    memory[end].resize(kWindows * kWindow);
    std::vector<LocalWindow> windows;
    for (WindowId id = 0; id < kWindows; ++id) {
      windows.push_back({id, memory[end].data() + id * kWindow, kWindow, nullptr});
    }
    ASSERT_TRUE(ends[end]->connection->announce(windows, {}));
  }
  ASSERT_TRUE(pair_.pump([&] {
    return ends[0]->handler.remote.size() == kWindows && ends[1]->handler.remote.size() == kWindows;
  }));
  // Each byte is written at most once, so that order does not matter.
  size_t used[2][kWindows] = {};
  size_t writes[2] = {};
  std::vector<std::string> messages[2];
  std::vector<std::byte> source[2] = {pattern(kWindows * kWindow, 11),
                                      pattern(kWindows * kWindow, 12)};
  for (int end = 0; end < 2; ++end) expected[end].resize(kWindows * kWindow);
  for (int step = 0; step < 1500; ++step) {
    const int from = static_cast<int>(random() % 2);
    const int to = 1 - from;
    if (random() % 3 == 0) {
      messages[to].emplace_back(random() % 600, static_cast<char>('a' + step % 26));
      ASSERT_TRUE(ends[from]->connection->send_message(bytes_of(messages[to].back()), {}));
    } else {
      const WindowId id = static_cast<WindowId>(random() % kWindows);
      const size_t most = random() % 8 == 0 ? 40000 : 900;
      const size_t size = std::min<size_t>(random() % most, kWindow - used[to][id]);
      const size_t at = id * kWindow + used[to][id];
      Write write;
      write.window = ends[from]->handler.remote.at(id);
      write.offset = used[to][id];
      write.data = source[to].data() + at;
      write.size = size;
      write.token = writes[to]++;
      write.confirm = random() % 2 == 0 ? Confirm::landed : Confirm::buffer_reusable;
      std::memcpy(expected[to].data() + at, write.data, size);
      used[to][id] += size;
      ASSERT_TRUE(ends[from]->connection->write(write));
    }
    if (random() % 4 != 0) continue;
    ASSERT_TRUE(ends[random() % 2]->progress());
  }
  ASSERT_TRUE(pair_.pump([&] {
    for (int end = 0; end < 2; ++end) {
      if (ends[end]->handler.arrivals.size() != writes[end] ||
          ends[1 - end]->handler.written.size() != writes[end] ||
          ends[end]->handler.messages.size() != messages[end].size()) {
        return false;
      }
    }
    return true;
  }));
  for (int end = 0; end < 2; ++end) {
    EXPECT_EQ(ends[end]->handler.messages, messages[end]);
    EXPECT_TRUE(memory[end] == expected[end]);
    std::vector<uint64_t> tokens = ends[1 - end]->handler.written;
    std::sort(tokens.begin(), tokens.end());
    for (size_t i = 0; i < tokens.size(); ++i) ASSERT_EQ(tokens[i], i);
  }
}

TEST_P(Conformance, CountsBytes) {
  std::vector<std::byte> memory(1 << 20);
  announce(0, memory);
  const auto before = pair_.left.connection->counters();
  const auto data = pattern(memory.size(), 2);
  ASSERT_TRUE(pair_.left.connection->write(write_to(0, data, 1)));
  ASSERT_TRUE(pair_.pump([&] { return !pair_.left.handler.written.empty(); }));
  const auto after = pair_.left.connection->counters();
  const uint64_t sent = after.bytes_sent - before.bytes_sent;
  EXPECT_GE(sent, data.size());
  EXPECT_LE(sent, data.size() + data.size() / 20);
  EXPECT_GE(pair_.right.connection->counters().bytes_received, data.size());
}

bool readable(int fd, int milliseconds) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, milliseconds) > 0;
}

TEST_P(Conformance, AnEventLoopSleepsAndIsWoken) {
  auto& left = pair_.left;
  auto& right = pair_.right;
  const int fd = right.connection->event_fd();
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(wait_for([&] {
    EXPECT_TRUE(right.progress());
    EXPECT_TRUE(left.progress());
    return right.connection->prepare_wait() && !readable(fd, 0);
  }));
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(left.connection->send_message(bytes_of("wake up"), {}));
    ASSERT_TRUE(left.connection->flush());
    ASSERT_TRUE(readable(fd, 30000)) << "the sleeper was not woken";
    ASSERT_TRUE(wait_for([&] {
      EXPECT_TRUE(right.progress());
      return right.handler.messages.size() == size_t(i) && right.connection->prepare_wait() &&
             !readable(fd, 0);
    }));
  }
  left.connection.reset();
  EXPECT_TRUE(readable(fd, 30000)) << "an end wakes too";
}

// Both ends sleep whenever they may: a lost wake-up stops the transfer.
TEST_P(Conformance, TwoEventLoopsExchangeAll) {
  std::vector<std::byte> memory(6 << 20);
  announce(0, memory);
  const auto data = pattern(memory.size(), 3);
  auto& left = pair_.left;
  auto& right = pair_.right;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(left.connection->write(write_to(0, data, size_t(i))));
    ASSERT_TRUE(right.connection->send_message(bytes_of(std::string(3000, 'y')), {}));
  }
  const Deadline deadline = Deadline::after(kPatience);
  const auto done = [&] {
    return left.handler.written.size() == 10 && right.handler.arrivals.size() == 10 &&
           left.handler.messages.size() == 10;
  };
  while (!done()) {
    ASSERT_FALSE(deadline.passed());
    ASSERT_TRUE(left.progress());
    ASSERT_TRUE(right.progress());
    pollfd entries[] = {{left.connection->event_fd(), POLLIN, 0},
                        {right.connection->event_fd(), POLLIN, 0}};
    const bool left_sleeps = left.connection->prepare_wait();
    const bool right_sleeps = right.connection->prepare_wait();
    if (!left_sleeps || !right_sleeps || done()) continue;
    ASSERT_GT(poll(entries, 2, 20000), 0) << "both sleep for ever";
  }
  EXPECT_TRUE(memory == data);
}

}  // namespace
}  // namespace sluice::transport
