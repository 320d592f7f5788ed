// SPDX-License-Identifier: Apache-2.0
// The plugin as NCCL sees it: opened by dlopen(), its tables found by name.
#pragma once

#include <dlfcn.h>

#include <string>

namespace sluice::test {

inline const char* plugin_file() {
  return SLUICE_PLUGIN_FILE;
}

class PluginLibrary {
 public:
  PluginLibrary() : library_(dlopen(plugin_file(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) error_ = dlerror();
  }
  ~PluginLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& error() const { return error_; }
  void* symbol(const std::string& name) const {
    return library_ == nullptr ? nullptr : dlsym(library_, name.c_str());
  }
  template <typename Table>
  const Table* table(const char* prefix, int version) const {
    return static_cast<const Table*>(symbol(std::string(prefix).append(std::to_string(version))));
  }

 private:
  void* library_;
  std::string error_;
};

}  // namespace sluice::test
