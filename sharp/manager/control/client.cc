// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/control/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "sharp/manager/control/control.grpc.pb.h"
#include "sharp/manager/control/convert.h"
#include "sharp/manager/control/thread_sanitizer.h"

namespace sluice::manager {
namespace {

class GrpcControlClient final : public ControlClient {
 public:
  GrpcControlClient(const std::string& address, Duration patience)
      : address_(address),
        patience_(patience),
        stub_(v1::Control::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  Result<StatusReport> status() override {
    v1::StatusReply reply;
    SLUICE_RETURN_IF_ERROR(call(&v1::Control::Stub::Status, v1::StatusRequest(), &reply));
    auto report = from_message<StatusReport>(reply);
    for (const v1::Node& node : reply.nodes()) {
      report.nodes.push_back(from_message<NodeRow>(node));
    }
    return report;
  }
  Result<std::vector<JobRow>> jobs() override {
    v1::JobsReply reply;
    SLUICE_RETURN_IF_ERROR(call(&v1::Control::Stub::Jobs, v1::JobsRequest(), &reply));
    return rows<JobRow>(reply.jobs());
  }
  Result<std::vector<TreeRow>> trees() override {
    v1::TreesReply reply;
    SLUICE_RETURN_IF_ERROR(call(&v1::Control::Stub::Trees, v1::TreesRequest(), &reply));
    std::vector<TreeRow> trees;
    for (const v1::Tree& tree : reply.trees()) {
      trees.push_back(from_message<TreeRow>(tree));
      trees.back().nodes = rows<TreeNodeRow>(tree.nodes());
    }
    return trees;
  }
  Result<std::vector<ReservationRow>> reservations() override {
    v1::ReservationsReply reply;
    SLUICE_RETURN_IF_ERROR(
        call(&v1::Control::Stub::Reservations, v1::ReservationsRequest(), &reply));
    return rows<ReservationRow>(reply.reservations());
  }
  Result<DrainOutcome> drain(const std::string& node, bool undo) override {
    v1::DrainRequest request;
    request.set_node(node);
    request.set_undo(undo);
    v1::DrainReply reply;
    SLUICE_RETURN_IF_ERROR(call(&v1::Control::Stub::Drain, request, &reply));
    return from_message<DrainOutcome>(reply);
  }

 private:
  template <typename Method, typename Request, typename Reply>
  Status call(Method method, const Request& request, Reply* reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::milliseconds>(patience_));
    const grpc::Status status = ((*stub_).*method)(&context, request, reply);
    if (status.ok()) return {};
    if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
      return fail(ErrorKind::invalid_argument, status.error_message());
    }
    return fail(ErrorKind::remote, "manager at " + address_ + ": " + status.error_message() +
                                       " (is sluice-manager running there? --manager)");
  }
  template <typename Row, typename List>
  static std::vector<Row> rows(const List& list) {
    std::vector<Row> rows;
    for (const auto& message : list) rows.push_back(from_message<Row>(message));
    return rows;
  }

  const std::string address_;
  const Duration patience_;
  std::unique_ptr<v1::Control::Stub> stub_;
};

}  // namespace

std::unique_ptr<ControlClient> ControlClient::open(const std::string& address, Duration patience) {
  return std::make_unique<GrpcControlClient>(address, patience);
}

}  // namespace sluice::manager
