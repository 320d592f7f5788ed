// SPDX-License-Identifier: Apache-2.0
// A peer that writes nonsense, on a stream or into shared memory: the connection ends with a
// sentence, nothing of ours is touched. These play one side of a connection by hand.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <random>

#include "tests/transport/support.h"
#include "transport/shm/connection.h"
#include "transport/tcp/connection.h"

namespace sluice::transport {
namespace {

using testing::HasSubstr;

// Guarded memory: the window is the middle third.
struct Guarded {
  static constexpr size_t kWindow = 4096;
  std::vector<std::byte> memory = std::vector<std::byte>(3 * kWindow, std::byte{0x77});
  LocalWindow window() { return {0, memory.data() + kWindow, kWindow, nullptr}; }
  bool intact() const {
    const auto whole = [](std::byte byte) { return byte == std::byte{0x77}; };
    return std::all_of(memory.begin(), memory.begin() + kWindow, whole) &&
           std::all_of(memory.end() - kWindow, memory.end(), whole);
  }
};

FileDescriptor live_channel(Context& context, Watch& watch) {
  int sockets[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  watch = std::move(*context.liveness().watch(FileDescriptor(sockets[0]), Duration::max()));
  return FileDescriptor(sockets[1]);
}

class TcpVictim {
 public:
  TcpVictim() {
    Watch watch;
    channel_ = live_channel(context_, watch);
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
    attacker.reset(sockets[0]);
    std::vector<FileDescriptor> streams;
    streams.emplace_back(sockets[1]);
    connection = std::make_unique<tcp::TcpConnection>(context_, "the peer", std::move(streams),
                                                      std::move(watch));
    const LocalWindow window = guarded.window();
    EXPECT_TRUE(connection->announce({&window, 1}, {}));
    EXPECT_TRUE(connection->flush());
  }
  void feed(const void* data, size_t size) {
    EXPECT_EQ(send(attacker.get(), data, size, MSG_NOSIGNAL), ssize_t(size));
  }
  Status digest() {
    Status status;
    for (int i = 0; i < 20 && status; ++i) status = connection->progress(handler);
    return status;
  }

  Guarded guarded;
  LogCatcher log;
  Recorder handler;
  FileDescriptor attacker;

 private:
  Context context_{log.logger(), Settings{}};
  FileDescriptor channel_;

 public:
  std::unique_ptr<tcp::TcpConnection> connection;  // the context outlives it
};

tcp::FrameHeader write_header() {
  tcp::FrameHeader header;
  header.type = static_cast<uint8_t>(tcp::FrameType::write);
  header.piece_size = 100;
  header.whole_size = 100;
  return header;
}

TEST(MalformedFrames, AGoodOneIsTaken) {
  TcpVictim victim;
  auto header = write_header();
  tcp::seal(header);
  victim.feed(&header, sizeof header);
  victim.feed(pattern(100, 1).data(), 100);
  EXPECT_TRUE(victim.digest());
  EXPECT_EQ(victim.handler.arrivals.size(), 1U);
}

TEST(MalformedFrames, EachLieEndsTheConnection) {
  using Lie = std::function<void(tcp::FrameHeader&)>;
  const std::pair<const char*, Lie> lies[] = {
      {"window", [](auto& header) { header.window = 1; }},
      {"huge window", [](auto& header) { header.window = ~0U; }},
      {"offset", [](auto& header) { header.offset = 4000; }},
      {"huge offset", [](auto& header) { header.offset = ~uint64_t{0} - 50; }},
      {"whole size", [](auto& header) { header.whole_size = 5000; }},
      {"huge whole size", [](auto& header) { header.whole_size = ~uint64_t{0}; }},
      {"position", [](auto& header) { header.position = 50; }},
      {"huge position", [](auto& header) { header.position = ~uint64_t{0}; }},
      {"piece", [](auto& header) { header.piece_size = 101; }},
      {"huge piece", [](auto& header) { header.piece_size = ~0U; }},
      {"record", [](auto& header) { header.head_size = kMaxRecord + 1; }},
      {"write id", [](auto& header) { header.write_id = tcp::kMaxUnlanded; }},
      {"acknowledgement", [](auto& header) { header.acknowledged = 1; }},
      {"huge acknowledgement", [](auto& header) { header.acknowledged = ~uint64_t{0}; }},
      {"type", [](auto& header) { header.type = 77; }},
      {"zero type", [](auto& header) { header.type = 0; }},
      {"message",
       [](auto& header) {
         header = {};
         header.type = 1;
         header.head_size = 5000;
       }},
      {"announcement",
       [](auto& header) {
         header = {};
         header.type = 2;
         header.window = 9;
       }},
      {"short announcement",
       [](auto& header) {
         header = {};
         header.type = 2;
         header.window = 2;
       }},
  };
  for (const auto& [name, lie] : lies) {
    SCOPED_TRACE(name);
    TcpVictim victim;
    auto header = write_header();
    lie(header);
    tcp::seal(header);
    victim.feed(&header, sizeof header);
    victim.feed(pattern(200, 1).data(), 200);
    const Status status = victim.digest();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::remote);
    EXPECT_THAT(status.error().message, HasSubstr("the peer "));
    EXPECT_TRUE(victim.guarded.intact());
  }
}

TEST(MalformedFrames, TheSameWriteTwiceEndsTheConnection) {
  TcpVictim victim;
  auto header = write_header();
  tcp::seal(header);
  for (int i = 0; i < 2; ++i) {
    victim.feed(&header, sizeof header);
    victim.feed(pattern(100, 1).data(), 100);
  }
  EXPECT_FALSE(victim.digest());
  EXPECT_EQ(victim.handler.arrivals.size(), 1U);
}

TEST(MalformedFrames, PiecesThatDisagreeEndTheConnection) {
  TcpVictim victim;
  auto header = write_header();
  header.whole_size = 300;
  tcp::seal(header);
  victim.feed(&header, sizeof header);
  victim.feed(pattern(100, 1).data(), 100);
  header.position = 100;
  header.whole_size = 301;
  tcp::seal(header);
  victim.feed(&header, sizeof header);
  EXPECT_FALSE(victim.digest());
}

TEST(MalformedFrames, ATruncatedStreamIsNamed) {
  TcpVictim victim;
  auto header = write_header();
  tcp::seal(header);
  victim.feed(&header, sizeof header);
  victim.feed(pattern(50, 1).data(), 50);
  victim.attacker.reset();
  const Status status = victim.digest();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("in the middle of a frame"));
}

// Frames with sound checksums and random numbers, then plain noise.
TEST(MalformedFrames, RandomOnesTouchNothing) {
  std::mt19937_64 random(99);
  for (int round = 0; round < 400; ++round) {
    TcpVictim victim;
    for (int frame = 0; frame < 8; ++frame) {
      tcp::FrameHeader header;
      auto* words = reinterpret_cast<uint64_t*>(&header);
      for (size_t i = 0; i < sizeof header / sizeof *words; ++i) {
        words[i] = random() >> (random() % 64);
      }
      header.type = static_cast<uint8_t>(1 + random() % 5);
      header.head_size = static_cast<uint16_t>(random() % 200);
      header.window = static_cast<uint32_t>(random() % 2);
      header.acknowledged = 0;
      if (round % 4 != 0) tcp::seal(header);
      victim.feed(&header, sizeof header);
      const auto noise = pattern(random() % 3000, random());
      victim.feed(noise.data(), noise.size());
    }
    (void)victim.digest();
    ASSERT_TRUE(victim.guarded.intact()) << round;
  }
}

class ShmVictim {
 public:
  ShmVictim() {
    Watch watch;
    channel_ = live_channel(context_, watch);
    auto created = std::move(*shm::Segment::create(0));
    segment = std::move(
        *shm::Segment::map(created.memory, created.segment.size(), created.segment.ring_bytes()));
    shm::Parts parts;
    parts.segment = std::move(created.segment);
    connection = std::make_unique<shm::ShmConnection>(context_, "the peer", std::move(parts),
                                                      std::move(watch));
    const LocalWindow window = guarded.window();
    EXPECT_TRUE(connection->announce({&window, 1}, {}));
    EXPECT_TRUE(connection->flush());
  }
  Status digest() {
    Status status;
    for (int i = 0; i < 20 && status; ++i) status = connection->progress(handler);
    return status;
  }
  // What the peer, side 1, would write at the start of its ring.
  void publish(const shm::EntryHeader& header, uint64_t head) {
    std::memcpy(segment.ring_data(1), &header, sizeof header);
    segment.ring(1).head.store(head);
  }

