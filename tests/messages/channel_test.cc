// SPDX-License-Identifier: Apache-2.0
#include "transport/messages/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/messages/memory_connection.h"
#include "transport/messages/format.h"

namespace sluice::transport {
namespace {

using test::MemoryConnection;

std::vector<std::byte> pattern(size_t size, uint32_t seed) {
  std::vector<std::byte> bytes(size);
  std::mt19937 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class ChannelTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  ChannelTest() {
    auto [near, far] = MemoryConnection::make_pair(GetParam());
    send_connection_ = near.get();
    receive_connection_ = far.get();
    sender_ = SendChannel::create(std::move(near));
    receiver_ = ReceiveChannel::create(std::move(far));
  }
  Request* send(const std::vector<std::byte>& data, int tag) {
    auto request = sender_->send(data.data(), data.size(), tag, nullptr);
    EXPECT_TRUE(request.has_value()) << request.error().message;
    return *request;
  }
  Request* receive(std::vector<std::vector<std::byte>>& buffers, const std::vector<int>& tags) {
    std::vector<ReceiveBuffer> list;
    for (size_t i = 0; i < buffers.size(); ++i) {
      list.push_back({buffers[i].data(), buffers[i].size(), tags[i], nullptr});
    }
    auto request = receiver_->receive(list);
    EXPECT_TRUE(request.has_value()) << request.error().message;
    return *request;
  }
  // Alternates both sides until the request is done; bounded.
  Completion finish(Request* request) {
    for (int turn = 0; turn < 1000; ++turn) {
      auto completion = request->channel->test(*request);
      EXPECT_TRUE(completion.has_value()) << completion.error().message;
      if (!completion || completion->done) return completion.value_or(Completion{});
      push_other(request->channel);
    }
    ADD_FAILURE() << "never done";
    return {};
  }
  void push_other(Channel* channel) {
    Request idle{channel == sender_.get() ? static_cast<Channel*>(receiver_.get()) : sender_.get(),
                 true,
                 false,
                 1,
                 1,
                 {}};
    (void)idle.channel->test(idle);
  }

  MemoryConnection* send_connection_;
  MemoryConnection* receive_connection_;
  std::unique_ptr<SendChannel> sender_;
  std::unique_ptr<ReceiveChannel> receiver_;
};

TEST_P(ChannelTest, OneMessage) {
  const auto data = pattern(1000, 1);
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(1000)};
  Request* received = receive(buffers, {3});
  Request* sent = send(data, 3);
  EXPECT_EQ(finish(received).sizes[0], 1000u);
  EXPECT_EQ(finish(sent).sizes[0], 1000u);
  EXPECT_EQ(buffers[0], data);
}

TEST_P(ChannelTest, ZeroBytesCompleteAndReportZero) {
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(64, std::byte{7})};
  Request* sent = send({}, 0);
  Request* received = receive(buffers, {0});
  const Completion completion = finish(received);
  EXPECT_EQ(completion.count, 1);
  EXPECT_EQ(completion.sizes[0], 0u);
  EXPECT_EQ(finish(sent).sizes[0], 0u);
  EXPECT_EQ(buffers[0], std::vector<std::byte>(64, std::byte{7}));
}

TEST_P(ChannelTest, ShorterAndLongerSends) {
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(100),
                                              std::vector<std::byte>(100)};
  const auto shorter = pattern(40, 1);
  const auto longer = pattern(1000, 2);
  Request* received = receive(buffers, {1, 2});
  Request* sent_longer = send(longer, 2);
  Request* sent_shorter = send(shorter, 1);
  const Completion completion = finish(received);
  EXPECT_EQ(completion.sizes[0], 40u);
  EXPECT_EQ(completion.sizes[1], 100u);
  EXPECT_EQ(finish(sent_longer).sizes[0], 100u);
  EXPECT_EQ(finish(sent_shorter).sizes[0], 40u);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), buffers[0].begin()));
  EXPECT_TRUE(std::equal(buffers[1].begin(), buffers[1].end(), longer.begin()));
}

TEST_P(ChannelTest, EverythingIsAcceptedBeforeThePeerMoves) {
  std::vector<std::vector<std::byte>> data;
  std::vector<std::vector<std::vector<std::byte>>> buffers(kMaxReceiveGroups);
  std::vector<Request*> sends;
  std::vector<Request*> receives;
  for (int group = 0; group < kMaxReceiveGroups; ++group) {
    for (int i = 0; i < kMaxGroup; ++i) {
      data.push_back(pattern(64, static_cast<uint32_t>(group * kMaxGroup + i)));
    }
  }
  for (size_t i = 0; i < data.size(); ++i) {
    sends.push_back(send(data[i], static_cast<int>(i % kMaxGroup)));
    ASSERT_NE(sends.back(), nullptr) << i;
  }
  EXPECT_EQ(send(data[0], 0), nullptr) << "one more than promised must ask to try again";
  for (auto& group : buffers) {
    group.assign(kMaxGroup, std::vector<std::byte>(64));
    receives.push_back(receive(group, {0, 1, 2, 3, 4, 5, 6, 7}));
    ASSERT_NE(receives.back(), nullptr);
  }
  std::vector<std::vector<std::byte>> more{std::vector<std::byte>(64)};
  EXPECT_EQ(receive(more, {0}), nullptr);
  for (Request* request : receives) EXPECT_EQ(finish(request).count, kMaxGroup);
  for (Request* request : sends) finish(request);
  for (int group = 0; group < kMaxReceiveGroups; ++group) {
    for (int i = 0; i < kMaxGroup; ++i) {
      EXPECT_EQ(buffers[static_cast<size_t>(group)][static_cast<size_t>(i)],
                data[static_cast<size_t>(group * kMaxGroup + i)]);
    }
  }
  EXPECT_NE(send(data[0], 0), nullptr) << "requests are free again";
}

