// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/communicator.h"

#include <sys/random.h>

#include "perf/driver/nccl_log.h"

namespace sluice::perf {
namespace {

// How long a plugin may take to notice by itself that a peer has died.
constexpr auto kNoticeGrace = std::chrono::seconds(1);

// A plugin that says no, whatever its reason: it cannot be used, nobody has died.
Status refused_by(ncclResult_t result, const std::string& what) {
  Error error = error_of(result, what);
  error.kind = ErrorKind::refused;
  error.message += "; the plugin's own lines (-v) may say why";
  return fail(std::move(error));
}

// Asks for the device and its properties, as NCCL does after init.
Status take_device(PluginApi& api, const std::string& kind, int device, DeviceProperties* out) {
  int count = 0;
  const ncclResult_t result = api.devices(&count);
  if (result != ncclSuccess) return refused_by(result, kind + " devices");
  if (count <= device) {
    return fail(ErrorKind::refused, std::string("plugin ") + api.name() + " has no " + kind +
                                        " device (it reports " + std::to_string(count) + ")");
  }
  const ncclResult_t got = api.properties(device, out);
  if (got != ncclSuccess) return refused_by(got, kind + " getProperties");
  if ((out->pointer_support & abi::kPointerHost) == 0) {
    return fail(ErrorKind::refused, kind + " device " + out->name +
                                        " does not take host memory, which is all there is");
  }
  return {};
}

}  // namespace

Communicator::Communicator(PluginLibrary library, const CommunicatorOptions& options,
                           Bootstrap& bootstrap)
    : library_(std::move(library)), bootstrap_(bootstrap), patience_(options.timeout) {}

Result<std::unique_ptr<Communicator>> Communicator::create(const CommunicatorOptions& options,
                                                           Bootstrap& bootstrap) {
  uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) id = 1;
  auto ids = bootstrap.allgather(id);
  if (!ids) return fail(std::move(ids).error());

  std::unique_ptr<Communicator> made;
  Status status;
  auto library = PluginLibrary::open(options.plugin);
  if (library) {
    made.reset(new Communicator(std::move(*library), options, bootstrap));
    status = made->initialise(options, ids->front());
  } else {
    status = fail(std::move(library).error());
  }
  SLUICE_RETURN_IF_ERROR(bootstrap.agree(status));
  return made;
}

Status Communicator::initialise(const CommunicatorOptions& options, uint64_t id) {
  const auto net_table = library_.net(options.version);
  if (!net_table) return fail(net_table.error());
  net_ = NetApi::over(*net_table);
  net_->set_fault(options.fault);
  const ncclResult_t result = net_->init(id);
  if (result != ncclSuccess) return refused_by(result, library_.file() + ": net init");
  net_ready_ = true;
  SLUICE_RETURN_IF_ERROR(take_device(*net_, "net", device(), &properties_));
  if (!options.collnet) return {};

  const auto collnet_table = library_.collnet(options.version);
  if (!collnet_table) return fail(collnet_table.error());
  collnet_ = CollNetApi::over(*collnet_table);
  collnet_->set_fault(options.fault);
  const ncclResult_t collnet_result = collnet_->init(id);
  if (collnet_result != ncclSuccess) {
    return refused_by(collnet_result, library_.file() + ": CollNet init");
  }
  collnet_ready_ = true;
  return take_device(*collnet_, "CollNet", device(), &collnet_properties_);
}

Communicator::~Communicator() {
  if (hangs()) {
    library_.abandon();  // a thread is still inside
    return;
  }
  if (collnet_ready_) static_cast<void>(collnet_->finalize());
  if (net_ready_) static_cast<void>(net_->finalize());
}

std::string Communicator::description() const {
  return format_text("%s v%d, device %s", net_->name(), net_->version(), properties_.name.c_str());
}

Status Communicator::run(WorkerThread& thread, WorkerThread::Task task) {
  Status status = thread.run(std::move(task), patience_, [this] { watch_others(); });
  if (!status && patience_.stopped() && other_failed_) return fail(*other_failed_);
  return status;
}

void Communicator::watch_others() {
  if (!other_failed_) {
    other_failed_ = bootstrap_.failure();
    if (other_failed_) stop_at_ = Deadline::after(kNoticeGrace);
  } else if (stop_at_.passed()) {
    patience_.stop();
  }
}

}  // namespace sluice::perf
