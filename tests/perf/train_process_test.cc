// SPDX-License-Identifier: Apache-2.0
// The real sluice-train over the test plugin, on synthetic digits that a small network can learn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "perf/driver/exit_code.h"
#include "perf/train/dataset.h"
#include "tests/perf/program.h"

namespace sluice::train {
namespace {

using test::Outcome;
using test::run_program;
using testing::HasSubstr;

// Ten random pictures, and many noisy copies of them.
std::string write_digits(const std::string& name, bool random_labels) {
  const std::string file = testing::TempDir() + name;
  Random random(5);
  float pictures[kClasses][kPixels];
  for (auto& picture : pictures) {
    for (float& pixel : picture) pixel = random.uniform() * 12;
  }
  gzFile out = ::gzopen(file.c_str(), "wb");
  for (size_t row = 0; row < 500; ++row) {
    const size_t label = random.below(kClasses);
    for (size_t pixel = 0; pixel < kPixels; ++pixel) {
      ::gzprintf(out, "%.3f,", static_cast<double>(pictures[label][pixel] + random.uniform() * 4));
    }
    ::gzprintf(out, "%d\n", static_cast<int>(random_labels ? random.below(kClasses) : label));
  }
  ::gzclose(out);
  return file;
}

Outcome train(const std::string& data, const std::vector<std::string>& more,
              const test::Environment& extra = {}) {
  std::vector<std::string> words{SLUICE_TRAIN, "--data", data,  "--plugin",
                                 SLUICE_RIG,   "--node", "none"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words, extra);
}

TEST(Train, LearnsAndMatchesOneProcess) {
  const Outcome outcome =
      train(write_digits("digits.csv.gz", false), {"--ranks", "3", "--epochs", "5"});
  EXPECT_EQ(outcome.code, perf::kExitFine) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("epoch  5: loss"));
  EXPECT_THAT(outcome.output, HasSubstr("same bits (hash"));
  EXPECT_THAT(outcome.output, HasSubstr("# Verdict: OK"));
  EXPECT_EQ(outcome.left_behind, 0);
}

TEST(Train, FailsWhenNothingCanBeLearned) {
  const Outcome outcome =
      train(write_digits("noise.csv.gz", true), {"--ranks", "2", "--epochs", "1"});
  EXPECT_EQ(outcome.code, perf::kExitWrong) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("asked for: FAILED"));
}

TEST(Train, FailsWhenTheSumsAreCorrupted) {
  const Outcome outcome = train(write_digits("digits2.csv.gz", false),
                                {"--ranks", "2", "--epochs", "2"}, {{"TEST_PLUGIN_CORRUPT", "1"}});
  EXPECT_EQ(outcome.code, perf::kExitWrong) << outcome.output << outcome.errors;
}

TEST(Train, SaysWhatIsWrongWithItsData) {
  const Outcome missing = train("/nonexistent.csv.gz", {"--ranks", "2"});
  EXPECT_EQ(missing.code, perf::kExitUsage);
  EXPECT_THAT(missing.errors, HasSubstr("/nonexistent.csv.gz"));
  const Outcome nonsense = train(SLUICE_RIG_SOURCE, {"--ranks", "2"});
  EXPECT_EQ(nonsense.code, perf::kExitUsage);
  EXPECT_THAT(nonsense.errors, HasSubstr("line 1"));
}

}  // namespace
}  // namespace sluice::train
