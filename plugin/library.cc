// SPDX-License-Identifier: Apache-2.0
#include "plugin/library.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "plugin/banner.h"
#include "plugin/logging.h"
#include "plugin/settings.h"
#include "transport/liveness.h"

namespace sluice::plugin::library {
namespace {

struct State {
  bool banner_shown = false;
  Logger logger;
  std::shared_ptr<const DeviceList> devices;
  std::vector<std::shared_ptr<CommunicatorContext>> contexts;
  std::vector<std::weak_ptr<CommunicatorContext>>
      finalized;  // some may have connections that are open still
  std::vector<std::shared_ptr<ListenComm>> listens;
};

// Plain data without destructors: nothing runs at exit() behind our back.
constinit std::mutex state_mutex;
constinit State* state = nullptr;
constinit std::atomic<pid_t> owner = 0;  // a forked child must not touch what its parent uses

// With state_mutex held. A forked child that comes here starts afresh and leaves its parent's state
// alone.
State& state_of_this_process() {
  if (state == nullptr || owner != getpid()) {
    state = new State;
    owner = getpid();
  }
  return *state;
}

std::shared_ptr<CommunicatorContext> find_locked(const ContextKey& key) {
  if (state == nullptr) return nullptr;
  const auto found = std::ranges::find_if(state->contexts, [&](const auto& context) {
    const InitArguments& arguments = context->arguments();
    if (arguments.role != key.role || arguments.per_communicator != key.per_communicator) {
      return false;
    }
    return key.per_communicator ? context.get() == key.pointer
                                : arguments.traffic_class == key.traffic_class;
  });
  return found == state->contexts.end() ? nullptr : *found;
}

// API v10 gives a traffic class with each connect instead of once: each class gets a context of its
// own.
std::shared_ptr<CommunicatorContext> open_for_class_locked(const ContextKey& key) {
  const auto base = find_locked({key.role, false, nullptr, -1});
  if (base == nullptr) return nullptr;
  InitArguments arguments = base->arguments();
  arguments.traffic_class = key.traffic_class;
  auto context = std::make_shared<CommunicatorContext>(arguments, base->logger(),
                                                       base->configuration(), state->devices);
  context->log_communicator_line();
  return state->contexts.emplace_back(std::move(context));
}

// Takes out every listen that `belongs`, to be ended without the lock.
template <typename Predicate>
std::vector<std::shared_ptr<ListenComm>> take_listens_locked(Predicate belongs) {
  std::vector<std::shared_ptr<ListenComm>> taken;
  std::erase_if(state->listens, [&](std::shared_ptr<ListenComm>& listen) {
    if (!belongs(*listen)) return false;
    taken.push_back(std::move(listen));
    return true;
  });
  return taken;
}

// Whether a CollNet context is `such`.
template <typename Predicate>
bool has_collnet_locked(Predicate such) {
  return state != nullptr && std::ranges::any_of(state->contexts, [&](const auto& context) {
           return context->arguments().role == Role::collnet && such(*context);
         });
}

Result<std::shared_ptr<CommunicatorContext>> open_locked(State& current,
                                                         const InitArguments& arguments) {
  const Logger logger = logger_for(arguments.log_callback);
  const bool first = current.contexts.empty();
  // Warnings about settings are worth one reading, not one for each communicator.
  Configuration configuration = Configuration::load(first ? logger : Logger());
  if (first) {
    auto devices = find_devices(configuration, logger);
    if (!devices) return fail(std::move(devices).error());
    current.devices = std::make_shared<const DeviceList>(*std::move(devices));
  }
  current.logger = logger;
  auto context = std::make_shared<CommunicatorContext>(arguments, logger, std::move(configuration),
                                                       current.devices);
  if (!std::exchange(current.banner_shown, true)) {
    log_banner(logger, arguments, *current.devices);
  }
  if (arguments.role == Role::collnet) {
    auto settings = client_settings(context->configuration());
    if (!settings) return fail(std::move(settings).error());
    context->client_settings() = *std::move(settings);
  }
  return context;
}

// Runs when the library is unloaded or the process exits. Connections that are still open stay as
// they are, other threads may be using them; but no thread of ours may run on in code that goes
// away.
[[gnu::destructor]] void free_what_is_left() {
  if (owner != getpid()) return;
  std::unique_lock lock(state_mutex);
  const std::unique_ptr<State> last(std::exchange(state, nullptr));
  lock.unlock();
  if (last == nullptr) return;
  for (const auto& context : last->contexts) {
    context->pending_connects().close();
    context->transport().halt();
  }
  for (const auto& finalized : last->finalized) {
    if (const auto context = finalized.lock()) context->transport().halt();
  }
}

}  // namespace

Result<std::shared_ptr<CommunicatorContext>> open_context(const InitArguments& arguments) {
  const std::lock_guard lock(state_mutex);
  State& current = state_of_this_process();
  if (!arguments.per_communicator) {
    if (auto context = find_locked({arguments.role, false, nullptr})) return context;
  }
  auto context = open_locked(current, arguments);
  if (context) current.contexts.push_back(*context);
  return context;
}

Result<std::shared_ptr<CommunicatorContext>> find_context(const ContextKey& key) {
  {
    const std::lock_guard lock(state_mutex);
    if (auto context = find_locked(key)) return context;
    if (!key.per_communicator && key.traffic_class != -1) {
      if (auto context = open_for_class_locked(key)) return context;
    }
  }
  return reject(key.per_communicator
                    ? format_text("%p is no context that init gave out", key.pointer)
                    : std::string("a call before init"));
}

Status close_context(const void* pointer) {
  std::shared_ptr<CommunicatorContext> context;
  std::vector<std::shared_ptr<ListenComm>> listens;
  {
    const std::lock_guard lock(state_mutex);
    if (state != nullptr) {
      const auto found = std::ranges::find_if(
          state->contexts, [&](const auto& candidate) { return candidate.get() == pointer; });
      if (found != state->contexts.end()) {
        context = std::move(*found);
        state->contexts.erase(found);
        listens = take_listens_locked(
            [&](const ListenComm& listen) { return listen.context() == context; });
        if (state->contexts.empty()) state->logger = Logger();
        std::erase_if(state->finalized, [](const auto& finalized) { return finalized.expired(); });
        state->finalized.push_back(context);
      }
    }
  }
  if (context == nullptr) {
    return reject(format_text("finalize of %p, which is no context that init gave out", pointer));
  }
  context->pending_connects().close();
  return {};
}

bool collnet_is_on() {
  const std::lock_guard lock(state_mutex);
  return has_collnet_locked([](const CommunicatorContext&) { return true; });
}

bool collnet_uses_libsharp() {
  const std::lock_guard lock(state_mutex);
  return has_collnet_locked(
      [](const CommunicatorContext& context) { return uses_libsharp(context.configuration()); });
}

std::shared_ptr<const DeviceList> devices() {
  const std::lock_guard lock(state_mutex);
  return state == nullptr ? nullptr : state->devices;
}

ListenComm* keep_listen(std::shared_ptr<ListenComm> listen) {
  const std::lock_guard lock(state_mutex);
  return state_of_this_process().listens.emplace_back(std::move(listen)).get();
}

Result<std::shared_ptr<ListenComm>> find_listen(const void* listen) {
  {
    const std::lock_guard lock(state_mutex);
    if (state != nullptr) {
      const auto found = std::ranges::find_if(
          state->listens, [&](const auto& candidate) { return candidate.get() == listen; });
      if (found != state->listens.end()) return *found;
    }
  }
  return reject(format_text("%p is no listen that is open", listen));
}

Status close_listen(const void* listen) {
  if (listen == nullptr) return {};
  std::vector<std::shared_ptr<ListenComm>> taken;
  {
    const std::lock_guard lock(state_mutex);
    if (state != nullptr) {
      taken =
          take_listens_locked([&](const ListenComm& candidate) { return &candidate == listen; });
    }
  }
  if (taken.empty()) return reject(format_text("closeListen of %p, which is not open", listen));
  return {};
}

Logger logger() {
  const std::lock_guard lock(state_mutex);
  return state == nullptr ? Logger() : state->logger;
}

tl::unexpected<Error> reject(Error error) {
  SLUICE_WARN(logger(), net, "%s", error.message.c_str());
  return fail(std::move(error));
}

tl::unexpected<Error> reject(std::string message) {
  return reject(Error{ErrorKind::invalid_argument, 0, std::move(message)});
}

}  // namespace sluice::plugin::library
