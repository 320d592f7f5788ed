// SPDX-License-Identifier: Apache-2.0
// Set-up: who gets in, who is turned away with what sentence, and that nobody who stalls harms the
// others.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "tests/transport/support.h"
#include "transport/checksum.h"
#include "transport/file_descriptor.h"
#include "transport/listener_address.h"
#include "transport/setup/setup_socket.h"

namespace sluice::transport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Endpoints : public testing::Test {
 protected:
  Endpoints() { settings_.accept_timeout = Duration::max(); }

  void open(bool secret = true, Purpose purpose = Purpose::net) {
    context_ = std::make_unique<Context>(log_.logger(), settings_);
    Listener::Options options;
    options.bind = loopback();
    options.secret = secret;
    options.purpose = purpose;
    listener_ = std::move(*Listener::open(*context_, options));
  }
  std::unique_ptr<Connector> connector(const ListenerAddress& address) {
    return std::move(*Connector::open(*context_, address, Purpose::net));
  }
  std::unique_ptr<Connector> connector() { return connector(listener_->address()); }

  // Drives both until the connector has a result.
  Result<std::unique_ptr<Connection>> connect(Connector& connector) {
    Result<std::unique_ptr<Connection>> result = nullptr;
    EXPECT_TRUE(wait_for([&] {
      accept();
      result = connector.progress();
      return !result || *result != nullptr;
    }));
    return result;
  }
  void accept() {
    if (listener_ == nullptr) return;
    auto accepted = listener_->accept();
    ASSERT_TRUE(accepted) << accepted.error().message;
    if (*accepted) accepted_.push_back(std::move(*accepted));
  }
  // A raw socket to the listener.
  FileDescriptor stranger() {
    const auto address = *socket_address_of(listener_->address());
    FileDescriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), address.get(), address.size()), 0);
    return socket;
  }
  void send(const FileDescriptor& socket, const std::string& bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              ssize_t(bytes.size()));
  }
  // All is well when a good connector still gets in.
  void expect_listener_lives() {
    auto good = connector();
    const size_t before = accepted_.size();
    auto result = connect(*good);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(wait_for([&] {
      accept();
      return accepted_.size() > before;
    }));
  }
  bool logged(const std::string& part) {
    return wait_for(
        [&] {
          accept();
          return log_.contains(part);
        },
        20s);
  }

  LogCatcher log_;
  Settings settings_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Connection>> accepted_;
};

TEST_F(Endpoints, ForeignBytesAreTurnedAwayWithOneLine) {
  open();
  const auto socket = stranger();
  send(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(logged("does not speak Sluice's protocol (it sent \"GET / HTTP"));
  expect_listener_lives();
}

TEST_F(Endpoints, GarbageOfAnyKindHarmsNobody) {
  open();
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::string bytes(random() % 500, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    SetupHeader header{kSetupMagic, kProtocolVersion, static_cast<uint16_t>(random() % 10), 0, 0};
    header.size = random() % 3 == 0 ? static_cast<uint32_t>(random()) : sizeof(Hello);
    if (i % 2 == 0) bytes.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
    const auto socket = stranger();
    send(socket, bytes);
    accept();
  }
  expect_listener_lives();
}

TEST_F(Endpoints, AnotherVersionIsToldSo) {
  open();
  const auto socket = stranger();
  const Hello hello;
  const SetupHeader header{kSetupMagic, kProtocolVersion + 1, 1, sizeof hello,
                           checksum(&hello, sizeof hello)};
  send(socket, std::string(reinterpret_cast<const char*>(&header), sizeof header));
  EXPECT_TRUE(logged("run the same Sluice on all hosts"));
  Refuse refuse;
  std::string answer(sizeof(SetupHeader) + sizeof refuse, '\0');
  ASSERT_EQ(::recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL),
            ssize_t(answer.size()));
  EXPECT_THAT(answer, HasSubstr("run the same Sluice on all hosts"));
  expect_listener_lives();
}

