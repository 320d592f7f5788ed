// SPDX-License-Identifier: Apache-2.0
// The table agrees with itself and with the defaults of those who use its values.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/config.h"
#include "base/parameter_value.h"
#include "sharp/client/client.h"
#include "transport/endpoint.h"

namespace sluice {
namespace {

Configuration defaults() {
  Configuration::Origin origin;
  origin.get = [](const char*) -> const char* { return nullptr; };
  origin.names = [] { return std::vector<std::string>(); };
  origin.etc_file = "/nonexistent/nccl.conf";
  return Configuration::load(Logger(), origin);
}

TEST(ParameterTable, IsSound) {
  std::set<std::string> names;
  for (const ParameterInfo& info : parameter_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(&info_of(info.parameter), &info);
    EXPECT_LE(info.minimum, info.maximum) << info.name;
    const std::string doc = info.doc;
    ASSERT_FALSE(doc.empty()) << info.name;
    EXPECT_EQ(doc.back(), '.') << info.name;
    EXPECT_EQ(doc.find_first_of("\n|"), std::string::npos) << info.name;
  }
}

TEST(ParameterTable, DefaultsAreAccepted) {
  std::set<std::string> names;
  for (const ParameterInfo& info : parameter_table()) names.insert(info.name);
  for (const ParameterInfo& info : parameter_table()) {
    const std::string text = info.default_value;
    const bool open_choice = info.type == ParameterType::choice && text.empty();
    EXPECT_TRUE(open_choice || names.contains(text) || parse_value(info, text)) << info.name;
  }
}

TEST(ParameterTable, TransportDefaultsAgree) {
  const Configuration configuration = defaults();
  const transport::Settings settings;
  EXPECT_EQ(settings.choice, transport::TransportChoice::automatic);
  EXPECT_EQ(configuration.text(Parameter::sluice_transport), "auto");
  EXPECT_EQ(configuration.flag(Parameter::sluice_cma), settings.cross_memory_attach);
  EXPECT_EQ(configuration.integer(Parameter::sluice_socket_buffer), settings.socket_buffer);
  EXPECT_EQ(configuration.bytes(Parameter::sluice_shm_ring_bytes), settings.shm_ring_bytes);
  EXPECT_EQ(configuration.duration(Parameter::sluice_connect_timeout), settings.connect_timeout);
  EXPECT_EQ(configuration.duration(Parameter::sluice_accept_timeout), settings.accept_timeout);
  EXPECT_EQ(configuration.duration(Parameter::sluice_peer_timeout), settings.peer_timeout);
  EXPECT_EQ(configuration.integer(Parameter::nccl_socket_retry_cnt), settings.connect_retries);
  EXPECT_EQ(
      std::chrono::milliseconds(configuration.integer(Parameter::nccl_socket_retry_sleep_msec)),
      settings.retry_sleep);
}

TEST(ParameterTable, ClientDefaultsAgree) {
  const Configuration configuration = defaults();
  const sharp::ClientSettings settings;
  EXPECT_EQ(configuration.bytes(Parameter::sluice_chunk_size), settings.chunk_bytes);
  EXPECT_EQ(configuration.integer(Parameter::sluice_window), settings.window);
  EXPECT_EQ(configuration.bytes(Parameter::sluice_latency_threshold), settings.latency_threshold);
  EXPECT_EQ(configuration.duration(Parameter::sluice_connect_timeout), settings.connect_timeout);
  EXPECT_EQ(configuration.integer(Parameter::sluice_priority), settings.priority);
  EXPECT_EQ(settings.precision, sharp::Precision::compact);
  EXPECT_EQ(configuration.text(Parameter::sluice_precision), "compact");
  EXPECT_EQ(settings.verification, sharp::Verification::off);
  EXPECT_EQ(configuration.text(Parameter::sluice_verify), "off");
  EXPECT_EQ(configuration.flag(Parameter::sluice_fallback), settings.fallback);
}

}  // namespace
}  // namespace sluice
