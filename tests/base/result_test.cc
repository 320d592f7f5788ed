// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "base/clock.h"

namespace sluice {
namespace {

Status passes_on(const Status& status) {
  SLUICE_RETURN_IF_ERROR(status);
  return {};
}

TEST(Result, ErrorsArePassedOnWhole) {
  EXPECT_TRUE(passes_on({}).has_value());
  const Status failed = passes_on(fail(ErrorKind::timeout, "nobody came"));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::timeout);
  EXPECT_EQ(failed.error().message, "nobody came");
}

TEST(Result, SystemErrorsNameTheirNumber) {
  const Status failed = fail_errno(ECONNREFUSED, "connect to 10.0.0.2:7");
  EXPECT_EQ(failed.error().kind, ErrorKind::system);
  EXPECT_EQ(failed.error().system_errno, ECONNREFUSED);
  EXPECT_EQ(failed.error().message, "connect to 10.0.0.2:7: Connection refused (errno " +
                                        std::to_string(ECONNREFUSED) + ")");
}

TEST(FormatText, AnyLength) {
  EXPECT_EQ(format_text("%s", ""), "");
  EXPECT_EQ(format_text("%d of %s", 2, "three"), "2 of three");
  const std::string longer(10000, 'y');
  EXPECT_EQ(format_text("<%s>", longer.c_str()), "<" + longer + ">");
}

TEST(Deadline, NeverAndPassed) {
  EXPECT_TRUE(Deadline().never());
  EXPECT_FALSE(Deadline().passed());
  EXPECT_EQ(Deadline().left(), Duration::max());
  EXPECT_TRUE(Deadline::after(Duration::max()).never());
  const Deadline now = Deadline::after(Duration::zero());
  EXPECT_TRUE(now.passed());
  EXPECT_EQ(now.left(), Duration::zero());
  const Deadline later = Deadline::after(std::chrono::hours(1));
  EXPECT_FALSE(later.passed());
  EXPECT_GT(later.left(), std::chrono::minutes(59));
}

}  // namespace
}  // namespace sluice