TEST_F(Endpoints, AWrongSecretIsRefused) {
  open();
  const auto socket_address = *socket_address_of(listener_->address());
  auto wrong = connector(make_address(socket_address, Purpose::net, 12345, 0));
  const auto result = connect(*wrong);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_THAT(result.error().message, HasSubstr("secret"));
  auto none = connector(address_of(socket_address, Purpose::net));
  EXPECT_FALSE(connect(*none));
  expect_listener_lives();
}

TEST_F(Endpoints, ADaemonNeedsNoSecret) {
  open(false);
  auto any = connector(address_of(*socket_address_of(listener_->address()), Purpose::net));
  EXPECT_TRUE(connect(*any));
}

TEST_F(Endpoints, AnotherPurposeIsRefused) {
  open(false, Purpose::aggregation);
  auto wrong = connector(address_of(*socket_address_of(listener_->address()), Purpose::net));
  const auto result = connect(*wrong);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_THAT(result.error().message, HasSubstr("purpose"));
}

TEST_F(Endpoints, BadHandlesAreCleanErrors) {
  open();
  EXPECT_FALSE(check(ListenerAddress{}, Purpose::net));
  ListenerAddress address = listener_->address();
  EXPECT_TRUE(check(address, Purpose::net));
  EXPECT_FALSE(check(address, Purpose::aggregation));
  for (size_t i = 0; i < offsetof(ListenerAddress, checksum); ++i) {
    ListenerAddress damaged = address;
    reinterpret_cast<unsigned char*>(&damaged)[i] ^= 1;
    EXPECT_FALSE(check(damaged, Purpose::net)) << i;
    EXPECT_FALSE(Connector::open(*context_, damaged, Purpose::net)) << i;
  }
}

TEST_F(Endpoints, ManyConnectAtOnce) {
  settings_.streams = 2;
  settings_.choice = TransportChoice::tcp;
  open();
  constexpr size_t kCount = 40;
  std::vector<std::unique_ptr<Connector>> connectors;
  std::vector<std::unique_ptr<Connection>> connected(kCount);
  for (size_t i = 0; i < kCount; ++i) connectors.push_back(connector());
  ASSERT_TRUE(wait_for([&] {
    size_t done = 0;
    for (size_t i = 0; i < kCount; ++i) {
      if (!connected[i]) {
        auto result = connectors[i]->progress();
        EXPECT_TRUE(result) << result.error().message;
        if (!result) return true;
        connected[i] = std::move(*result);
      }
      done += connected[i] != nullptr ? 1 : 0;
    }
    accept();
    return done == kCount && accepted_.size() == kCount;
  }));
}

TEST_F(Endpoints, HalfOpenPeersHarmNobody) {
  open();
  std::vector<FileDescriptor> sockets;
  for (int i = 0; i < 20; ++i) sockets.push_back(stranger());  // say nothing
  for (int i = 0; i < 20; ++i) {                               // stop in the middle of a hello
    sockets.push_back(stranger());
    const SetupHeader header{kSetupMagic, kProtocolVersion, 1, sizeof(Hello), 0};
    send(sockets.back(),
         std::string(reinterpret_cast<const char*>(&header), sizeof header - i % 4));
  }
  std::vector<std::unique_ptr<Connector>> abandoned;  // die after the hello, at different steps
  for (int i = 0; i < 20; ++i) {
    abandoned.push_back(connector());
    for (int step = 0; step <= i; ++step) {
      auto result = abandoned.back()->progress();
      ASSERT_TRUE(result);
      accept();
      if (*result) break;
    }
  }
  abandoned.clear();
  expect_listener_lives();
  sockets.clear();
  expect_listener_lives();
}

TEST_F(Endpoints, AStalledGuestIsDroppedAfterAWhile) {
  open();
  const auto socket = stranger();
  ASSERT_TRUE(wait_for([&] {
    accept();
    std::this_thread::sleep_for(20ms);
    return log_.contains("stalled");
  }));
  char byte = 0;
  EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0);
}

