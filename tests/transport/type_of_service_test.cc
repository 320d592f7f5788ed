// SPDX-License-Identifier: Apache-2.0
// The lane's classes are on the sockets of both sides: in order on set-up and the first stream,
// adaptive on further streams.
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/transport/support.h"

namespace sluice::transport {
namespace {

// Type-of-service bytes of all connected TCP sockets of this process.
std::vector<int> classes_of_connected_sockets() {
  std::vector<int> classes;
  DIR* directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) {
    const int socket = std::atoi(entry->d_name);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    int value = -1;
    socklen_t value_size = sizeof value;
    if (peer.ss_family == AF_INET) {
      ::getsockopt(socket, IPPROTO_IP, IP_TOS, &value, &value_size);
    } else if (peer.ss_family == AF_INET6) {
      ::getsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &value, &value_size);
    } else {
      continue;
    }
    classes.push_back(value);
  }
  ::closedir(directory);
  return classes;
}

class TypeOfService : public testing::TestWithParam<bool> {};

TEST_P(TypeOfService, BothClassesAreOnBothSides) {
  constexpr int kInOrder = 2 * 8 << 2;
  constexpr int kAdaptive = (2 * 8 + 1) << 2;
  const auto before = classes_of_connected_sockets().size();
  Settings settings;
  settings.choice = TransportChoice::tcp;
  settings.streams = 3;
  settings.in_order_tos = kInOrder;
  settings.adaptive_tos = kAdaptive;
  Pair pair(settings, GetParam());
  ASSERT_TRUE(pair.ok());
  const std::vector<int> classes = classes_of_connected_sockets();
  ASSERT_EQ(classes.size() - before, 8u) << "set-up and three streams, two ends each";
  EXPECT_EQ(std::ranges::count(classes, kInOrder), 4);
  EXPECT_EQ(std::ranges::count(classes, kAdaptive), 4);
}

INSTANTIATE_TEST_SUITE_P(Families, TypeOfService, testing::Bool(), [](const auto& tested) {
  return tested.param ? std::string("IPv6") : std::string("IPv4");
});

}  // namespace
}  // namespace sluice::transport