  Guarded guarded;
  LogCatcher log;
  Recorder handler;
  shm::Segment segment;

 private:
  Context context_{log.logger(), Settings{}};
  FileDescriptor channel_;

 public:
  std::unique_ptr<shm::ShmConnection> connection;  // the context outlives it
};

shm::EntryHeader piece_header() {
  shm::EntryHeader header;
  header.type = static_cast<uint8_t>(shm::EntryType::piece);
  header.payload_size = 100;
  header.whole_size = 100;
  header.size = sizeof header + 100;
  header.last = 1;
  return header;
}

TEST(CorruptSharedMemory, AGoodEntryIsTaken) {
  ShmVictim victim;
  victim.publish(piece_header(), 192);
  EXPECT_TRUE(victim.digest());
  EXPECT_EQ(victim.handler.arrivals.size(), 1U);
}

TEST(CorruptSharedMemory, EachLieEndsTheConnection) {
  using Lie = std::function<void(shm::EntryHeader&)>;
  const std::pair<const char*, Lie> lies[] = {
      {"small size", [](auto& header) { header.size = 8; }},
      {"large size", [](auto& header) { header.size = 100000; }},
      {"huge size", [](auto& header) { header.size = ~0U; }},
      {"type", [](auto& header) { header.type = 0; }},
      {"payload", [](auto& header) { header.payload_size = ~0U; }},
      {"head", [](auto& header) { header.head_size = 0xffff; }},
      {"long record",
       [](auto& header) {
         header.head_size = 100;
         header.payload_size = 0;
         header.head_size = 129;
         header.size = 40 + 129;
       }},
      {"window", [](auto& header) { header.window = 1; }},
      {"huge window", [](auto& header) { header.window = ~0U; }},
      {"offset", [](auto& header) { header.offset = 4000; }},
      {"huge offset", [](auto& header) { header.offset = ~uint64_t{0} - 50; }},
      {"whole size", [](auto& header) { header.whole_size = 5000; }},
      {"position", [](auto& header) { header.position = 1; }},
      {"huge position", [](auto& header) { header.position = ~uint64_t{0} - 10; }},
      {"announcement",
       [](auto& header) {
         header.type = 3;
         header.window = 1000;
       }},
  };
  for (const auto& [name, lie] : lies) {
    SCOPED_TRACE(name);
    ShmVictim victim;
    auto header = piece_header();
    lie(header);
    victim.publish(header, 192);
    const Status status = victim.digest();
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("the peer "));
    EXPECT_TRUE(victim.guarded.intact());
  }
}

