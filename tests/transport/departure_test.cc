// SPDX-License-Identifier: Apache-2.0
// Peers that die, stop or vanish, and that nothing of a connection is left behind. Peers are forked
// processes.
#include <dirent.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/transport/support.h"

namespace sluice::transport {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// A listener here, a connector in a child process that then runs `life`.
class ChildPeer {
 public:
  ChildPeer(const Variant& variant, Settings settings,
            const std::function<void(Connection&)>& life) {
    context_ = std::make_unique<Context>(log.logger(), settings);
    Listener::Options options;
    options.bind = loopback(variant.ipv6);
    listener_ = std::move(*Listener::open(*context_, options));
    const ListenerAddress address = listener_->address();
    child_ = fork();
    if (child_ == 0) {
      listener_.reset();
      Context context({}, settings);
      auto connector = std::move(*Connector::open(context, address, Purpose::net));
      std::unique_ptr<Connection> connection;
      (void)wait_for([&] {
        auto result = connector->progress();
        if (result) connection = std::move(*result);
        return !result || connection;
      });
      if (connection) life(*connection);
      _exit(0);
    }
    const bool connected = wait_for([&] {
      auto result = listener_->accept();
      if (result) end.connection = std::move(*result);
      return !result || end.connection;
    });
    if (!connected || !end.connection) ADD_FAILURE() << "not connected: " << log.text();
  }
  ~ChildPeer() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  void signal(int number) const { kill(child_, number); }
  // The error by which the connection ends, and after how long.
  Error last_error() {
    const TimePoint start = Clock::now();
    Status status;
    EXPECT_TRUE(wait_for([&] { return !(status = end.progress()); }));
    took = Clock::now() - start;
    return status ? Error{} : status.error();
  }

  LogCatcher log;
  Duration took{};

 private:
  std::unique_ptr<Context> context_;

 public:
  End end;  // the context outlives it

 private:
  std::unique_ptr<Listener> listener_;
  pid_t child_ = -1;
};

void live_for_ever(Connection&) {
  while (true) pause();
}

class Departures : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(Transports, Departures, testing::ValuesIn(kVariants), name_of_variant);

TEST_P(Departures, AKilledPeerIsNoticedAtOnce) {
  ChildPeer peer(GetParam(), settings_for(GetParam()), live_for_ever);
  ASSERT_TRUE(peer.end.connection);
  ASSERT_TRUE(peer.end.progress());
  peer.signal(SIGKILL);
  const Error error = peer.last_error();
  EXPECT_EQ(error.kind, ErrorKind::remote);
  EXPECT_THAT(error.message, HasSubstr("is gone: its process ended without closing"));
  EXPECT_LT(peer.took, 10s) << "well under the peer timeout";
}

TEST_P(Departures, AStoppedPeerIsNoticedByThePeerTimeout) {
  Settings settings = settings_for(GetParam());
  settings.peer_timeout = 1500ms;
  ChildPeer peer(GetParam(), settings, live_for_ever);
  ASSERT_TRUE(peer.end.connection);
  peer.signal(SIGSTOP);
  const Error error = peer.last_error();
  EXPECT_THAT(error.message, HasSubstr("has been silent for"));
  EXPECT_GT(peer.took, 700ms);
  EXPECT_LT(peer.took, 20s);
}

TEST_P(Departures, AnIdlePeerIsLeftInPeace) {
  Settings settings = settings_for(GetParam());
  settings.peer_timeout = 2s;
  ChildPeer peer(GetParam(), settings, live_for_ever);  // never calls progress()
  ASSERT_TRUE(peer.end.connection);
  std::this_thread::sleep_for(4s);
  EXPECT_TRUE(peer.end.progress());
  EXPECT_TRUE(peer.end.connection->send_message(bytes_of("x"), {}));
  EXPECT_TRUE(peer.end.connection->flush());
}

TEST_P(Departures, AnOrderlyEndIsToldFromALoss) {
  ChildPeer peer(GetParam(), settings_for(GetParam()), [](Connection& connection) {
    (void)connection.send_message(bytes_of("farewell"), {});
    (void)connection.flush();
    connection.~Connection();
    _exit(0);
  });
  ASSERT_TRUE(peer.end.connection);
  EXPECT_THAT(peer.last_error().message, HasSubstr("closed the connection"));
  EXPECT_EQ(peer.end.handler.messages, std::vector<std::string>{"farewell"});
}

// A data loader that was forked holds copies of all sockets: the peer's death must show all the
// same.
TEST_P(Departures, AForkedCopyHidesNoDeathAndHarmsNoConnection) {
  const auto variant = GetParam();
  Pair pair(variant);
  ASSERT_TRUE(pair.ok());
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    // What an interpreter's exit would do.
    pair.left.connection.reset();
    pair.right.connection.reset();
    pair.listener.reset();
    pair.context.reset();
    close(gate[1]);
    char byte = 0;
    (void)!read(gate[0], &byte, 1);
    _exit(7);
  }
  ASSERT_GT(child, 0);
  std::this_thread::sleep_for(200ms);
  ASSERT_TRUE(pair.left.connection->send_message(bytes_of("still here"), {}));
  EXPECT_TRUE(pair.pump([&] { return pair.right.handler.messages.size() == 1; }));
  pair.left.connection.reset();
  Status status;
  ASSERT_TRUE(wait_for([&] { return !(status = pair.right.progress()); }));
  EXPECT_THAT(status.error().message, HasSubstr("closed the connection"));
  close(gate[1]);
  close(gate[0]);
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 7);
}

