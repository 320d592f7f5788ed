// SPDX-License-Identifier: Apache-2.0
// Which source wins, what happens to bad values and to names that nobody knows.
#include "base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/base/recording_logger.h"
#include "tests/base/scratch_folder.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigurationTest : public ::testing::Test {
 protected:
  void set(const std::string& name, const std::string& value) { environment_[name] = value; }

  // Nothing of the machine that runs the test is seen.
  Configuration load() {
    Configuration::Origin origin;
    origin.get = [this](const char* name) -> const char* {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    };
    origin.names = [this] {
      std::vector<std::string> names;
      for (const auto& [name, value] : environment_) names.push_back(name);
      return names;
    };
    origin.etc_file = etc_file_;
    return Configuration::load(log_.logger(), origin);
  }

  test::ScratchFolder folder_;
  std::map<std::string, std::string> environment_;
  std::string etc_file_ = folder_.path() + "/absent.conf";
  test::RecordingLogger log_;
};

TEST_F(ConfigurationTest, DefaultsWithoutAWord) {
  const Configuration configuration = load();
  EXPECT_EQ(configuration.integer(Parameter::nccl_socket_nthreads), -2);
  EXPECT_EQ(configuration.text(Parameter::sluice_transport), "auto");
  EXPECT_EQ(configuration.bytes(Parameter::sluice_chunk_size), 65536U);
  EXPECT_EQ(configuration.duration(Parameter::sluice_connect_timeout), seconds(30));
  EXPECT_TRUE(configuration.flag(Parameter::sluice_cma));
  EXPECT_FALSE(configuration.is_set(Parameter::sluice_agg));
  EXPECT_EQ(configuration.source(Parameter::sluice_agg), Source::built_in);
  EXPECT_THAT(log_.lines(), IsEmpty());
}

// Each source sets the lane; they are taken away one by one, strongest first.
TEST_F(ConfigurationTest, SourcesInOrder) {
  const std::string nccl_file = folder_.file("nccl.conf", "SLUICE_LANE=2\n");
  folder_.file(".nccl.conf", "SLUICE_LANE=3\n");
  etc_file_ = folder_.file("etc.conf", "SLUICE_LANE=4\n");
  set("HOME", folder_.path());
  set("NCCL_CONF_FILE", nccl_file);
  set("SLUICE_CONFIG", folder_.file("sluice.conf", "SLUICE_LANE=5\n"));
  set("SLUICE_LANE", "1");
  const auto expect = [this](int64_t lane, Source source) {
    const Configuration configuration = load();
    EXPECT_EQ(configuration.integer(Parameter::sluice_lane), lane);
    EXPECT_EQ(configuration.source(Parameter::sluice_lane), source);
  };
  expect(1, Source::environment);
  environment_.erase("SLUICE_LANE");
  expect(2, Source::nccl_file);
  environment_.erase("NCCL_CONF_FILE");
  expect(3, Source::home_file);
  environment_.erase("HOME");
  expect(4, Source::etc_file);
  etc_file_ = folder_.path() + "/absent.conf";
  expect(5, Source::sluice_file);
  environment_.erase("SLUICE_CONFIG");
  expect(-1, Source::built_in);
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(ConfigurationTest, NamedFileReplacesTheHomeFile) {
  folder_.file(".nccl.conf", "SLUICE_LANE=3\n");
  set("HOME", folder_.path());
  set("NCCL_CONF_FILE", folder_.file("nccl.conf", "SLUICE_CMA=0\n"));
  const Configuration configuration = load();
  EXPECT_FALSE(configuration.is_set(Parameter::sluice_lane));
  EXPECT_FALSE(configuration.flag(Parameter::sluice_cma));
}

TEST_F(ConfigurationTest, SourcesMixByParameter) {
  etc_file_ = folder_.file("etc.conf", "SLUICE_WINDOW=8\nSLUICE_CHUNK_SIZE=128K\n");
  set("SLUICE_WINDOW", "4");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.integer(Parameter::sluice_window), 4);
  EXPECT_EQ(configuration.bytes(Parameter::sluice_chunk_size), 131072U);
}

TEST_F(ConfigurationTest, SluiceFileMayBeNamedByAnNcclFile) {
  const std::string sluice_file = folder_.file("sluice.conf", "SLUICE_LANE=5\n");
  etc_file_ = folder_.file("etc.conf", "SLUICE_CONFIG=" + sluice_file + "\n");
  EXPECT_EQ(load().integer(Parameter::sluice_lane), 5);
}

TEST_F(ConfigurationTest, FilesThatCannotBeReadAreNamed) {
  set("NCCL_CONF_FILE", folder_.path() + "/nowhere.conf");
  set("SLUICE_CONFIG", folder_.path());  // a folder
  load();
  EXPECT_THAT(log_.warnings(), ElementsAre(HasSubstr("nowhere.conf"), HasSubstr(folder_.path())));
}

TEST_F(ConfigurationTest, BadValueFallsToTheNextSource) {
  etc_file_ = folder_.file("etc.conf", "SLUICE_LANE=4\n");
  set("SLUICE_LANE", "9");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.integer(Parameter::sluice_lane), 4);
  EXPECT_EQ(configuration.source(Parameter::sluice_lane), Source::etc_file);
  EXPECT_THAT(log_.warnings(),
              ElementsAre(AllOf(HasSubstr("SLUICE_LANE is \"9\" in the environment"),
                                HasSubstr("-1 to 7"), HasSubstr("taking 4 from " + etc_file_))));
}

