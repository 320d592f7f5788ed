// SPDX-License-Identifier: Apache-2.0
// Opens the installed plugin as NCCL does: the file named at build time, or the argument.
#include <dlfcn.h>

#include <cstdio>

int main(int argument_count, char** arguments) {
  const char* file = argument_count > 1 ? arguments[1] : SLUICE_PLUGIN;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const char* const symbols[] = {"ncclNetPlugin_v6", "ncclNetPlugin_v12", "ncclCollNetPlugin_v12"};
  for (const char* symbol : symbols) {
    if (dlsym(library, symbol) == nullptr) {
      std::fprintf(stderr, "%s: no %s\n", file, symbol);
      return 1;
    }
  }
  std::printf("%s\n", file);
  return dlclose(library);
}