TEST(CorruptSharedMemory, IndicesThatCannotBeEndTheConnection) {
  for (const uint64_t head : {uint64_t{1}, uint64_t{63}, uint64_t{1} << 40, ~uint64_t{0}}) {
    SCOPED_TRACE(head);
    ShmVictim victim;
    victim.publish(piece_header(), head);
    EXPECT_FALSE(victim.digest());
  }
  for (const uint64_t tail : {uint64_t{1} << 40, ~uint64_t{0}}) {
    SCOPED_TRACE(tail);
    ShmVictim victim;
    victim.segment.ring(0).tail.store(tail);
    Status status;
    for (int i = 0; i < 200 && status; ++i) {
      status = victim.connection->send_message(bytes_of(std::string(4000, 'x')), {});
      if (status) status = victim.digest();
    }
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("an index that cannot be"));
  }
}

TEST(CorruptSharedMemory, RandomBytesTouchNothing) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 400; ++round) {
    ShmVictim victim;
    const auto noise = pattern(8192, random());
    std::memcpy(victim.segment.ring_data(1), noise.data(), noise.size());
    auto header = piece_header();
    auto* words = reinterpret_cast<uint64_t*>(&header);
    for (size_t i = 0; i < sizeof header / sizeof *words; ++i) {
      if (random() % 3 == 0) words[i] = random() >> (random() % 64);
    }
    header.type = static_cast<uint8_t>(random() % 8);
    victim.publish(header, 64 * (1 + random() % 100));
    (void)victim.digest();
    ASSERT_TRUE(victim.guarded.intact()) << round;
  }
}

TEST(CorruptSharedMemory, AForeignSegmentIsNotMapped) {
  auto created = std::move(*shm::Segment::create(0));
  const size_t size = created.segment.size();
  const size_t ring = created.segment.ring_bytes();
  EXPECT_TRUE(shm::Segment::map(created.memory, size, ring));
  EXPECT_FALSE(shm::Segment::map(created.memory, size + 4096, ring));
  EXPECT_FALSE(shm::Segment::map(created.memory, size, ring * 2));
  EXPECT_FALSE(shm::Segment::map(created.memory, size, ring + 64));
  EXPECT_FALSE(shm::Segment::map(created.memory, 0, 0));
}

}  // namespace
}  // namespace sluice::transport