size_t entries(const char* folder) {
  DIR* directory = opendir(folder);
  size_t count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

size_t own_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:sluice") != std::string::npos;
  return count;
}

TEST_P(Departures, NothingIsLeft) {
  { Pair warm_up(GetParam()); }
  const size_t descriptors = entries("/proc/self/fd");
  const size_t threads = entries("/proc/self/task");
  for (int i = 0; i < 10; ++i) {
    Pair pair(GetParam());
    ASSERT_TRUE(pair.ok());
    (void)pair.left.connection->event_fd();
    ASSERT_TRUE(pair.left.connection->send_message(bytes_of("x"), {}));
    ASSERT_TRUE(pair.pump([&] { return pair.right.handler.messages.size() == 1; }));
    if (i % 2 == 0) {
      pair.left.connection.reset();
      Status status;
      ASSERT_TRUE(wait_for([&] { return !(status = pair.right.progress()); }));
    }
  }
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(own_mappings(), 0U);
  // The kernel may show a joined thread for a moment longer.
  EXPECT_TRUE(wait_for([&] { return entries("/proc/self/task") == threads; }, 5s));
}

// The receiver gives its memory back while the sender, another process, is pushing into it.
TEST(DirectWrites, NeverLandAfterTheReceiverHasGone) {
  const Variant variant = kVariants[3];
  ChildPeer peer(variant, settings_for(variant), [](Connection& connection) {
    Recorder handler;
    const auto data = pattern(64 << 20, 1);
    while (connection.progress(handler)) {
      if (handler.remote.empty() || handler.messages.size() > 0) continue;
      handler.messages.emplace_back("posted");
      for (uint64_t i = 0; i < 100; ++i) {
        Write write;
        write.window = handler.remote.at(0);
        write.data = data.data();
        write.size = data.size();
        write.token = i;
        (void)connection.write(write);
      }
    }
  });
  ASSERT_TRUE(peer.end.connection);
  std::vector<std::byte> memory(64 << 20);
  const LocalWindow window{0, memory.data(), memory.size(), nullptr};
  ASSERT_TRUE(peer.end.connection->announce({&window, 1}, {}));
  ASSERT_TRUE(wait_for([&] {
    EXPECT_TRUE(peer.end.progress());
    return !peer.end.handler.arrivals.empty();
  }));
  peer.end.connection.reset();
  std::fill(memory.begin(), memory.end(), std::byte{0});
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(
      std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace
}  // namespace sluice::transport
