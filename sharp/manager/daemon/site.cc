// SPDX-License-Identifier: Apache-2.0
// The files about the site that the command line names.
#include <cerrno>
#include <fstream>

#include "sharp/manager/core/ibnetdiscover.h"
#include "sharp/manager/core/topology_file.h"
#include "sharp/manager/daemon/options.h"

namespace sluice::manager {
namespace {

constexpr std::streamoff kMostBytes = std::streamoff{256} << 20;

Result<std::string> content_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) return fail_errno(errno, "opening " + name);
  const std::streamoff size = file.tellg();
  if (size < 0 || size > kMostBytes) {
    return fail(ErrorKind::invalid_usage, name + " is no file, or too long");
  }
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return fail_errno(errno, "reading " + name);
  return text;
}

Status add_topology(const std::string& name, bool tenants_only, Site& site) {
  const auto text = content_of(name);
  if (!text) return fail(text.error());
  const auto file = read_topology_file(*text, name);
  if (!file) return fail(file.error());
  site.policy.tenants.insert(site.policy.tenants.end(), file->tenants.begin(), file->tenants.end());
  if (tenants_only) return {};
  return site.fabric.merge(file->fabric);
}

Status add_sweep(const std::string& name, Site& site) {
  const auto text = content_of(name);
  if (!text) return fail(text.error());
  const auto sweep = read_ibnetdiscover(*text);
  if (!sweep) return fail(sweep.error().kind, name + ": " + sweep.error().message);
  return site.fabric.merge(*sweep, Fabric::Source::sweep);
}

}  // namespace

Result<Site> read_site(const DaemonOptions& options) {
  Site site;
  site.policy.lease_duration = options.lease_time;
  site.policy.preemption = options.preemption;
  for (const std::string& name : options.ibnetdiscover_files) {
    SLUICE_RETURN_IF_ERROR(add_sweep(name, site));
  }
  for (const std::string& name : options.fabric_files) {
    SLUICE_RETURN_IF_ERROR(add_topology(name, false, site));
  }
  for (const std::string& name : options.reservation_files) {
    SLUICE_RETURN_IF_ERROR(add_topology(name, true, site));
  }
  return site;
}

}  // namespace sluice::manager
