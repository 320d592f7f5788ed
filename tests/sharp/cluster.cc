// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/cluster.h"

#include <gtest/gtest.h>

namespace sluice::sharp::testing {

transport::SocketAddress loopback() {
  const auto address = transport::SocketAddress::parse("127.0.0.1:0");
  EXPECT_TRUE(address);
  return *address;
}

NodeThread::NodeThread(transport::TransportChoice choice, const NodeLimits& limits) {
  transport::Settings settings;
  settings.choice = choice;
  settings.accept_timeout = Duration::max();
  settings.peer_timeout = std::chrono::seconds(20);
  context_ = std::make_unique<transport::Context>(log.logger(), settings);
  ServerOptions options;
  options.listen = loopback();
  options.limits = limits;
  auto server = AggregationServer::open(*context_, options);
  EXPECT_TRUE(server) << server.error().message;
  server_ = std::move(*server);
  address_ = loopback();
  address_.set_port(server_->address().port);
  thread_ = std::thread([this] {
    const Status status = server_->run();
    EXPECT_TRUE(status) << status.error().message;
  });
}

void NodeThread::stop() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
  server_.reset();
}

Rank::Rank(int number, const transport::Settings& settings)
    : rank(number), context(log.logger(), settings) {
  auto opened = Rendezvous::open(context, loopback());
  EXPECT_TRUE(opened) << opened.error().message;
  rendezvous = std::move(*opened);
}

Cluster::Cluster(int ranks, const transport::Settings& settings) {
  for (int rank = 0; rank < ranks; ++rank) {
    ranks_.push_back(std::make_unique<Rank>(rank, settings));
  }
}

void Cluster::each(const std::function<void(Rank&)>& function) {
  std::vector<std::thread> threads;
  for (auto& rank : ranks_) threads.emplace_back([&function, &rank] { function(*rank); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<transport::ListenerAddress> Cluster::handles() const {
  std::vector<transport::ListenerAddress> handles;
  for (const auto& rank : ranks_) handles.push_back(rank->rendezvous->address());
  return handles;
}

void Cluster::connect(const ClientSettings& settings, const std::function<bool(int)>& comes) {
  const auto all = handles();
  each([&](Rank& rank) {
    if (!comes(rank.rank)) return;
    rank.client = Client::connect(rank.context, settings, all, rank.rank, *rank.rendezvous);
  });
}

Status wait_for(Client& client, Operation& operation, Duration limit) {
  const Deadline deadline = Deadline::after(limit);
  for (;;) {
    const auto done = client.test(operation, nullptr);
    if (!done) return fail(done.error());
    if (*done) return {};
    if (deadline.passed()) return fail(ErrorKind::timeout, "the operation is stuck");
    std::this_thread::yield();
  }
}

}  // namespace sluice::sharp::testing
