// SPDX-License-Identifier: Apache-2.0
// Which Sluice this is. The values come from a header that the build generates
// (cmake/SluiceVersion.cmake); only base/version.cc sees it, so that a new commit compiles one file
// again. Any thread.
#pragma once

namespace sluice {

extern const char* const kVersion;  // "0.1.0"
extern const char* const
    kGitId;  // "1a2b3c4d5e6f", with "+" when the tree had changes; "unknown" without git

}  // namespace sluice
