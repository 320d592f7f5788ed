// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/control/server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "sharp/manager/control/control.grpc.pb.h"
#include "sharp/manager/control/convert.h"
#include "sharp/manager/control/thread_sanitizer.h"

namespace sluice::manager {
namespace {

// Texts come from outside, and protobuf takes UTF-8 only.
std::string printable(std::string text) {
  for (char& character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte > 0x7e) character = '?';
  }
  return text;
}

grpc::Status status_of(const Error& error) {
  const bool unknown = error.kind == ErrorKind::invalid_argument;
  return {unknown ? grpc::StatusCode::NOT_FOUND : grpc::StatusCode::UNAVAILABLE,
          printable(error.message)};
}

template <typename Row>
void put(const Row& row, google::protobuf::Message* message) {
  Row copy = row;
  const auto clean = [](const char*, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      value = printable(std::move(value));
    }
  };
  Row::fields(copy, clean);
  to_message(copy, *message);
}

class ControlService final : public v1::Control::Service {
 public:
  explicit ControlService(ControlGate& gate) : gate_(gate) {}

  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*,
                      v1::StatusReply* reply) override {
    StatusReport report;
    return in_loop([&](ControlBackend& backend) { report = backend.status(); },
                   [&] {
                     put(report, reply);
                     for (const NodeRow& node : report.nodes) put(node, reply->add_nodes());
                   });
  }
  grpc::Status Jobs(grpc::ServerContext*, const v1::JobsRequest*, v1::JobsReply* reply) override {
    std::vector<JobRow> rows;
    return in_loop([&](ControlBackend& backend) { rows = backend.jobs(); },
                   [&] {
                     for (const JobRow& row : rows) put(row, reply->add_jobs());
                   });
  }
  grpc::Status Trees(grpc::ServerContext*, const v1::TreesRequest*,
                     v1::TreesReply* reply) override {
    std::vector<TreeRow> rows;
    return in_loop([&](ControlBackend& backend) { rows = backend.trees(); },
                   [&] {
                     for (const TreeRow& row : rows) {
                       v1::Tree* tree = reply->add_trees();
                       put(row, tree);
                       for (const TreeNodeRow& node : row.nodes) put(node, tree->add_nodes());
                     }
                   });
  }
  grpc::Status Reservations(grpc::ServerContext*, const v1::ReservationsRequest*,
                            v1::ReservationsReply* reply) override {
    std::vector<ReservationRow> rows;
    return in_loop([&](ControlBackend& backend) { rows = backend.reservations(); },
                   [&] {
                     for (const ReservationRow& row : rows) put(row, reply->add_reservations());
                   });
  }
  grpc::Status Drain(grpc::ServerContext*, const v1::DrainRequest* request,
                     v1::DrainReply* reply) override {
    Result<DrainOutcome> outcome;
    const grpc::Status status = in_loop(
        [&](ControlBackend& backend) {
          outcome = backend.drain(request->node(), !request->undo());
        },
        [&] {
          if (outcome) put(*outcome, reply);
        });
    return status.ok() && !outcome ? status_of(outcome.error()) : status;
  }

 private:
  // `work` runs in the event loop, `then` here once it is done.
  template <typename Then>
  grpc::Status in_loop(ControlGate::Work work, const Then& then) {
    const auto done = gate_.run(std::move(work));
    if (!done) return status_of(done.error());
    then();
    return grpc::Status::OK;
  }

  ControlGate& gate_;
};

class GrpcControlServer final : public ControlServer {
 public:
  explicit GrpcControlServer(ControlGate& gate) : service_(gate) {}
  ~GrpcControlServer() override {
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    }
  }

  bool start(const std::string& address) {
    grpc::ServerBuilder builder;
    // Two managers on one port would each answer half of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(64 << 10);
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    return server_ != nullptr && port_ != 0;
  }
  uint16_t port() const override { return static_cast<uint16_t>(port_); }

 private:
  ControlService service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::open(const std::string& address,
                                                           ControlGate& gate) {
  auto server = std::make_unique<GrpcControlServer>(gate);
  if (!server->start(address)) {
    return fail(ErrorKind::system, "cannot listen on " + address +
                                       " for control: is it this host's, and free? (--control)");
  }
  return std::unique_ptr<ControlServer>(std::move(server));
}

}  // namespace sluice::manager
