// SPDX-License-Identifier: Apache-2.0
// What a process holds: descriptors, threads, mappings, memory. For tests that nothing is left
// behind.
#pragma once

#include <string>

namespace sluice::test {

int open_descriptors();
int threads();
// For a baseline: with the thread that a sanitizer starts beside the first one, without those that
// are just ending.
int threads_at_rest();
// Mappings of files whose path contains `text`.
int mappings_of(const std::string& text);
// Bytes of anonymous memory that are resident.
long resident_bytes();

// Waits (a few seconds at most) until no more than that many threads are there: the kernel removes
// a joined thread from its list a moment after the join.
bool wait_for_threads(int most);

}  // namespace sluice::test
