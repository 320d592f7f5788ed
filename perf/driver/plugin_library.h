// SPDX-License-Identifier: Apache-2.0
// A net plugin's shared library, opened as NCCL opens it: dlopen(RTLD_NOW | RTLD_LOCAL), then the
// newest table of a version that both sides know, net and CollNet searched independently.
//
// Ownership: the library is closed by the destructor; every table dies with it.
// Thread rule: one thread.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::perf {

struct PluginTable {
  int version = 0;  // 0: there is none
  void* table = nullptr;
};

class PluginLibrary {
 public:
  static Result<PluginLibrary> open(const std::string& file);

  PluginLibrary(PluginLibrary&& other) noexcept;
  PluginLibrary& operator=(PluginLibrary&& other) noexcept;
  ~PluginLibrary();

  // `version` 0 asks for the newest. The error says which versions there are.
  Result<PluginTable> net(int version) const { return find("net", "ncclNetPlugin_v", version); }
  Result<PluginTable> collnet(int version) const {
    return find("CollNet", "ncclCollNetPlugin_v", version);
  }
  const std::string& file() const { return file_; }
  // Never closes the library: some thread is still in it.
  void abandon() { handle_ = nullptr; }

 private:
  PluginLibrary(std::string file, void* handle) : file_(std::move(file)), handle_(handle) {}
  Result<PluginTable> find(const char* kind, const char* prefix, int version) const;
  void close();

  std::string file_;
  void* handle_ = nullptr;
};

}  // namespace sluice::perf
