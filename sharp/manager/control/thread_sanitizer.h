// SPDX-License-Identifier: Apache-2.0
// For builds with ThreadSanitizer: what it reports from inside gRPC's libraries, whose locks it has
// not seen, is not ours. Included by the files that bring gRPC in.
#pragma once

#ifdef SLUICE_THREAD_SANITIZER
extern "C" [[gnu::weak, gnu::visibility("default")]] const char* __tsan_default_suppressions() {
  return "race:libgrpc\n"
         "race:libgpr\n"
         "race:libabsl_\n"
         "race:libprotobuf\n"
         "race:libupb\n"
         "race:libcares\n"
         "race:libssl\n"
         "race:libcrypto\n"
         "mutex:libgrpc\n"
         "mutex:libgpr\n"
         "mutex:libabsl_\n"
         "deadlock:libgrpc\n"
         "deadlock:libgpr\n"
         "deadlock:libabsl_\n"
         "thread:libgpr\n";
}
#endif