TEST_F(ConfigurationTest, BadValueFallsToTheDefault) {
  set("SLUICE_CONNECT_TIMEOUT", "soon\n");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.duration(Parameter::sluice_connect_timeout), seconds(30));
  EXPECT_EQ(configuration.source(Parameter::sluice_connect_timeout), Source::built_in);
  EXPECT_THAT(log_.warnings(),
              ElementsAre(AllOf(HasSubstr("\"soon?\""), HasSubstr("a time from 10ms to 1h"),
                                HasSubstr("taking 30s from the default"))));
}

// NCCL sets variables of its files only where none is there, not even an empty one.
TEST_F(ConfigurationTest, SetToNothingIsNotSetAndHidesFiles) {
  etc_file_ = folder_.file("etc.conf", "SLUICE_LANE=4\nSLUICE_AGG=node:1\n");
  set("SLUICE_LANE", "");
  set("SLUICE_AGG", "");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.integer(Parameter::sluice_lane), -1);
  EXPECT_FALSE(configuration.is_set(Parameter::sluice_lane));
  EXPECT_EQ(configuration.text(Parameter::sluice_agg), "");
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(ConfigurationTest, AcceptTimeoutFollowsConnectTimeout) {
  set("SLUICE_CONNECT_TIMEOUT", "1500ms");
  Configuration configuration = load();
  EXPECT_EQ(configuration.duration(Parameter::sluice_accept_timeout), milliseconds(1500));
  EXPECT_FALSE(configuration.is_set(Parameter::sluice_accept_timeout));
  set("SLUICE_ACCEPT_TIMEOUT", "off");
  configuration = load();
  EXPECT_EQ(configuration.duration(Parameter::sluice_accept_timeout), Duration::max());
  EXPECT_EQ(configuration.duration(Parameter::sluice_connect_timeout), milliseconds(1500));
}

TEST_F(ConfigurationTest, MisspeltNamesAreWarnedAboutOnceWithTheNearest) {
  set("NCCL_SOKCET_IFNAME", "eth0");
  set("NCCL_IB_RETRY_COUNT", "7");
  set("SLUICE_CHUNKSIZE", "64K");
  set("SLUICE_COFFEE_MACHINE", "on");
  etc_file_ = folder_.file("etc.conf", "SLUICE_CHUNKSIZE=4K\nSLUICE_LAEN=1\n");
  load();
  EXPECT_THAT(
      log_.warnings(),
      ::testing::UnorderedElementsAre(
          AllOf(HasSubstr("NCCL_SOKCET_IFNAME"), HasSubstr("NCCL_SOCKET_IFNAME?")),
          AllOf(HasSubstr("NCCL_IB_RETRY_COUNT"), HasSubstr("NCCL_IB_RETRY_CNT?")),
          AllOf(HasSubstr("SLUICE_CHUNKSIZE in the environment"), HasSubstr("SLUICE_CHUNK_SIZE?")),
          AllOf(HasSubstr("SLUICE_COFFEE_MACHINE"), HasSubstr("'sluice config'")),
          AllOf(HasSubstr("etc.conf line 2"), HasSubstr("SLUICE_LANE?"))));
}

TEST_F(ConfigurationTest, SluiceFileHoldsOnlySettingsOfSluice) {
  set("SLUICE_CONFIG",
      folder_.file("sluice.conf", "NCCL_DEBUG=INFO\nSLUICE_CONFIG=other\nSLUICE_LANE=1\n"));
  load();
  EXPECT_THAT(log_.warnings(), ElementsAre(AllOf(HasSubstr("line 1"), HasSubstr("NCCL_DEBUG")),
                                           AllOf(HasSubstr("line 2"), HasSubstr("SLUICE_CONFIG"))));
}

TEST_F(ConfigurationTest, LinesThatAreNoSettingsAreNamed) {
  etc_file_ = folder_.file("etc.conf", "SLUICE_LANE 4\n");
  load();
  EXPECT_THAT(log_.warnings(), ElementsAre(HasSubstr("etc.conf line 1 is ignored")));
}

TEST_F(ConfigurationTest, SaysWhatWasSetAndWhere) {
  set("SLUICE_TRANSPORT", "TCP");
  EXPECT_EQ(load().text(Parameter::sluice_transport), "tcp");
  ASSERT_EQ(log_.lines().size(), 1U);
  EXPECT_EQ(log_.lines()[0].level, LogLevel::info);
  EXPECT_EQ(log_.lines()[0].subsystem, LogSubsystem::env);
  EXPECT_EQ(log_.lines()[0].text, "SLUICE_TRANSPORT set to \"tcp\" by the environment");
}

TEST(ConfigurationOrigin, ReadsThisProcess) {
  ASSERT_EQ(::setenv("SLUICE_TEST_ORIGIN", "here", 1), 0);
  const Configuration::Origin origin = Configuration::Origin::process();
  EXPECT_STREQ(origin.get("SLUICE_TEST_ORIGIN"), "here");
  EXPECT_THAT(origin.names(), Contains("SLUICE_TEST_ORIGIN"));
  EXPECT_EQ(origin.get("SLUICE_TEST_ABSENT"), nullptr);
  EXPECT_EQ(origin.etc_file, "/etc/nccl.conf");
}

}  // namespace
}  // namespace sluice