TEST_F(Endpoints, ARefusedPortIsRetriedThenReported) {
  settings_.connect_retries = 3;
  settings_.retry_sleep = 10ms;
  open();
  const ListenerAddress address = listener_->address();
  listener_.reset();
  auto late = connector(address);
  const auto result = connect(*late);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("after 4 tries"), HasSubstr("Connection refused")));
  EXPECT_FALSE(late->progress()) << "errors are final";
}

TEST_F(Endpoints, AListenerThatComesLateIsFound) {
  settings_.retry_sleep = 20ms;
  open(false);
  const auto address = *socket_address_of(listener_->address());
  listener_.reset();
  auto early = connector(address_of(address, Purpose::net));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(early->progress());
    std::this_thread::sleep_for(5ms);
  }
  Listener::Options options;
  options.bind = address;
  options.secret = false;
  auto opened = Listener::open(*context_, options);
  if (!opened) GTEST_SKIP() << "the port was taken meanwhile";
  listener_ = std::move(*opened);
  EXPECT_TRUE(connect(*early));
}

TEST_F(Endpoints, NoAnswerIsATimeoutThatSaysWhatToDo) {
  settings_.connect_timeout = 300ms;
  open();
  auto unheard = connector();
  Result<std::unique_ptr<Connection>> result = nullptr;
  ASSERT_TRUE(wait_for([&] { return !(result = unheard->progress()); }));  // nobody calls accept()
  EXPECT_EQ(result.error().kind, ErrorKind::timeout);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("no answer to the hello from 127.0.0.1:"),
                                            HasSubstr("within 0.3 s")));
}

TEST_F(Endpoints, AcceptGivesUpAfterItsTimeout) {
  settings_.accept_timeout = 200ms;
  open();
  Result<std::unique_ptr<Connection>> result = nullptr;
  ASSERT_TRUE(wait_for([&] { return !(result = listener_->accept()); }));
  EXPECT_EQ(result.error().kind, ErrorKind::timeout);
  EXPECT_FALSE(listener_->accept()) << "again on each call";
}

TEST_F(Endpoints, AConnectorThatWaitedForASlowListenerGetsIn) {
  open();
  auto patient = connector();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(patient->progress());
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(connect(*patient));
}

TEST_F(Endpoints, OneSideMayInsistOnTcp) {
  settings_.choice = TransportChoice::tcp;
  open();
  settings_.choice = TransportChoice::automatic;
  Context other(log_.logger(), settings_);
  auto flexible = std::move(*Connector::open(other, listener_->address(), Purpose::net));
  auto result = connect(*flexible);
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)->kind(), Kind::tcp);
  result->reset();
  settings_.choice = TransportChoice::shm;
  Context strict(log_.logger(), settings_);
  auto refused = std::move(*Connector::open(strict, listener_->address(), Purpose::net));
  const auto refusal = connect(*refused);
  ASSERT_FALSE(refusal);
  EXPECT_THAT(refusal.error().message, HasSubstr("SLUICE_TRANSPORT"));
}

TEST_F(Endpoints, AutomaticTakesShmOnOneHost) {
  open();
  auto local = connector();
  auto result = connect(*local);
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)->kind(), Kind::shm);
}

TEST(SocketAddresses, AreReadAndShown) {
  EXPECT_EQ(SocketAddress::parse("127.0.0.1:80")->text(), "127.0.0.1:80");
  EXPECT_EQ(SocketAddress::parse("[::1]:7000")->text(), "[::1]:7000");
  EXPECT_EQ(SocketAddress::parse("[fe80::1%lo]:9")->text(), "[fe80::1%lo]:9");
  EXPECT_EQ(SocketAddress::parse("localhost:9")->port(), 9);
  for (const char* bad : {"", "127.0.0.1", "::1:80", "[::1]80", "127.0.0.1:", "127.0.0.1:70000",
                          "127.0.0.1:8o", ":80", "[]:80"}) {
    EXPECT_FALSE(SocketAddress::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace sluice::transport
