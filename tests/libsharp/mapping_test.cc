// SPDX-License-Identifier: Apache-2.0
// Types, operators, devices, variables, calls, and what is no libsharp_coll: the parts that need no
// other rank.
#include "sharp/libsharp/mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "sharp/libsharp/call.h"
#include "sharp/libsharp/library.h"
#include "sharp/libsharp/settings.h"
#include "tests/sharp/recorded_log.h"

namespace sluice::sharp::libsharp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Mapping, WhatSharpRefuses) {
  const Capabilities none{0, true, true};
  const Capabilities all{~uint64_t{0}, true, true};
  for (int type = 0; type < kDataTypes; ++type) {
    const auto data_type = static_cast<DataType>(type);
    EXPECT_FALSE(all.supports(data_type, ReduceOperator::product));
    const bool fp8 = data_type == DataType::float8_e4m3 || data_type == DataType::float8_e5m2;
    const bool newer = data_type == DataType::bfloat16 || data_type == DataType::int8 ||
                       data_type == DataType::uint8;
    for (const auto reduce_operator :
         {ReduceOperator::sum, ReduceOperator::min, ReduceOperator::max}) {
      EXPECT_EQ(all.supports(data_type, reduce_operator), !fp8) << name_of(data_type);
      EXPECT_EQ(none.supports(data_type, reduce_operator), !fp8 && !newer) << name_of(data_type);
    }
  }
}

