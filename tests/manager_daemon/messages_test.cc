// SPDX-License-Identifier: Apache-2.0
// The manager's messages: long ones in pieces, and what nobody may say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sharp/wire/management.h"
#include "sharp/wire/pieces.h"

namespace sluice::sharp {
namespace {

using ::testing::HasSubstr;

template <typename T>
Result<T> sent_and_received(const T& value) {
  PieceCollector collector;
  for (const Message& piece : encode_pieces(value)) {
    const auto envelope = collector.add(piece);
    if (!envelope) return fail(envelope.error());
    if (*envelope) return decode<T>(**envelope);
  }
  return fail(ErrorKind::internal, "more pieces were due");
}

TreeAsk whole_ask() {
  TreeAsk ask;
  ask.request = 17;
  ask.lease = uint64_t{3} << 32 | 5;
  ask.group.fill(9);
  ask.epoch = 4;
  ask.job = "train";
  ask.tenant = "blue";
  ask.asker = "gpu01, pid 12";
  ask.priority = 7;
  ask.exclusive = 1;
  ask.chunk_bytes = 65536;
  ask.window = 16;
  ask.latency_slot_bytes = 4096 * 64;
  // Two neighbours never share a host, so each rank is an entry of its own.
  for (int rank = 0; rank < kMaxMembers; ++rank) {
    ask.members.push_back({format_text("10.%d.%d.1", rank / 256, rank % 256), 1});
  }
  ask.avoid = {"10.0.0.1:7654"};
  return ask;
}

TEST(ManagerMessages, FourThousandRanksTravelInPieces) {
  const TreeAsk ask = whole_ask();
  EXPECT_GT(encode_pieces(ask).size(), 10U);
  const auto got = sent_and_received(ask);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->lease, ask.lease);
  EXPECT_EQ(got->members, ask.members);
  EXPECT_EQ(got->avoid, ask.avoid);
  EXPECT_TRUE(check(*got));

  TreeGrant grant;
  for (uint16_t rank = 0; rank < kMaxMembers; ++rank) {
    grant.nodes.push_back({"10.250.250.250:65535", static_cast<uint16_t>(rank / 2), {{rank, 1}}});
  }
  const auto granted = sent_and_received(grant);
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_EQ(granted->nodes, grant.nodes);
}

TEST(ManagerMessages, WhatNobodyMayAskIsASentence) {
  const auto objection = [](auto&& change) {
    TreeAsk ask = whole_ask();
    change(ask);
    const Status status = check(ask);
    return status ? std::string("none") : status.error().message;
  };
  EXPECT_EQ(objection([](TreeAsk&) {}), "none");
  EXPECT_THAT(objection([](TreeAsk& ask) { ask.members.clear(); }), HasSubstr("1 to 4096 members"));
  EXPECT_THAT(objection([](TreeAsk& ask) {
                ask.members.push_back({"10.0.0.1", 60000});
              }),
              HasSubstr("1 to 4096 members"));
  EXPECT_THAT(objection([](TreeAsk& ask) { ask.members[3].host.clear(); }), HasSubstr("no host"));
  EXPECT_THAT(objection([](TreeAsk& ask) { ask.chunk_bytes = 3; }), HasSubstr("a chunk has"));
  EXPECT_THAT(objection([](TreeAsk& ask) { ask.window = 0; }), HasSubstr("a window has"));
  EXPECT_THAT(objection([](TreeAsk& ask) { ask.job.assign(300, 'x'); }), HasSubstr("255 bytes"));
  EXPECT_THAT(objection([](TreeAsk& ask) { ask.avoid.assign(300, "a"); }), HasSubstr("avoid"));
}

TEST(ManagerMessages, PiecesThatDoNotBelongTogetherAreRefused) {
  const auto asked = encode_pieces(whole_ask());
  PieceCollector mixed;
  ASSERT_TRUE(mixed.add(asked[0]));
  EXPECT_FALSE(mixed.add(encode_pieces(Release{1})[0]));
  PieceCollector empty;
  EXPECT_FALSE(empty.add(seal(MessageType::release, {})));
  // Pieces without end are not collected without end.
  PieceCollector endless;
  Status status;
  for (size_t at = 0; status && at < 2 * kMaxLongBody / kMaxPiece; ++at) {
    const auto added = endless.add(asked[0]);
    if (!added) status = fail(added.error());
  }
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("more than"));
}

TEST(ManagerMessages, DamagedBytesAreNeverMoreThanAnError) {
  std::mt19937 random(7);
  const auto pieces = encode_pieces(whole_ask());
  for (int round = 0; round < 2000; ++round) {
    Message piece = pieces[random() % pieces.size()];
    piece[random() % piece.size()] ^= static_cast<std::byte>(1 + random() % 255);
    PieceCollector collector;
    EXPECT_FALSE(collector.add(piece));
  }
  // Behind a right checksum anything may stand.
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> body(random() % 200);
    for (std::byte& byte : body) byte = static_cast<std::byte>(random());
    if (const auto decoded = decode<TreeAsk>(Envelope{MessageType::tree_ask, body})) {
      static_cast<void>(check(*decoded));
    }
    static_cast<void>(decode<NodeGroups>(Envelope{MessageType::node_groups, body}));
    static_cast<void>(decode<TreeGrant>(Envelope{MessageType::tree_grant, body}));
  }
}

}  // namespace
}  // namespace sluice::sharp
