// SPDX-License-Identifier: Apache-2.0
// Out-of-band collectives over real transports, each rank on a thread.
#include "sharp/libsharp/out_of_band.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "sharp/libsharp/meeting.h"
#include "tests/sharp/recorded_log.h"

namespace sluice::sharp::libsharp {
namespace {

using sharp::testing::RecordedLog;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Seat {
  RecordedLog log;
  std::unique_ptr<transport::Context> context;
  std::unique_ptr<Rendezvous> rendezvous;
};

class Table {
 public:
  explicit Table(int ranks) : seats_(static_cast<size_t>(ranks)) {
    for (Seat& seat : seats_) {
      seat.context = std::make_unique<transport::Context>(seat.log.logger(), transport::Settings());
      auto opened =
          Rendezvous::open(*seat.context, *transport::SocketAddress::parse("127.0.0.1:0"));
      EXPECT_TRUE(opened) << opened.error().message;
      seat.rendezvous = *std::move(opened);
      handles_.push_back(seat.rendezvous->address());
    }
  }

  // The body on all ranks at once, when they have met.
  void run(
      const std::function<void(OutOfBand&)>& body,
      const std::function<bool(int)>& comes = [](int) { return true; },
      Duration limit = std::chrono::seconds(60)) {
    std::vector<std::thread> threads;
    for (size_t at = 0; at < seats_.size(); ++at) {
      if (!comes(static_cast<int>(at))) continue;
      threads.emplace_back([&, at] {
        auto met = meet(*seats_[at].context, handles_, static_cast<int>(at), *seats_[at].rendezvous,
                        limit);
        ASSERT_TRUE(met) << met.error().message;
        // Rank 0 decides before the others give up.
        (*met)->limit(Deadline::after(at == 0 ? limit : limit * 3));
        body(**met);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<Seat> seats_;
  std::vector<transport::ListenerAddress> handles_;
};

// What the ranks say; one sentence when all say the same.
class Sentences {
 public:
  void add(const Status& status) {
    const std::lock_guard lock(mutex_);
    said_.insert(status ? "no error" : status.error().message);
  }
  std::string common() const {
    EXPECT_EQ(said_.size(), 1U) << ::testing::PrintToString(said_);
    return said_.empty() ? "" : *said_.begin();
  }

 private:
  std::mutex mutex_;
  std::set<std::string> said_;
};

std::vector<std::byte> pattern(int rank, size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t at = 0; at < size; ++at) {
    bytes[at] = static_cast<std::byte>(at * 7 + static_cast<size_t>(rank) * 31 + at / 251);
  }
  return bytes;
}

TEST(OutOfBand, GatherAndBroadcastWithAnyRoot) {
  constexpr int kRanks = 4;
  Table table(kRanks);
  table.run([](OutOfBand& ranks) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{150'000}}) {
      for (int root = 0; root < kRanks; ++root) {
        std::vector<std::byte> all(ranks.rank() == root ? size * kRanks : 0);
        ASSERT_TRUE(ranks.gather(root, pattern(ranks.rank(), size), all));
        for (size_t rank = 0; rank < kRanks && ranks.rank() == root; ++rank) {
          const auto* first = all.data() + rank * size;
          EXPECT_EQ(std::vector<std::byte>(first, first + size),
                    pattern(static_cast<int>(rank), size));
        }
        auto shared = pattern(ranks.rank(), size);
        ASSERT_TRUE(ranks.broadcast(shared, root));
        EXPECT_EQ(shared, pattern(root, size));
      }
      ASSERT_TRUE(ranks.barrier());
    }
  });
}

// Who only sends may run ahead of the others.
TEST(OutOfBand, ManyGathersAhead) {
  Table table(3);
  table.run([](OutOfBand& ranks) {
    for (int round = 0; round < 200; ++round) {
      uint32_t own = static_cast<uint32_t>(ranks.rank() * 1000 + round);
      std::vector<uint32_t> all(3);
      const auto result =
          ranks.rank() == 0 ? std::as_writable_bytes(std::span(all)) : std::span<std::byte>();
      ASSERT_TRUE(ranks.gather(0, std::as_bytes(std::span(&own, 1)), result));
      if (ranks.rank() != 0) continue;
      EXPECT_EQ(all[1], 1000U + static_cast<uint32_t>(round));
      EXPECT_EQ(all[2], 2000U + static_cast<uint32_t>(round));
    }
    ASSERT_TRUE(ranks.agree({}));
  });
}

TEST(OutOfBand, DifferentSizesAreTheSameErrorEverywhere) {
  Table table(3);
  Sentences sentences;
  table.run([&](OutOfBand& ranks) {
    const size_t size = ranks.rank() == 2 ? 9 : 8;
    std::vector<std::byte> all(ranks.rank() == 0 ? size * 3 : 0);
    const Status gathered = ranks.gather(0, pattern(ranks.rank(), size), all);
    sentences.add(ranks.agree(gathered));
  });
  EXPECT_THAT(sentences.common(), StartsWith("in-network reduction refused: rank 2 ("));
  EXPECT_THAT(sentences.common(),
              HasSubstr("sent 9 bytes in an out-of-band collective where 8 were due"));
}

// Rank 1 fails before it speaks; the others wait for it in a collective.
TEST(OutOfBand, ANoEndsTheWaitingOfTheOthers) {
  Table table(4);
  Sentences sentences;
  const TimePoint start = Clock::now();
  table.run([&](OutOfBand& ranks) {
    EXPECT_TRUE(ranks.agree({}));
    if (ranks.rank() == 1) {
      sentences.add(ranks.agree(fail(ErrorKind::remote, "no such thing here")));
      return;
    }
    sentences.add(ranks.agree(ranks.barrier()));
    // Nothing works any more.
    EXPECT_FALSE(ranks.barrier());
    EXPECT_FALSE(ranks.agree({}));
  });
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));
  EXPECT_THAT(sentences.common(), HasSubstr("rank 1 ("));
  EXPECT_THAT(sentences.common(), HasSubstr("no such thing here"));
}

TEST(OutOfBand, WhoDoesNotComeIsNamed) {
  Table table(4);
  Sentences sentences;
  const TimePoint start = Clock::now();
  table.run([&](OutOfBand& ranks) { sentences.add(ranks.agree({})); },
            [](int rank) { return rank != 2; }, std::chrono::seconds(1));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  EXPECT_THAT(sentences.common(),
              StartsWith("in-network reduction refused: rank 2 did not come within "));
}

TEST(OutOfBand, WhoFallsSilentIsNamed) {
  Table table(3);
  Sentences sentences;
  table.run(
      [&](OutOfBand& ranks) {
        if (ranks.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::seconds(4));
          return;
        }
        sentences.add(ranks.agree(ranks.barrier()));
      },
      [](int) { return true; }, std::chrono::seconds(1));
  EXPECT_THAT(sentences.common(), StartsWith("in-network reduction refused: rank 1 ("));
  EXPECT_THAT(sentences.common(), HasSubstr("did not answer in time"));
}

TEST(OutOfBand, ReportReachesWhoWatches) {
  Table table(3);
  Sentences sentences;
  table.run([&](OutOfBand& ranks) {
    ASSERT_TRUE(ranks.agree({}));
    ranks.set_up(std::chrono::seconds(10));
    if (ranks.rank() == 2) ranks.report("out of luck");
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (ranks.watch() && !deadline.passed()) std::this_thread::yield();
    sentences.add(ranks.watch());
  });
  EXPECT_THAT(sentences.common(), StartsWith("rank 2 ("));
  EXPECT_THAT(sentences.common(), HasSubstr("out of luck"));
}

TEST(OutOfBand, AnOrderlyEndIsNoTrouble) {
  Table table(3);
  table.run([&](OutOfBand& ranks) {
    ASSERT_TRUE(ranks.agree({}));
    ranks.set_up(std::chrono::seconds(10));
    if (ranks.rank() == 1) return;
    const Deadline end = Deadline::after(std::chrono::milliseconds(500));
    while (!end.passed()) ASSERT_TRUE(ranks.watch());
  });
}

Message piece(uint32_t number, uint32_t total, uint32_t offset, size_t bytes) {
  std::vector<std::byte> body;
  Writer writer(body);
  const OutOfBandPiece header{number, total, offset};
  OutOfBandPiece::fields(header, writer);
  body.resize(body.size() + bytes);
  return seal(OutOfBandPiece::kType, body);
}

// What a rank that has gone mad may send after its hello.
std::vector<std::vector<Message>> mad_messages() {
  const std::vector<std::byte> two(2);
  std::vector<Message> ahead;
  for (uint32_t number = 100; number < 1200; ++number) ahead.push_back(piece(number, 1, 0, 1));
  return {{seal(OutOfBandPiece::kType, two)},
          {piece(0, 8, 4, 4)},
          {piece(0, 8, 0, 9)},
          {piece(0, 8, 0, 0)},
          {piece(0, 8, 0, 4), piece(0, 9, 4, 5)},
          {piece(0, 8, 0, 8), piece(0, 8, 0, 8)},
          {piece(0, kMaxOutOfBandBytes + 1, 0, 1)},
          {piece(0, kMaxOutOfBandBytes, 0, 1), piece(1, kMaxOutOfBandBytes, 0, 1)},
          {encode(OutOfBandHello{1, 2, 1000, "again"})},
          {Message(17)},
          ahead};
}

TEST(OutOfBand, WhatIsGarbledEndsTheGroup) {
  for (const auto& messages : mad_messages()) {
    Seat zero;
    zero.context = std::make_unique<transport::Context>(zero.log.logger(), transport::Settings());
    auto opened = Rendezvous::open(*zero.context, *transport::SocketAddress::parse("127.0.0.1:0"));
    ASSERT_TRUE(opened);
    const std::vector<transport::ListenerAddress> handles(2, (*opened)->address());
    std::thread mad([&] {
      RecordedLog log;
      transport::Context context(log.logger(), {});
      auto connector =
          transport::Connector::open(context, handles[0], transport::Purpose::rendezvous);
      ASSERT_TRUE(connector);
      std::unique_ptr<transport::Connection> connection;
      while (connection == nullptr) {
        auto progress = (*connector)->progress();
        ASSERT_TRUE(progress) << progress.error().message;
        connection = *std::move(progress);
      }
      const auto send = [&](const Message& message) {
        EXPECT_TRUE(connection->send_message(message, {}));
        static_cast<void>(connection->flush());
      };
      send(encode(OutOfBandHello{1, 2, 20'000, "madhouse"}));
      for (const Message& message : messages) send(message);
      PeerLink link(std::move(connection), "rank 0");
      const Deadline deadline = Deadline::after(std::chrono::seconds(20));
      while (link.trouble.empty() && !deadline.passed()) link.drive();
      EXPECT_FALSE(link.trouble.empty()) << "rank 0 took it";
    });
    {
      auto met = meet(*zero.context, handles, 0, **opened, std::chrono::seconds(20));
      ASSERT_TRUE(met);
      (*met)->limit(Deadline::after(std::chrono::seconds(20)));
      const Status status = (*met)->barrier();
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message, HasSubstr("rank 1 (madhouse) was lost: "));
    }
    mad.join();
  }
}

TEST(OutOfBand, RefusesWhatCannotBe) {
  Table table(1);
  table.run([](OutOfBand& ranks) {
    EXPECT_TRUE(ranks.barrier());
    EXPECT_TRUE(ranks.agree({}));
    EXPECT_FALSE(ranks.gather(1, {}, {}));
    EXPECT_FALSE(ranks.broadcast({}, -1));
    EXPECT_TRUE(ranks.barrier()) << "a call that cannot be right changes nothing";
    ranks.close();
    EXPECT_FALSE(ranks.barrier());
  });
}

}  // namespace
}  // namespace sluice::sharp::libsharp
