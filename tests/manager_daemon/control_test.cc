// SPDX-License-Identifier: Apache-2.0
// Whoever should not be there, options and files that cannot be, the command line without a
// manager.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <fstream>

#include "sharp/wire/chunk.h"
#include "tests/manager_daemon/rig.h"
#include "transport/file_descriptor.h"

namespace sluice::manager::testing {
namespace {

using sharp::testing::Process;
using ::testing::HasSubstr;

class Control : public Rig {};

TEST_F(Control, EndsBySignal) {
  start_manager();
  kill_manager(SIGTERM);
  EXPECT_THAT(log(), HasSubstr("ended by a signal"));
}

TEST_F(Control, BadOptionsAndFilesAreSentences) {
  std::ofstream(file("bad.toml")) << "nodes = 7\n[[[";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--listen", "nowhere"}, "--listen: "},
      {{"--lease-time", "soon"}, "--lease-time soon: "},
      {{"--lease-time", "1ms"}, "--lease-time 1ms: "},
      {{"--fabric", file("bad.toml")}, "bad.toml"},
      {{"--fabric", file("absent.toml")}, "absent.toml"},
      {{"--unheard-of"}, "--unheard-of"},
  };
  for (const auto& [arguments, text] : cases) {
    std::vector<std::string> all = {SLUICE_MANAGER_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    Process process = Process::run(all, file("log"));
    EXPECT_EQ(process.wait(30), 2) << text;
    EXPECT_THAT(content_of(file("log")), HasSubstr(text));
  }
}

TEST_F(Control, WithoutAManagerTheToolSaysSo) {
  EXPECT_TRUE(tool({"status"}).is_null());
  EXPECT_THAT(content_of(file("tool.log")), HasSubstr("is sluice-manager running there?"));
}

TEST_F(Control, AnUnknownNodeIsASentence) {
  start_manager();
  EXPECT_TRUE(tool({"drain", "nobody"}).is_null());
  EXPECT_THAT(content_of(file("tool.log")), HasSubstr("no node is called nobody"));
}

// Bytes of no meaning, and messages of Sluice's that have no business here.
TEST_F(Control, GarbageCostsItsOwnConnectionOnly) {
  start_manager();
  start_node("n1");
  const auto address = *transport::SocketAddress::parse(manager());
  for (int round = 0; round < 20; ++round) {
    const transport::FileDescriptor socket(
        ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(socket.get(), address.get(), address.size()), 0);
    const std::string garbage(static_cast<size_t>(1 + round * 97), static_cast<char>(round * 11));
    static_cast<void>(::send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL));
  }
  transport::Settings settings;
  settings.choice = transport::TransportChoice::tcp;
  transport::Context context(Logger(), settings);
  const std::vector<sharp::Message> wrong = {
      sharp::Message(100, std::byte{7}),
      sharp::encode(sharp::Leave{0}),
      sharp::encode_pieces(sharp::NodeGroups{})[0],
      sharp::encode_pieces(sharp::NodeRegistered{})[0],
  };
  for (const sharp::Message& message : wrong) {
    auto connector = transport::Connector::open(
        context, transport::address_of(address, transport::Purpose::management),
        transport::Purpose::management);
    ASSERT_TRUE(connector);
    std::unique_ptr<transport::Connection> connection;
    ASSERT_TRUE(eventually([&] {
      auto made = (*connector)->progress();
      if (made && *made != nullptr) connection = std::move(*made);
      return connection != nullptr;
    }));
    ASSERT_TRUE(connection->send_message(message, {}));
    ASSERT_TRUE(connection->flush());
    class Silent final : public transport::ConnectionHandler {
      Status on_announcement(std::span<const transport::RemoteWindow>,
                             std::span<const std::byte>) override {
        return {};
      }
      Status on_message(std::span<const std::byte>) override { return {}; }
      Status on_arrival(transport::WindowId, uint64_t, uint64_t,
                        std::span<const std::byte>) override {
        return {};
      }
      Status on_written(uint64_t) override { return {}; }
    } silent;
    EXPECT_TRUE(eventually([&] { return !connection->progress(silent); }));
  }
  auto client = asker("train");
  EXPECT_TRUE(client->ask());
  EXPECT_EQ(node_row("n1")["connected"], true);
}

TEST_F(Control, ReservationsAreShown) {
  std::ofstream(file("tenants.toml")) << R"(
[[tenant]]
name = "blue"
)";
  start_manager({"--reservations", file("tenants.toml")});
  const nlohmann::json rows = tool({"reservations"});
  ASSERT_EQ(rows.size(), 1U) << log();
  EXPECT_EQ(rows[0]["tenant"], "blue");
}

}  // namespace
}  // namespace sluice::manager::testing
