// SPDX-License-Identifier: Apache-2.0
// The manager's memory: what is committed is there afterwards, wherever the file was cut off or
// damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sharp/manager/store/store.h"

namespace sluice::manager {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) != nullptr ? name : "";
  }
  ~JournalTest() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return folder_ + "/state"; }
  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void overwrite(const std::string& text) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << text;
  }

  std::string folder_;
};

Record record(const std::string& text) {
  Record bytes;
  for (const char character : text) bytes.push_back(static_cast<std::byte>(character));
  return bytes;
}

std::vector<Record> three_records() {
  return {record("first"), record(std::string(5000, 'x')), record("third")};
}

TEST_F(JournalTest, GivesBackWhatWasCommitted) {
  Journal::Content content;
  {
    auto journal = Journal::open(file(), content);
    ASSERT_TRUE(journal) << journal.error().message;
    for (const Record& each : three_records()) {
      journal->append(each);
      ASSERT_TRUE(journal->commit());
    }
    journal->append(record("never committed"));
  }
  const auto journal = Journal::open(file(), content);
  ASSERT_TRUE(journal);
  EXPECT_EQ(content.records, three_records());
  EXPECT_THAT(content.damage, IsEmpty());
}

// A kill or a full disk may leave any number of bytes of the last write.
TEST_F(JournalTest, AnyCutLeavesThePrefix) {
  Journal::Content content;
  {
    auto journal = Journal::open(file(), content);
    ASSERT_TRUE(journal);
    for (const Record& each : {record("first"), record("second")}) journal->append(each);
    ASSERT_TRUE(journal->commit());
  }
  const std::string whole = bytes();
  for (size_t size = 8; size <= whole.size(); ++size) {
    overwrite(whole.substr(0, size));
    const auto journal = Journal::open(file(), content);
    ASSERT_TRUE(journal) << size;
    EXPECT_THAT(content.damage, IsEmpty()) << size;
    const size_t expected = size == whole.size() ? 2 : size >= 8 + 8 + 5 ? 1 : 0;
    EXPECT_EQ(content.records.size(), expected) << size;
  }
}

TEST_F(JournalTest, DamageIsSaidAndKeptAside) {
  Journal::Content content;
  {
    auto journal = Journal::open(file(), content);
    ASSERT_TRUE(journal);
    for (const Record& each : three_records()) journal->append(each);
    ASSERT_TRUE(journal->commit());
  }
  std::string damaged = bytes();
  damaged[100] = static_cast<char>(damaged[100] ^ 1);
  overwrite(damaged);
  {
    const auto journal = Journal::open(file(), content);
    ASSERT_TRUE(journal);
    EXPECT_EQ(content.records.size(), 1U);
    EXPECT_THAT(content.damage, HasSubstr("is damaged at byte"));
    EXPECT_TRUE(std::filesystem::exists(file() + ".damaged"));
  }
  overwrite("not a state file at all");
  const auto journal = Journal::open(file(), content);
  ASSERT_TRUE(journal);
  EXPECT_THAT(content.records, IsEmpty());
  EXPECT_THAT(content.damage, HasSubstr("does not begin as"));
}

TEST_F(JournalTest, OneProcessAtATime) {
  Journal::Content content;
  const auto first = Journal::open(file(), content);
  ASSERT_TRUE(first);
  const auto second = Journal::open(file(), content);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("is in use"));
}

StoredLease lease(uint32_t slot, uint32_t generation, const std::string& job) {
  StoredLease stored;
  stored.client_epoch = 3;
  stored.lease.lease = LeaseId{slot, generation}.number();
  stored.lease.group.fill(static_cast<uint8_t>(slot));
  stored.lease.job = job;
  stored.lease.exclusive = true;
  stored.lease.members = {"gpu01", "gpu02"};
  stored.lease.rails = {0};
  stored.lease.trees = {{0,
                         {{"10.0.0.1:7654",
                           0xffff,
                           {{TreeChild::Kind::rank, 0}, {TreeChild::Kind::rank, 1}},
                           {1, 4096, 0}}}}};
  return stored;
}

TEST_F(JournalTest, TheStoreRemembersLeasesAndDrains) {
  {
    auto store = Store::open(Logger(), file());
    ASSERT_TRUE(store) << store.error().message;
    store->put(lease(1, 7, "ended"));
    store->put(lease(2, 9, "old name"));
    store->put(lease(2, 9, "new name"));
    store->drain("10.0.0.1:7654", true);
    store->drain("10.0.0.2:7654", true);
    store->drain("10.0.0.2:7654", false);
    store->end(LeaseId{1, 7}.number());
    store->commit(Clock::now());
  }
  const auto store = Store::open(Logger(), file());
  ASSERT_TRUE(store);
  const StoredState& state = store->state();
  ASSERT_EQ(state.leases.size(), 1U);
  const StoredLease& kept = state.leases.begin()->second;
  EXPECT_EQ(kept.client_epoch, 3U);
  EXPECT_EQ(kept.lease.job, "new name");
  EXPECT_TRUE(kept.lease.exclusive);
  EXPECT_EQ(kept.lease.members, (std::vector<std::string>{"gpu01", "gpu02"}));
  ASSERT_EQ(kept.lease.trees.size(), 1U);
  ASSERT_EQ(kept.lease.trees[0].nodes.size(), 1U);
  EXPECT_EQ(kept.lease.trees[0].nodes[0].address, "10.0.0.1:7654");
  EXPECT_EQ(kept.lease.trees[0].nodes[0].children.size(), 2U);
  EXPECT_EQ(kept.lease.trees[0].nodes[0].amounts.memory, 4096U);
  EXPECT_EQ(state.draining, (std::set<std::string>{"10.0.0.1:7654"}));
  EXPECT_EQ(state.generation, 9U);
}

// The file stays in proportion to what is in it.
TEST_F(JournalTest, TheStoreCompacts) {
  auto store = Store::open(Logger(), file());
  ASSERT_TRUE(store);
  for (uint32_t round = 0; round < 20000; ++round) {
    store->put(lease(1, round, std::string(200, 'j')));
    store->end(LeaseId{1, round}.number());
    if (round % 100 == 0) store->commit(Clock::now());
  }
  store->commit(Clock::now());
  EXPECT_LT(std::filesystem::file_size(file()), 2U << 20);
}

}  // namespace
}  // namespace sluice::manager
