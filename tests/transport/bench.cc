// SPDX-License-Identifier: Apache-2.0
// How fast the transports are between two processes of this host: bandwidth of large writes, round
// trip of small ones, and a memcpy of the same size to compare with. Not a test: transport_bench
// [seconds per figure].
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/transport/support.h"

namespace sluice::transport {
namespace {

constexpr size_t kWindow = 64 << 20;
constexpr size_t kCycle = 4 << 20;
constexpr WindowId kData = 0;
constexpr WindowId kSmall = 1;

Duration g_time = 2s;
bool g_sleep = false;  // wait as an event loop does, instead of polling: for a machine that is busy

// Keeps only counts: nothing here may cost.
struct Counter : ConnectionHandler {
  Status on_announcement(std::span<const RemoteWindow> windows,
                         std::span<const std::byte>) override {
    for (const RemoteWindow& window : windows) remote[window.id] = window;
    return {};
  }
  Status on_message(std::span<const std::byte>) override {
    stop = true;
    return {};
  }
  Status on_arrival(WindowId window, uint64_t, uint64_t, std::span<const std::byte>) override {
    ++arrived[window];
    return {};
  }
  Status on_written(uint64_t) override {
    ++written;
    return {};
  }
  RemoteWindow remote[2];
  uint64_t arrived[2] = {};
  uint64_t written = 0;
  bool stop = false;
};

struct Side {
  std::unique_ptr<Connection> connection;
  Counter counter;
  std::vector<std::byte> memory = std::vector<std::byte>(kWindow, std::byte{1});

  void announce() {
    const LocalWindow windows[] = {{kData, memory.data(), kWindow, nullptr},
                                   {kSmall, memory.data(), 4096, nullptr}};
    must(connection->announce(windows, {}));
    while (counter.remote[kSmall].size == 0) step();
  }
  // Yields when nothing happened, as NCCL's progress thread does, or sleeps.
  void step() {
    const uint64_t before = counter.arrived[0] + counter.arrived[1] + counter.written;
    must(connection->progress(counter));
    if (before != counter.arrived[0] + counter.arrived[1] + counter.written) return;
    if (!g_sleep) {
      sched_yield();
    } else if (connection->prepare_wait()) {
      pollfd entry{connection->event_fd(), POLLIN, 0};
      (void)poll(&entry, 1, 1000);
    }
  }
  void post(WindowId window, const std::byte* data, size_t size) {
    Write write;
    write.window = counter.remote[window];
    write.data = data;
    write.size = size;
    must(connection->write(write));
  }
  static void must(const Status& status) {
    if (status) return;
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    _exit(1);
  }
};

// The other process: echoes what comes into the small window.
void serve(Side& side) {
  side.announce();
  uint64_t echoed = 0;
  while (!side.counter.stop) {
    side.step();
    for (; echoed < side.counter.arrived[kSmall]; ++echoed) {
      side.post(kSmall, side.memory.data(), 8);
      Side::must(side.connection->flush());
    }
  }
}

double bandwidth(Side& side, const std::vector<std::byte>& source, size_t size, int depth) {
  const uint64_t slots = std::max<size_t>(1, kCycle / size);
  uint64_t posted = 0;
  side.counter.written = 0;
  const TimePoint start = Clock::now();
  while (Clock::now() - start < g_time) {
    while (posted - side.counter.written < static_cast<uint64_t>(depth)) {
      side.post(kData, source.data() + posted % slots * size, size);
      ++posted;
    }
    side.step();
  }
  while (side.counter.written < posted) side.step();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return static_cast<double>(posted) * static_cast<double>(size) / seconds / 1e9;
}

double round_trip(Side& side, const std::vector<std::byte>& source) {
  const TimePoint start = Clock::now();
  uint64_t count = 0;
  while (Clock::now() - start < g_time) {
    side.post(kSmall, source.data(), 8);
    Side::must(side.connection->flush());
    const uint64_t before = side.counter.arrived[kSmall];
    while (side.counter.arrived[kSmall] == before) side.step();
    ++count;
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
         static_cast<double>(count);
}

void measure(Side& side) {
  const std::vector<std::byte> source(kWindow, std::byte{2});
  side.announce();
  std::printf("  round trip of 8 bytes %.2f us\n", round_trip(side, source));
  for (const size_t size : {size_t{4} << 10, size_t{64} << 10, size_t{1} << 20, size_t{16} << 20}) {
    std::printf("  %8zu bytes %.2f GB/s\n", size, bandwidth(side, source, size, 8));
  }
  Side::must(side.connection->send_message({}, {}));
  Side::must(side.connection->flush());
}

void run(const Variant& variant) {
  std::printf("%s\n", variant.name);
  std::fflush(stdout);
  Context context({}, settings_for(variant));
  Listener::Options options;
  options.bind = loopback(variant.ipv6);
  auto listener = std::move(*Listener::open(context, options));
  const ListenerAddress address = listener->address();
  const pid_t child = fork();
  Side side;
  if (child == 0) {
    Context own({}, settings_for(variant));
    auto connector = std::move(*Connector::open(own, address, Purpose::net));
    while (!side.connection) side.connection = std::move(*connector->progress());
    serve(side);
    side.connection.reset();
    _exit(0);
  }
  while (!side.connection) side.connection = std::move(*listener->accept());
  measure(side);
  waitpid(child, nullptr, 0);
  side.connection.reset();
}

void copy() {
  std::vector<std::byte> from(kWindow, std::byte{1});
  std::vector<std::byte> to(kWindow, std::byte{2});
  std::printf("memcpy\n");
  for (const size_t size : {size_t{64} << 10, size_t{1} << 20, size_t{16} << 20}) {
    uint64_t count = 0;
    const TimePoint start = Clock::now();
    while (Clock::now() - start < g_time) {
      const size_t at = count++ % std::max<size_t>(1, kCycle / size) * size;
      std::memcpy(to.data(), from.data() + at, size);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::printf("  %8zu bytes %.2f GB/s\n", size,
                static_cast<double>(count) * static_cast<double>(size) / seconds / 1e9);
  }
}

}  // namespace
}  // namespace sluice::transport

int main(int argc, char** argv) {
  using namespace sluice::transport;
  if (argc > 1) g_time = std::chrono::milliseconds(static_cast<int>(1000 * std::atof(argv[1])));
  g_sleep = argc > 3;
  copy();
  for (const Variant& variant : kVariants) {
    if (argc <= 2 || std::strcmp(argv[2], variant.name) == 0) run(variant);
  }
  copy();
}
