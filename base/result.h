// SPDX-License-Identifier: Apache-2.0
// Results and errors: how every fallible function of Sluice answers.
//
// An Error says what kind of failure it was (so that the plugin can turn it into an ncclResult_t,
// in one place: plugin/result_code.h), the errno where the system gave one, and a sentence that
// names who, what and what to do. The first function that decides something failed logs it; callers
// only pass it on.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace sluice {

enum class ErrorKind {
  system,            // a system call failed; Error::system_errno says why
  remote,            // the peer is gone, closed, or broke the protocol
  timeout,           // a deadline passed
  invalid_argument,  // the caller passed something that cannot be right
  invalid_usage,     // a right call at the wrong time, or a wrong configuration
  refused,           // somebody who may say no said no (node full, feature off)
  internal,          // a defect of ours
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  int system_errno = 0;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, 0, std::move(message)});
}

// `message` says what was tried on whom; the system's own text is appended.
[[nodiscard]] inline tl::unexpected<Error> fail_errno(int system_errno,
                                                      const std::string& message) {
  return tl::unexpected<Error>(Error{ErrorKind::system, system_errno,
                                     message + ": " + std::strerror(system_errno) + " (errno " +
                                         std::to_string(system_errno) + ")"});
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// printf-like text for error messages.
[[gnu::format(printf, 1, 2)]] std::string format_text(const char* format, ...);

}  // namespace sluice

// Passes an error on to the caller: the only control-flow macros of the project.
#define SLUICE_RETURN_IF_ERROR(expression)                                        \
  do {                                                                            \
    if (auto sluice_status = (expression); !sluice_status)                        \
      return ::tl::unexpected<::sluice::Error>(std::move(sluice_status).error()); \
  } while (false)
