// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libsharp_coll, loaded at run time, so that a host without it loads the plugin.
//
// Once loaded the library stays in the process (RTLD_NODELETE): it has threads and exit handlers of
// its own. Opening it again gives the same copy. Thread rule: immutable, any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/libsharp/api.h"

namespace sluice::sharp::libsharp {

// Its entry points. Those of allgather, reduce-scatter and dma-buf came with SHARP 3 and may be
// null.
struct Functions {
  decltype(&::sharp_coll_init) init = nullptr;
  decltype(&::sharp_coll_finalize) finalize = nullptr;
  decltype(&::sharp_coll_caps_query) caps_query = nullptr;
  decltype(&::sharp_coll_comm_init) comm_init = nullptr;
  decltype(&::sharp_coll_comm_destroy) comm_destroy = nullptr;
  decltype(&::sharp_coll_reg_mr) reg_mr = nullptr;
  decltype(&::sharp_coll_reg_mr_v2) reg_mr_v2 = nullptr;
  decltype(&::sharp_coll_dereg_mr) dereg_mr = nullptr;
  decltype(&::sharp_coll_do_allreduce_nb) allreduce = nullptr;
  decltype(&::sharp_coll_do_allgather_nb) allgather = nullptr;
  decltype(&::sharp_coll_do_reduce_scatter_nb) reduce_scatter = nullptr;
  decltype(&::sharp_coll_req_test) test = nullptr;
  decltype(&::sharp_coll_req_wait) wait = nullptr;
  decltype(&::sharp_coll_strerror) text = nullptr;
  const sharp_coll_config* default_config = nullptr;
};

class Library {
 public:
  // `file`: its name or path; empty: where HPC-X and MLNX_OFED put it, and the loader's own path.
  static Result<std::shared_ptr<const Library>> open(const std::string& file);

  const Functions& functions() const { return functions_; }
  const std::string& path() const { return path_; }
  // "Quota error (-7): a hint what to do".
  std::string describe(int status) const;

 private:
  Library() = default;
  Functions functions_;
  std::string path_;
};

// The names that open("") tries, in order. `get`: getenv.
std::vector<std::string> candidates(const std::function<const char*(const char*)>& get);

}  // namespace sluice::sharp::libsharp