TEST_P(ChannelTest, ErrorsStick) {
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(8)};
  Request* received = receive(buffers, {0});
  sender_.reset();
  EXPECT_FALSE(receiver_->test(*received).has_value());
  EXPECT_FALSE(receiver_->test(*received).has_value());
  EXPECT_FALSE(receiver_->receive({}).has_value());
}

TEST_P(ChannelTest, TestOfAFinishedRequestIsRefused) {
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(8)};
  Request* received = receive(buffers, {0});
  const auto data = pattern(8, 1);
  send(data, 0);
  finish(received);
  EXPECT_EQ(receiver_->test(*received).error().kind, ErrorKind::invalid_argument);
}

TEST_P(ChannelTest, ABadCountLeavesTheChannelUsable) {
  std::vector<ReceiveBuffer> nine(kMaxGroup + 1);
  EXPECT_EQ(receiver_->receive(nine).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(receiver_->receive({}).error().kind, ErrorKind::invalid_argument);
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(8)};
  Request* received = receive(buffers, {0});
  const auto data = pattern(8, 1);
  send(data, 0);
  EXPECT_TRUE(finish(received).done);
}

INSTANTIATE_TEST_SUITE_P(DeliveryOrder, ChannelTest, ::testing::Values(0u, 1u, 99u),
                         [](const auto& param_info) {
                           return param_info.param == 0
                                      ? std::string("AsPosted")
                                      : "Shuffled" + std::to_string(param_info.param);
                         });

class HostilePeerTest : public ::testing::Test, protected ConnectionHandler {
 protected:
  HostilePeerTest() {
    auto [near, far] = MemoryConnection::make_pair();
    peer_ = std::move(near);
    channel_end_ = std::move(far);
  }
  Status on_announcement(std::span<const RemoteWindow> windows,
                         std::span<const std::byte> note) override {
    window_ = windows[0];
    EXPECT_TRUE(read_into(note_, note));
    return {};
  }
  Status on_message(std::span<const std::byte>) override { return {}; }
  Status on_arrival(WindowId, uint64_t, uint64_t, std::span<const std::byte>) override {
    return {};
  }
  Status on_written(uint64_t) override { return {}; }

  void write(MessageRecord record, uint64_t size) {
    Write write;
    write.window = window_;
    write.data = data_.data();
    write.size = size;
    write.record = bytes_of(record);
    ASSERT_TRUE(peer_->write(write));
  }

  std::vector<std::byte> data_ = pattern(64, 1);
  std::unique_ptr<MemoryConnection> peer_;
  std::unique_ptr<MemoryConnection> channel_end_;
  RemoteWindow window_;
  GroupNote note_;
};

TEST_F(HostilePeerTest, RecordsThatFitNoReceiveAreAnError) {
  MessageRecord good;
  good.size = 64;
  good.generation = 1;
  std::vector<MessageRecord> bad(6, good);
  bad[0].magic = 1;
  bad[1].slot = 32;
  bad[2].slot = 1;
  bad[3].buffer = 1;
  bad[4].generation = 2;
  bad[5].size = 63;
  for (size_t i = 0; i < bad.size(); ++i) {
    auto [near, far] = MemoryConnection::make_pair();
    peer_ = std::move(near);
    auto receiver = ReceiveChannel::create(std::move(far));
    std::vector<std::byte> buffer(64);
    const ReceiveBuffer list[] = {{buffer.data(), buffer.size(), 0, nullptr}};
    auto request = receiver->receive(list);
    ASSERT_TRUE(request);
    ASSERT_TRUE(peer_->progress(*this));
    write(bad[i], 64);
    const auto completion = receiver->test(**request);
    ASSERT_FALSE(completion.has_value()) << i;
    EXPECT_EQ(completion.error().kind, ErrorKind::remote) << i;
  }
}

TEST_F(HostilePeerTest, ASecondWriteCannotTouchABufferThatWasGivenBack) {
  auto receiver = ReceiveChannel::create(std::move(channel_end_));
  std::vector<std::byte> buffer(64);
  const ReceiveBuffer list[] = {{buffer.data(), buffer.size(), 0, nullptr}};
  auto request = receiver->receive(list);
  ASSERT_TRUE(peer_->progress(*this));
  MessageRecord record;
  record.size = 64;
  record.generation = note_.generation;
  write(record, 64);
  ASSERT_TRUE(receiver->test(**request)->done);
  std::fill(buffer.begin(), buffer.end(), std::byte{0});
  write(record, 64);
  auto next = receiver->receive(list);
  ASSERT_TRUE(next);
  EXPECT_FALSE(receiver->test(**next).has_value());
  EXPECT_EQ(buffer, std::vector<std::byte>(64));
}

TEST_F(HostilePeerTest, MalformedAnnouncementsAreAnError) {
  std::vector<GroupNote> bad(4);
  bad[0].count = 0;
  bad[1].count = 9;
  bad[2].count = 1;
  bad[2].slot = 32;
  bad[3].count = 2;  // but one window
  for (const GroupNote& note : bad) {
    auto [near, far] = MemoryConnection::make_pair();
    auto sender = SendChannel::create(std::move(far));
    const LocalWindow window[] = {{0, data_.data(), 64, nullptr}};
    ASSERT_TRUE(near->announce(window, bytes_of(note)));
    auto request = sender->send(data_.data(), 8, 0, nullptr);
    ASSERT_TRUE(request);
    EXPECT_FALSE(sender->test(**request).has_value());
  }
}

}  // namespace
}  // namespace sluice::transport
