// SPDX-License-Identifier: Apache-2.0
// The manager among peers that say anything, come and go, while time passes.
#include <cstdint>
#include <cstdlib>

#include "sharp/manager/daemon/manager.h"
#include "tests/fuzz/input.h"

namespace {

using namespace sluice;  // NOLINT: a program of its own

class Nowhere final : public manager::Outbox {
 public:
  void post(manager::PeerId, std::vector<sharp::Message>) override {}
  void dismiss(manager::PeerId, const std::string&) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Nowhere outbox;
  TimePoint now{};
  auto store = manager::Store::open(Logger(), "");
  if (!store) std::abort();
  manager::Manager manager(Logger(), {}, manager::Fabric(), std::move(*store), outbox, now);
  for (int acts = 0; acts < 100 && !input.empty(); ++acts) {
    const manager::PeerId peer = 1 + input.below(4);
    switch (input.below(16)) {
      case 0:
        manager.on_lost(peer, "gone", now);
        break;
      case 1:
        now += std::chrono::milliseconds(input.number<uint16_t>());
        manager.tick(now);
        break;
      case 2:
        static_cast<void>(manager.drain("node", input.below(2) == 1));
        break;
      default: {
        const auto type = static_cast<sharp::MessageType>(64 + input.below(16));
        const auto body = input.take(input.number<uint16_t>() % 1024);
        if (!manager.on_message(peer, "peer", sharp::Envelope{type, body}, now)) {
          manager.on_lost(peer, "broke the protocol", now);
        }
      }
    }
  }
  static_cast<void>(manager.status());
  static_cast<void>(manager.jobs());
  static_cast<void>(manager.trees());
  return 0;
}
