// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "sharp/libsharp/mapping.h"

namespace sluice::sharp::libsharp {
namespace {

constexpr const char* kFile = "libsharp_coll.so";
// The tests' library says by this symbol that it is not NVIDIA's.
constexpr const char* kStandInMark = "sluice_stand_in_for_libsharp";

#ifdef SLUICE_HAVE_SHARP_HEADER
constexpr bool kHasVendorHeader = true;
#else
constexpr bool kHasVendorHeader = false;
#endif

template <typename Pointer>
bool look_up(void* handle, const char* name, Pointer& pointer, std::string& missing) {
  pointer = reinterpret_cast<Pointer>(::dlsym(handle, name));
  if (pointer == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
  return pointer != nullptr;
}

// Names what the library lacks; empty when everything that must be there is.
std::string resolve(void* handle, Functions& functions) {
  std::string missing;
  look_up(handle, "sharp_coll_init", functions.init, missing);
  look_up(handle, "sharp_coll_finalize", functions.finalize, missing);
  look_up(handle, "sharp_coll_caps_query", functions.caps_query, missing);
  look_up(handle, "sharp_coll_comm_init", functions.comm_init, missing);
  look_up(handle, "sharp_coll_comm_destroy", functions.comm_destroy, missing);
  look_up(handle, "sharp_coll_reg_mr", functions.reg_mr, missing);
  look_up(handle, "sharp_coll_dereg_mr", functions.dereg_mr, missing);
  look_up(handle, "sharp_coll_do_allreduce_nb", functions.allreduce, missing);
  look_up(handle, "sharp_coll_req_test", functions.test, missing);
  look_up(handle, "sharp_coll_req_wait", functions.wait, missing);
  look_up(handle, "sharp_coll_strerror", functions.text, missing);
  look_up(handle, "sharp_coll_default_config", functions.default_config, missing);
  std::string optional;
  look_up(handle, "sharp_coll_do_allgather_nb", functions.allgather, optional);
  look_up(handle, "sharp_coll_do_reduce_scatter_nb", functions.reduce_scatter, optional);
  look_up(handle, "sharp_coll_reg_mr_v2", functions.reg_mr_v2, optional);
  return missing;
}

std::string path_of(const void* symbol, const std::string& otherwise) {
  Dl_info info{};
  const bool found = ::dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
  return found ? info.dli_fname : otherwise;
}

}  // namespace

std::vector<std::string> candidates(const std::function<const char*(const char*)>& get) {
  std::vector<std::string> names;
  const char* folder = get("HPCX_SHARP_DIR");
  if (folder != nullptr && folder[0] != '\0') {
    names.push_back(std::string(folder) + "/lib/" + kFile);
  }
  names.emplace_back(kFile);
  names.push_back(std::string("/opt/mellanox/sharp/lib/") + kFile);
  return names;
}

Result<std::shared_ptr<const Library>> Library::open(const std::string& file) {
  const auto names = file.empty() ? candidates([](const char* name) { return std::getenv(name); })
                                  : std::vector<std::string>{file};
  void* handle = nullptr;
  std::string failure;
  std::string name;
  for (size_t at = 0; at < names.size() && handle == nullptr; ++at) {
    name = names[at];
    handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) break;
    const char* reason = ::dlerror();
    failure += (failure.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : "unknown");
  }
  if (handle == nullptr) {
    return fail(ErrorKind::refused,
                "libsharp_coll cannot be loaded; it comes with NVIDIA's HPC-X (load its module, or "
                "set HPCX_SHARP_DIR) or the sharp package of MLNX_OFED: " +
                    failure);
  }
  if (!kHasVendorHeader && ::dlsym(handle, kStandInMark) == nullptr) {
    return fail(ErrorKind::refused, name +
                                        " cannot be used: this Sluice was built without SHARP's "
                                        "headers; build it where sharp/api/sharp_coll.h is");
  }
  std::shared_ptr<Library> library(new Library());
  const std::string missing = resolve(handle, library->functions_);
  if (!missing.empty()) {
    return fail(ErrorKind::refused, name + " is no usable libsharp_coll: it lacks " + missing);
  }
  library->path_ = path_of(reinterpret_cast<const void*>(library->functions_.init), name);
  return library;
}

std::string Library::describe(int status) const {
  const char* text = functions_.text(status);
  std::string sentence = format_text("%s (%d)", text != nullptr ? text : "unknown error", status);
  const char* hint = hint_for(status);
  if (hint[0] != '\0') sentence += std::string(": ") + hint;
  return sentence;
}

}  // namespace sluice::sharp::libsharp
