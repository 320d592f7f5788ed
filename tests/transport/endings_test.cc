// SPDX-License-Identifier: Apache-2.0
// How every transport's connections fail and end: what is refused, what ends a connection, who is
// told.
#include <gmock/gmock.h>

#include "tests/transport/conformance.h"

namespace sluice::transport {
namespace {

using testing::HasSubstr;

class Endings : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Transports, Endings, testing::ValuesIn(kVariants), name_of_variant);

TEST_P(Endings, WhatCannotBeRightIsRefusedAtOnce) {
  auto& left = *pair_.left.connection;
  std::vector<std::byte> memory(100);
  announce(0, memory);
  const auto data = pattern(101, 1);
  EXPECT_FALSE(left.write(write_to(0, data, 1)));
  Write write = write_to(0, memory, 1);
  write.offset = ~uint64_t{0};
  EXPECT_FALSE(left.write(write));
  write.offset = 0;
  const std::string record(kMaxRecord + 1, 'r');
  write.record = bytes_of(record);
  EXPECT_FALSE(left.write(write));
  EXPECT_FALSE(left.send_message(bytes_of(std::string(kMaxMessage, 'm')), bytes_of("!")));
  const LocalWindow window{kMaxWindows, memory.data(), 1, nullptr};
  EXPECT_FALSE(left.announce({&window, 1}, {}));
  EXPECT_FALSE(left.register_memory(memory.data(), 10, MemoryType::cuda));
  EXPECT_TRUE(left.register_memory(memory.data(), 10, MemoryType::host));
  EXPECT_TRUE(left.status()) << "a refused call harms nobody";
}

// Drives both ends until both have failed.
void expect_both_fail(Pair& pair, const std::string& right_says) {
  Status left;
  Status right;
  ASSERT_TRUE(wait_for([&] {
    left = pair.left.progress();
    right = pair.right.progress();
    return !left && !right;
  }));
  EXPECT_THAT(left.error().message + right.error().message, HasSubstr(right_says));
  EXPECT_EQ(pair.left.progress().error().message, left.error().message) << "errors stick";
  EXPECT_EQ(pair.left.connection->flush().error().message, left.error().message);
  EXPECT_EQ(pair.left.connection->send_message({}, {}).error().message, left.error().message);
  EXPECT_EQ(pair.right.connection->status().error().message, right.error().message);
}

TEST_P(Endings, AWriteIntoNoWindowEndsTheConnection) {
  for (const size_t size : {10, 100000}) {
    Pair pair(GetParam());
    ASSERT_TRUE(pair.ok());
    const auto data = pattern(size, 1);
    Write write;
    write.window = {5, size, 0, 0};
    write.data = data.data();
    write.size = data.size();
    ASSERT_TRUE(pair.left.connection->write(write));
    expect_both_fail(pair, "window 5");
  }
}

TEST_P(Endings, AWriteBeyondItsWindowTouchesNothing) {
  std::vector<std::byte> memory(1000, std::byte{7});
  const LocalWindow window{0, memory.data() + 100, 500, nullptr};
  announce({&window, 1});
  const auto data = pattern(600, 1);
  Write write = write_to(0, data, 1);
  write.window.size = 600;  // a lie
  ASSERT_TRUE(pair_.left.connection->write(write));
  expect_both_fail(pair_, "window 0");
  EXPECT_EQ(memory, std::vector<std::byte>(1000, std::byte{7}));
}

TEST_P(Endings, NothingIsWrittenIntoAWithdrawnWindow) {
  for (const size_t size : {100, 1 << 20}) {
    Pair pair(GetParam());
    ASSERT_TRUE(pair.ok());
    std::vector<std::byte> memory(size, std::byte{7});
    const LocalWindow window{2, memory.data(), memory.size(), nullptr};
    ASSERT_TRUE(pair.right.connection->announce({&window, 1}, {}));
    ASSERT_TRUE(pair.pump([&] { return pair.left.handler.remote.contains(2); }));
    pair.right.connection->withdraw(2);
    const auto data = pattern(size, 1);
    Write write;
    write.window = pair.left.handler.remote.at(2);
    write.data = data.data();
    write.size = size;
    ASSERT_TRUE(pair.left.connection->write(write));
    expect_both_fail(pair, "window 2");
    EXPECT_EQ(memory, std::vector<std::byte>(size, std::byte{7}));
  }
}

TEST_P(Endings, NothingIsWrittenAfterWithdrawalInMidWrite) {
  std::vector<std::byte> memory(64 << 20);
  announce(0, memory);
  const auto data = pattern(memory.size(), 1);
  ASSERT_TRUE(pair_.left.connection->write(write_to(0, data, 1)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pair_.left.progress());
    ASSERT_TRUE(pair_.right.progress());
  }
  pair_.right.connection->withdraw(0);
  const std::vector<std::byte> snapshot = memory;
  expect_both_fail(pair_, "window 0");
  EXPECT_TRUE(memory == snapshot);
}

TEST_P(Endings, AnErrorOfTheHandlerSticksAndThePeerIsTold) {
  pair_.right.handler.failure = Error{ErrorKind::internal, 0, "the cat sat on it"};
  ASSERT_TRUE(pair_.left.connection->send_message(bytes_of("x"), {}));
  expect_both_fail(pair_, "the cat sat on it");
  EXPECT_THAT(pair_.left.connection->status().error().message, HasSubstr("the cat sat on it"));
  EXPECT_EQ(pair_.right.handler.messages.size(), 1U);
}

TEST_P(Endings, WhatWasSentBeforeAnOrderlyEndArrives) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pair_.left.connection->send_message(bytes_of(std::to_string(i)), {}));
  }
  ASSERT_TRUE(pair_.left.connection->flush());
  pair_.left.connection.reset();
  Status status;
  ASSERT_TRUE(wait_for([&] { return !(status = pair_.right.progress()); }));
  EXPECT_EQ(pair_.right.handler.messages.size(), 20U);
  EXPECT_EQ(status.error().kind, ErrorKind::remote);
  EXPECT_THAT(status.error().message, HasSubstr("closed the connection"));
}

}  // namespace
}  // namespace sluice::transport
