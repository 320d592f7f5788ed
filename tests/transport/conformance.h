// SPDX-License-Identifier: Apache-2.0
// The fixture of the conformance suites: a connected pair of one kind, of which the left end writes
// to the right one.
#pragma once

#include "tests/transport/support.h"

namespace sluice::transport {

class Conformance : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override { ASSERT_TRUE(pair_.ok()); }

  // Right announces, left gets to know.
  void announce(std::span<const LocalWindow> windows, const std::string& note = "") {
    const size_t before = pair_.left.handler.announcements.size();
    ASSERT_TRUE(pair_.right.connection->announce(windows, bytes_of(note)));
    ASSERT_TRUE(pair_.pump([&] { return pair_.left.handler.announcements.size() > before; }));
  }
  void announce(WindowId id, std::vector<std::byte>& memory) {
    const LocalWindow window{id, memory.data(), memory.size(), nullptr};
    announce({&window, 1});
  }
  Write write_to(WindowId id, const std::vector<std::byte>& data, uint64_t token) {
    Write write;
    write.window = pair_.left.handler.remote.at(id);
    write.data = data.data();
    write.size = data.size();
    write.token = token;
    return write;
  }

  Pair pair_{GetParam()};
};
}  // namespace sluice::transport
