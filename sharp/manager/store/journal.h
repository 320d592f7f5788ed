// SPDX-License-Identifier: Apache-2.0
// A file of records that survives the death of its writer at any moment.
//
// Records are appended, each with its length and checksum; commit() has them on the disk before it
// returns. rewrite() puts another file in place of it, by rename, so that either the old or the new
// one is there. When it is opened, a record that was cut off at the end is forgotten; what is
// damaged in the middle ends the reading there, with a sentence. Only one process has it open.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/file_descriptor.h"

namespace sluice::manager {

using Record = std::vector<std::byte>;

class Journal {
 public:
  // What was in the file.
  struct Content {
    std::vector<Record> records;
    std::string damage;  // a sentence; empty: none
  };

  // Creates the file if there is none. A damaged one is kept aside as "<name>.damaged".
  static Result<Journal> open(const std::string& name, Content& content);

  void append(std::span<const std::byte> record);
  // Writes what was appended. After an error only rewrite() helps.
  Status commit();
  Status rewrite(std::span<const Record> records);

  uint64_t size() const { return size_; }  // bytes, with what is not committed yet
  bool dirty() const { return !pending_.empty(); }

 private:
  Journal(std::string name, transport::FileDescriptor lock)
      : name_(std::move(name)), lock_(std::move(lock)) {}

  std::string name_;
  transport::FileDescriptor lock_;
  transport::FileDescriptor file_;
  std::vector<std::byte> pending_;
  uint64_t size_ = 0;
};

}  // namespace sluice::manager