TEST(Mapping, Devices) {
  EXPECT_EQ(device_list(""), "");
  EXPECT_EQ(device_list("mlx5_0"), "mlx5_0:1");
  EXPECT_EQ(device_list("mlx5_0:2"), "mlx5_0:2");
  EXPECT_EQ(device_list("mlx5_0+mlx5_1"), "mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(device_list("mlx5_0_dma+mlx5_1_dma"), "mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(device_list("+mlx5_0+_dma+"), "mlx5_0:1");
}

Settings settings_of(const std::map<std::string, std::string>& environment,
                     sharp::testing::RecordedLog& log) {
  return read_environment(
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      log.logger());
}

TEST(Environment, IsThatOfTheExistingPlugin) {
  sharp::testing::RecordedLog log;
  const Settings none = settings_of({}, log);
  EXPECT_FALSE(none.disabled);
  EXPECT_EQ(none.group_size_threshold, 2);
  EXPECT_TRUE(none.newer_data_types && none.allgather && none.reduce_scatter);
  EXPECT_FALSE(none.trace);
  EXPECT_FALSE(none.overlap_allgather.has_value());
  const Settings some = settings_of({{"NCCL_SHARP_DISABLE", "1"},
                                     {"NCCL_SHARP_GROUP_SIZE_THRESH", "4"},
                                     {"NCCL_SHARP_V3_DATATYPES", "0"},
                                     {"NCCL_SHARP_DISABLE_ALLGATHER", "1"},
                                     {"NCCL_SHARP_DISABLE_REDUCE_SCATTER", "1"},
                                     {"NCCL_SHARP_COLL_TRACE", "1"},
                                     {"SHARP_COLLNET_OVERLAP_AG", "0"}},
                                    log);
  EXPECT_TRUE(some.disabled && some.trace);
  EXPECT_EQ(some.group_size_threshold, 4);
  EXPECT_FALSE(some.newer_data_types || some.allgather || some.reduce_scatter);
  EXPECT_EQ(some.overlap_allgather, std::optional<bool>(false));
  EXPECT_EQ(log.all(), "");
}

TEST(Environment, NonsenseIsWarnedAbout) {
  sharp::testing::RecordedLog log;
  const Settings settings =
      settings_of({{"NCCL_SHARP_GROUP_SIZE_THRESH", "many"}, {"NCCL_SHARP_DISABLE", "7"}}, log);
  EXPECT_EQ(settings.group_size_threshold, 2);
  EXPECT_FALSE(settings.disabled);
  EXPECT_TRUE(log.contains("NCCL_SHARP_GROUP_SIZE_THRESH: many is not a number"));
  EXPECT_TRUE(log.contains("NCCL_SHARP_DISABLE: 7 is not a number from 0 to 1"));
}

TEST(Environment, DefaultsForLibsharpYieldToTheUser) {
  ::setenv("SHARP_COLL_LOG_LEVEL", "5", 1);
  ::unsetenv("SHARP_COLL_ENABLE_SAT");
  ::unsetenv("SHARP_COLL_LOCK_ON_COMM_INIT");
  prepare_environment({});
  EXPECT_STREQ(std::getenv("SHARP_COLL_LOG_LEVEL"), "5");
  EXPECT_STREQ(std::getenv("SHARP_COLL_ENABLE_SAT"), "1");
  EXPECT_STREQ(std::getenv("SHARP_COLL_LOCK_ON_COMM_INIT"), "1");
  Settings overlap;
  overlap.overlap_allgather = true;
  prepare_environment(overlap);
  EXPECT_STREQ(std::getenv("SHARP_COLL_ENABLE_SAT"), "0");
  EXPECT_STREQ(std::getenv("SHARP_COLL_ENABLE_MCAST"), "1");
}

TEST(Library, IsSoughtWhereTheVendorPutsIt) {
  EXPECT_THAT(candidates([](const char*) { return nullptr; }),
              ElementsAre("libsharp_coll.so", "/opt/mellanox/sharp/lib/libsharp_coll.so"));
  EXPECT_EQ(candidates([](const char*) { return "/opt/hpcx/sharp"; }).front(),
            "/opt/hpcx/sharp/lib/libsharp_coll.so");
}

TEST(Library, AnotherLibraryIsRefused) {
  const auto library = Library::open("libm.so.6");
  ASSERT_FALSE(library);
#ifdef SLUICE_HAVE_SHARP_HEADER
  EXPECT_THAT(library.error().message, HasSubstr("it lacks sharp_coll_init"));
#else
  EXPECT_THAT(library.error().message, HasSubstr("was built without SHARP's headers"));
#endif
}

TEST(Library, TellsWhatToDo) {
  const auto library = Library::open(SLUICE_STAND_IN_LIBRARY);
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT((*library)->describe(SHARP_COLL_EQUOTA), HasSubstr("SHARP_COLL_JOB_QUOTA_"));
  EXPECT_EQ((*library)->describe(SHARP_COLL_EINVAL), "Invalid argument (-10)");
  EXPECT_THAT((*library)->path(), HasSubstr("libsharp_coll.so"));
}

TEST(Call, BytesInWindow) {
  EXPECT_EQ(bytes_in_window(0, 100, 0, 300), 100U);
  EXPECT_EQ(bytes_in_window(1, 100, 150, 100), 50U);
  EXPECT_EQ(bytes_in_window(2, 100, 150, 100), 50U);
  EXPECT_EQ(bytes_in_window(0, 100, 150, 100), 0U);
  EXPECT_EQ(bytes_in_window(3, 0, 0, 0), 0U);
}

TEST(Call, WhatCannotBeRightIsRefused) {
  const Capabilities all{~uint64_t{0}, true, true};
  std::byte memory[64] = {};
  const Part half{memory, 32, nullptr};
  ReduceScatterArguments scatter;
  scatter.bytes_per_rank = 32;
  scatter.window_bytes = 32;
  scatter.receive = memory;
  scatter.send = std::span(&half, 1);
  EXPECT_TRUE(check(scatter, all, 0, 2));
  scatter.window_offset = 30;
  EXPECT_FALSE(check(scatter, all, 0, 2)) << "cuts an element";
  scatter.window_offset = 36;
  EXPECT_FALSE(check(scatter, all, 0, 2)) << "beyond the end";
  scatter.window_offset = 0;
  EXPECT_FALSE(check(scatter, {~uint64_t{0}, true, false}, 0, 2)) << "switched off";
  AllgatherArguments gather;
  gather.send = memory;
  gather.bytes_per_rank = 32;
  gather.window_bytes = 64;
  gather.receive = std::span(&half, 1);
  EXPECT_FALSE(check(gather, all, 0, 2)) << "parts too short";
  gather.window_bytes = 16;
  EXPECT_FALSE(check(gather, all, 0, 2)) << "parts too long";
  gather.window_bytes = 32;
  EXPECT_TRUE(check(gather, all, 0, 2));
  gather.bytes_per_rank = ~size_t{0} / 2;
  EXPECT_FALSE(check(gather, all, 0, 3)) << "the blocks overflow";
  AllreduceArguments reduce;
  reduce.send = reduce.receive = memory;
  reduce.count = 16;
  EXPECT_TRUE(check(reduce, all));
  const transport::MemoryRegion region(memory, 60, transport::MemoryType::host);
  reduce.receive_region = &region;
  EXPECT_FALSE(check(reduce, all)) << "outside of its region";
  reduce.receive_region = nullptr;
  reduce.count = kMaxOperationBytes;
  EXPECT_FALSE(check(reduce, all)) << "too large";
  reduce.count = 1;
  reduce.send = nullptr;
  EXPECT_FALSE(check(reduce, all)) << "null";
}

}  // namespace
}  // namespace sluice::sharp::libsharp
