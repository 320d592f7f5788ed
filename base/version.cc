// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

#include "sluice_version.h"

namespace sluice {

const char* const kVersion = SLUICE_VERSION_TEXT;
const char* const kGitId = SLUICE_GIT_ID_TEXT;

}  // namespace sluice
