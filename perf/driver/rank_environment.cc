// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/rank_environment.h"

#include <charconv>
#include <cstring>

namespace sluice::perf {
namespace {

constexpr int kDefaultPort = 29400;  // torchrun's own neighbour is 29500

struct Launcher {
  const char* rank;
  const char* size;
};

// Most specific first: mpirun under SLURM sets both.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"RANK", "WORLD_SIZE"},
};

std::optional<int> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [last, error] = std::from_chars(text, end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

const char* first_of(const GetVariable& get, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = get(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

Result<HostPort> root_address(const GetVariable& get) {
  if (const char* given = get("SLUICE_PERF_ROOT")) return HostPort::parse(given);
  const char* host =
      first_of(get, {"MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST"});
  const std::optional<int> master = number(get("MASTER_PORT"));
  int port = kDefaultPort;
  if (master) {
    port = *master + 1;  // torchrun itself listens on MASTER_PORT
  } else if (const auto job = number(first_of(get, {"SLURM_JOB_ID", "PMI_ID"}))) {
    port = kDefaultPort + *job % 10000;
  }
  // Without a hint all ranks must be on this host, which is what a bare mpirun does.
  return HostPort{host != nullptr ? host : "127.0.0.1", std::to_string(port)};
}

}  // namespace

Result<std::optional<RankIdentity>> rank_from_environment(const GetVariable& get) {
  for (const Launcher& launcher : kLaunchers) {
    const char* rank_text = get(launcher.rank);
    if (rank_text == nullptr) continue;
    const char* size_text = get(launcher.size);
    if (size_text == nullptr && std::strcmp(launcher.rank, "PMIX_RANK") == 0) {
      size_text = first_of(get, {"SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"});  // PMIx has no size
    }
    if (size_text == nullptr) continue;
    const std::optional<int> rank = number(rank_text);
    const std::optional<int> size = number(size_text);
    if (!rank || !size || *size < 1 || *rank < 0 || *rank >= *size) {
      return fail(ErrorKind::invalid_argument,
                  format_text("%s is %s and %s is %s: no rank of a job", launcher.rank, rank_text,
                              launcher.size, size_text));
    }
    auto root = root_address(get);
    if (!root) return fail(std::move(root).error());
    return RankIdentity{*rank, *size, launcher.rank, std::move(*root)};
  }
  return std::nullopt;
}

}  // namespace sluice::perf
