// SPDX-License-Identifier: Apache-2.0
#include "plugin/collnet/node_module.h"

#include <dlfcn.h>

#include <string>

#include "base/version.h"
#include "sharp/agg/embedded_node.h"

namespace sluice::plugin::collnet {
namespace {

constexpr char kModuleName[] = "libsluice-node.so";

// Of the file that this function is in; with the slash.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&load_node_module), &info) == 0 ||
      info.dli_fname == nullptr) {
    return {};
  }
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

std::string last_loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

Result<std::shared_ptr<sharp::NodeHostFactory>> load_node_module() {
  const std::string path = own_folder() + kModuleName;
  // What the module started may outlive this library, and so must its code.
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    return fail(ErrorKind::system,
                last_loader_error() + ": it belongs beside the plugin and needs libhwy1");
  }
  void* symbol = ::dlsym(module, sharp::kNodeHostFactorySymbol);
  if (symbol == nullptr) return fail(ErrorKind::system, last_loader_error());
  const auto make = reinterpret_cast<sharp::NodeHostFactoryFunction>(symbol);
  std::shared_ptr<sharp::NodeHostFactory> factory(make(kGitId));
  if (factory == nullptr) {
    return fail(ErrorKind::invalid_usage,
                path + " is of another build than the plugin: install both together");
  }
  return factory;
}

}  // namespace sluice::plugin::collnet
