// SPDX-License-Identifier: Apache-2.0
// The wire protocol: what is encoded is decoded, and nothing that was cut, changed or invented is.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "sharp/wire/chunk.h"
#include "sharp/wire/crc32c.h"
#include "sharp/wire/envelope.h"
#include "sharp/wire/geometry.h"
#include "sharp/wire/limits.h"
#include "sharp/wire/membership.h"
#include "sharp/wire/rendezvous.h"
#include "transport/transport.h"

namespace sluice::sharp {
namespace {

static_assert(kChunkHeaderSize <= transport::kMaxRecord);
static_assert(kChunkHeaderSize + kMaxLatencyBytes <= transport::kMaxMessage);
static_assert(kResultNoteSize <= transport::kMaxNote);
static_assert(kMaxResultWindows <= transport::kMaxWindows);

GroupShape some_shape() {
  GroupShape shape;
  for (size_t at = 0; at < shape.group.size(); ++at) shape.group[at] = static_cast<uint8_t>(at + 1);
  shape.epoch = 3;
  shape.members = 8;
  shape.chunk_bytes = 65536;
  shape.window = 16;
  shape.latency_bytes = 4096;
  shape.latency_window = 64;
  return shape;
}

Join some_join() {
  Join join;
  join.shape = some_shape();
  join.path = {{"10.0.0.1:7654", 8, 5}, {"10.0.0.2:7654", 2, 1}};
  join.ranks = {{5, 1}};
  join.host = "gpu07, pid 4711";
  return join;
}

ChunkHeader some_chunk() {
  ChunkHeader header;
  header.traffic_class = TrafficClass::streaming;
  header.group = some_shape().group;
  header.epoch = 3;
  header.type = DataType::bfloat16;
  header.reduce_operator = ReduceOperator::min;
  header.child = 5;
  header.sequence = 0x1122334455667788;
  header.operation = 77;
  header.operation_bytes = uint64_t{6} << 30;
  header.offset = uint64_t{5} << 30;
  header.bytes = 65536;
  header.result_window = 9;
  header.payload_crc = 0xdeadbeef;
  return header;
}

template <typename T>
T there_and_back(const T& value) {
  const Message message = encode(value);
  auto envelope = open_envelope(message);
  EXPECT_TRUE(envelope) << envelope.error().message;
  auto decoded = decode<T>(*envelope);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return *decoded;
}

TEST(Wire, MembershipRoundTrip) {
  const Join join = there_and_back(some_join());
  EXPECT_EQ(join.shape, some_shape());
  EXPECT_EQ(join.child(), 5);
  EXPECT_EQ(join.ranks, (std::vector<RankRange>{{5, 1}}));
  EXPECT_EQ(join.path[1].node, "10.0.0.2:7654");
  EXPECT_EQ(join.host, "gpu07, pid 4711");
  EXPECT_EQ(there_and_back(Joined{7}).child, 7);
  EXPECT_EQ(there_and_back(Leave{7}).child, 7);
  const Refused refused = there_and_back(Refused{RefusalCode::memory, "is full"});
  EXPECT_EQ(refused.code, RefusalCode::memory);
  EXPECT_EQ(refused.sentence, "is full");
  const GroupError error = there_and_back(GroupError{3, "rank 3 was lost"});
  EXPECT_EQ(error.member, 3);
  EXPECT_EQ(error.sentence, "rank 3 was lost");
}

TEST(Wire, RendezvousRoundTrip) {
  Hello hello;
  hello.rank = 3;
  hello.ranks = 64;
  hello.time_left_ms = 29000;
  hello.host = "h";
  EXPECT_EQ(there_and_back(hello).time_left_ms, 29000u);
  Plan plan;
  plan.shape = some_shape();
  plan.join_budget_ms = 10000;
  plan.path = {{"[fe80::1%eth0]:7654", 1, 0}};
  EXPECT_EQ(there_and_back(plan).shape, plan.shape);
  EXPECT_EQ(there_and_back(plan).path, plan.path);
  EXPECT_EQ(there_and_back(Vote{0, "no room"}).reason, "no room");
  EXPECT_EQ(there_and_back(Decision{1, ""}).commit, 1);
  there_and_back(Farewell{});
}

TEST(Wire, TextsAreBoundedAndPrintable) {
  const std::string noise = std::string("a\nb\x1b") + std::string(3000, 'x');
  const GroupError error = there_and_back(GroupError{0, noise});
  EXPECT_EQ(error.sentence.size(), kMaxText);
  EXPECT_EQ(error.sentence.substr(0, 5), "a?b?x");
}

TEST(Wire, LayoutIsLittleEndianAndFixed) {
  const EncodedChunkHeader bytes = encode(some_chunk());
  EXPECT_EQ(bytes[0], std::byte{'S'});
  EXPECT_EQ(bytes[3], std::byte{'K'});
  EXPECT_EQ(bytes[32], std::byte{0x88});
  EXPECT_EQ(bytes[39], std::byte{0x11});
  EXPECT_EQ(bytes[80], std::byte{0xef});
  const Message message = encode(Leave{0x0102});
  EXPECT_EQ(message.size(), kEnvelopeSize + 2);
  EXPECT_EQ(message[kEnvelopeSize], std::byte{0x02});
}

TEST(Wire, ChunkRoundTrip) {
  const ChunkHeader header = some_chunk();
  const auto decoded = decode_chunk(encode(header));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->group, header.group);
  EXPECT_EQ(decoded->epoch, header.epoch);
  EXPECT_EQ(decoded->type, header.type);
  EXPECT_EQ(decoded->reduce_operator, header.reduce_operator);
  EXPECT_EQ(decoded->child, header.child);
  EXPECT_EQ(decoded->sequence, header.sequence);
  EXPECT_EQ(decoded->operation, header.operation);
  EXPECT_EQ(decoded->operation_bytes, header.operation_bytes);
  EXPECT_EQ(decoded->offset, header.offset);
  EXPECT_EQ(decoded->bytes, header.bytes);
  EXPECT_EQ(decoded->result_window, header.result_window);
  EXPECT_EQ(decoded->payload_crc, header.payload_crc);
}

TEST(Wire, ImpossibleChunksAreRefused) {
  const auto refused = [](auto change) {
    ChunkHeader header = some_chunk();
    change(header);
    return !decode_chunk(encode(header));
  };
  EXPECT_FALSE(refused([](ChunkHeader&) {}));
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.bytes = 0; }));
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.bytes = 65535; }));  // half an element
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.offset = h.operation_bytes - 2; }));
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.offset = ~uint64_t{0} - 1; }));  // must not wrap
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.type = static_cast<DataType>(12); }));
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.reduce_operator = static_cast<ReduceOperator>(4); }));
  EXPECT_TRUE(refused([](ChunkHeader& h) { h.traffic_class = static_cast<TrafficClass>(2); }));
}

