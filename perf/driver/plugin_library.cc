// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/plugin_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

namespace sluice::perf {

Result<PluginLibrary> PluginLibrary::open(const std::string& file) {
  struct stat info {};
  if (file.find('/') != std::string::npos && ::stat(file.c_str(), &info) != 0) {
    return fail(ErrorKind::invalid_argument, file + ": no such file");
  }
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return fail(ErrorKind::invalid_argument,
                file + " cannot be loaded: " + (reason != nullptr ? reason : "unknown reason"));
  }
  return PluginLibrary(file, handle);
}

PluginLibrary::PluginLibrary(PluginLibrary&& other) noexcept
    : file_(std::move(other.file_)), handle_(std::exchange(other.handle_, nullptr)) {}

PluginLibrary& PluginLibrary::operator=(PluginLibrary&& other) noexcept {
  if (this != &other) {
    close();
    file_ = std::move(other.file_);
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

PluginLibrary::~PluginLibrary() {
  close();
}

void PluginLibrary::close() {
  if (handle_ != nullptr) ::dlclose(handle_);
  handle_ = nullptr;
}

Result<PluginTable> PluginLibrary::find(const char* kind, const char* prefix, int version) const {
  std::string found;
  for (int known = abi::kNewestVersion; known >= abi::kOldestVersion; --known) {
    const std::string number = std::to_string(known);
    void* table = ::dlsym(handle_, (prefix + number).c_str());
    if (table == nullptr) continue;
    if (version == 0 || version == known) return PluginTable{known, table};
    found += (found.empty() ? "v" : ", v") + number;
  }
  if (found.empty()) {
    return fail(ErrorKind::invalid_argument,
                file_ + " is no " + kind + " plugin: it exports no " + prefix + "6 to 12");
  }
  return fail(ErrorKind::invalid_argument, file_ + " lacks " + kind + " plugin version " +
                                               std::to_string(version) + "; it has " + found);
}

}  // namespace sluice::perf
