// SPDX-License-Identifier: Apache-2.0
// A node and its ranks over real transports, in one process: the server's loop and each rank on a
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sharp/agg/server.h"
#include "sharp/client/client.h"
#include "tests/sharp/recorded_log.h"
#include "transport/endpoint.h"

namespace sluice::sharp::testing {

transport::SocketAddress loopback();

// An aggregation node on 127.0.0.1.
class NodeThread {
 public:
  explicit NodeThread(transport::TransportChoice choice = transport::TransportChoice::automatic,
                      const NodeLimits& limits = {});
  ~NodeThread() { stop(); }

  transport::SocketAddress address() const { return address_; }
  void stop();

  RecordedLog log;

 private:
  std::unique_ptr<transport::Context> context_;
  std::unique_ptr<AggregationServer> server_;
  transport::SocketAddress address_;
  std::thread thread_;
};

// What one rank has: its own context, as a process would.
struct Rank {
  Rank(int number, const transport::Settings& settings);

  int rank;
  RecordedLog log;
  transport::Context context;
  std::unique_ptr<Rendezvous> rendezvous;
  Result<std::unique_ptr<Client>> client = fail(ErrorKind::internal, "has not connected");
};

class Cluster {
 public:
  explicit Cluster(int ranks, const transport::Settings& settings = {});

  int size() const { return static_cast<int>(ranks_.size()); }
  Rank& operator[](int rank) { return *ranks_[static_cast<size_t>(rank)]; }

  // Calls function(rank) for all ranks at once, each on its own thread.
  void each(const std::function<void(Rank&)>& function);
  // Client::connect() of the ranks that `comes` allows.
  void connect(
      const ClientSettings& settings,
      const std::function<bool(int)>& comes = [](int) { return true; });
  std::vector<transport::ListenerAddress> handles() const;

 private:
  std::vector<std::unique_ptr<Rank>> ranks_;
};

// Waits until the operation is done or fails.
Status wait_for(Client& client, Operation& operation, Duration limit = std::chrono::seconds(60));

}  // namespace sluice::sharp::testing