TEST(Wire, EveryTruncationAndEveryFlippedBitIsNoticed) {
  const Message message = encode(some_join());
  for (size_t size = 0; size < message.size(); ++size) {
    EXPECT_FALSE(open_envelope(std::span(message).first(size))) << size;
  }
  Message longer = message;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(open_envelope(longer));
  for (size_t bit = 0; bit < message.size() * 8; ++bit) {
    Message changed = message;
    changed[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(open_envelope(changed)) << bit;
  }
  const EncodedChunkHeader chunk = encode(some_chunk());
  for (size_t size = 0; size < chunk.size(); ++size) {
    EXPECT_FALSE(decode_chunk(std::span(chunk).first(size))) << size;
  }
  for (size_t bit = 0; bit < chunk.size() * 8; ++bit) {
    EncodedChunkHeader changed = chunk;
    changed[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(decode_chunk(changed)) << bit;
  }
}

// Bodies that pass the envelope's checksum but were written by somebody else.
TEST(Wire, RandomBodiesNeverHurt) {
  std::mt19937 random(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> body(random() % 80);
    for (std::byte& byte : body) byte = static_cast<std::byte>(random());
    const auto type = static_cast<MessageType>(random() % 24);
    const Message message = seal(type, body);
    const auto envelope = open_envelope(message);
    ASSERT_TRUE(envelope);
    accepted += decode<Join>(*envelope) ? 1 : 0;
    accepted += decode<Refused>(*envelope) ? 1 : 0;
    accepted += decode<GroupError>(*envelope) ? 1 : 0;
    accepted += decode<Plan>(*envelope) ? 1 : 0;
    accepted += decode<Decision>(*envelope) ? 1 : 0;
    static_cast<void>(open_envelope(body));
    static_cast<void>(decode_chunk(body));
    static_cast<void>(decode_result_note(body));
  }
  EXPECT_LT(accepted, 200);
}

TEST(Wire, AnotherVersionIsNamed) {
  Message message = encode(Leave{1});
  message[4] = std::byte{9};
  const auto envelope = open_envelope(message);
  ASSERT_FALSE(envelope);
  EXPECT_EQ(envelope.error().message, "protocol version 9, but this side speaks 2");
}

TEST(Wire, ResultNote) {
  EXPECT_EQ(decode_result_note(encode_result_note(123456789012345)).value_or(0), 123456789012345u);
  EXPECT_FALSE(decode_result_note({}));
}

TEST(Shape, LimitsAreChecked) {
  EXPECT_TRUE(check(some_shape()));
  const auto refused = [](auto change) {
    GroupShape shape = some_shape();
    change(shape);
    return !check(shape);
  };
  EXPECT_TRUE(refused([](GroupShape& s) { s.members = 0; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.members = 4097; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.chunk_bytes = 65536 + 4; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.chunk_bytes = 0; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.window = 0; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.window = 1 << 20; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.latency_bytes = 4097; }));
  EXPECT_TRUE(refused([](GroupShape& s) { s.latency_window = 0; }));
}

TEST(Geometry, ChunksCoverAnOperationOnce) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4095}, uint64_t{4096}, uint64_t{4097},
                               uint64_t{1} << 20, (uint64_t{1} << 20) + 2}) {
    uint64_t next = 0;
    for (uint64_t index = 0; index < chunks_of(bytes, 4096); ++index) {
      const ChunkSpan span = chunk_at(bytes, 4096, index);
      EXPECT_EQ(span.offset, next);
      EXPECT_GT(span.bytes, 0u);
      next += span.bytes;
    }
    EXPECT_EQ(next, bytes);
  }
}

TEST(Geometry, BeyondFourGigabytes) {
  const uint64_t bytes = (uint64_t{5} << 40) + 6;
  const uint64_t chunks = chunks_of(bytes, 65536);
  EXPECT_EQ(chunks, (uint64_t{5} << 24) + 1);
  const ChunkSpan last = chunk_at(bytes, 65536, chunks - 1);
  EXPECT_EQ(last.offset, uint64_t{5} << 40);
  EXPECT_EQ(last.bytes, 6u);
  EXPECT_EQ(chunk_at(bytes, 65536, uint64_t{1} << 20).offset, uint64_t{1} << 36);
}

}  // namespace
}  // namespace sluice::sharp
