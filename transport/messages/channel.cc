// SPDX-License-Identifier: Apache-2.0
#include "transport/messages/channel.h"

namespace sluice::transport {

Result<Completion> Channel::test(Request& request) {
  if (!request.in_use) {
    return fail(ErrorKind::invalid_argument, "test of a request that is not in use (done before?)");
  }
  if (!request.done) SLUICE_RETURN_IF_ERROR(progress());
  Completion completion;
  if (!request.done) return completion;
  completion.done = true;
  completion.count = request.count;
  completion.sizes = request.sizes;
  request.in_use = false;
  return completion;
}

}  // namespace sluice::transport
