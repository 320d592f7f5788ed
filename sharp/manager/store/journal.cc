// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/store/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "sharp/wire/archive.h"
#include "sharp/wire/crc32c.h"

namespace sluice::manager {
namespace {

using transport::FileDescriptor;

constexpr uint32_t kJournalMagic = 0x534d4c53;  // "SLMS"
constexpr uint32_t kJournalVersion = 1;
constexpr size_t kHeaderSize = 8;
constexpr size_t kFrameSize = 8;  // length and checksum before each record
constexpr uint32_t kMaxRecord = 4 << 20;
constexpr uint64_t kMaxFile = uint64_t{4} << 30;

std::vector<std::byte> header() {
  std::vector<std::byte> bytes;
  sharp::Writer writer(bytes);
  writer(kJournalMagic);
  writer(kJournalVersion);
  return bytes;
}

void frame(std::span<const std::byte> record, std::vector<std::byte>& out) {
  sharp::Writer writer(out);
  writer(static_cast<uint32_t>(record.size()));
  writer(sharp::crc32c(record));
  out.insert(out.end(), record.begin(), record.end());
}

Status write_all(int file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, "writing " + name);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<std::vector<std::byte>> read_all(const std::string& name) {
  const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return std::vector<std::byte>();
    return fail_errno(errno, "opening " + name);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, "looking at " + name);
  if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) > kMaxFile) {
    return fail(ErrorKind::invalid_usage, name + " is no state file: give the name of a file");
  }
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(errno, "reading " + name);
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  bytes.resize(got);
  return bytes;
}

// The records of a file, up to where it is cut off or damaged.
Journal::Content parse(std::span<const std::byte> bytes, const std::string& name) {
  Journal::Content content;
  if (bytes.empty()) return content;
  const std::vector<std::byte> expected = header();
  if (bytes.size() < kHeaderSize || !std::equal(expected.begin(), expected.end(), bytes.begin())) {
    content.damage = "state file " + name + " does not begin as one of this version does";
    return content;
  }
  size_t at = kHeaderSize;
  while (bytes.size() - at >= kFrameSize) {
    uint32_t size = 0;
    uint32_t checksum = 0;
    sharp::Reader reader(bytes.subspan(at, kFrameSize));
    reader(size);
    reader(checksum);
    const auto rest = bytes.subspan(at + kFrameSize);
    if (size <= kMaxRecord && size > rest.size()) break;  // cut off while it was written
    if (size > kMaxRecord || checksum != sharp::crc32c(rest.first(size))) {
      content.damage = format_text("state file %s is damaged at byte %zu", name.c_str(), at);
      break;
    }
    content.records.emplace_back(rest.begin(), rest.begin() + size);
    at += kFrameSize + size;
  }
  return content;
}

// A rename is on the disk when its folder is.
Status sync_folder_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : (slash == 0 ? "/" : name.substr(0, slash));
  const FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return fail_errno(errno, "opening " + folder);
  // Some file systems cannot sync a folder; then there is nothing to be done about it.
  if (::fsync(file.get()) != 0 && errno != EINVAL) return fail_errno(errno, "syncing " + folder);
  return {};
}

}  // namespace

Result<Journal> Journal::open(const std::string& name, Content& content) {
  const std::string lock_name = name + ".lock";
  FileDescriptor lock(::open(lock_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail_errno(errno, "opening " + lock_name);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorKind::invalid_usage,
                "state file " + name + " is in use: another manager runs with it");
  }
  const auto bytes = read_all(name);
  if (!bytes) return fail(bytes.error());
  content = parse(*bytes, name);
  if (!content.damage.empty()) {
    const std::string aside = name + ".damaged";
    if (::rename(name.c_str(), aside.c_str()) != 0) {
      return fail_errno(errno, content.damage + "; renaming it to " + aside);
    }
    content.damage += format_text("; it is kept as %s, %zu records of it are used", aside.c_str(),
                                  content.records.size());
  }
  Journal journal(name, std::move(lock));
  SLUICE_RETURN_IF_ERROR(journal.rewrite(content.records));
  return journal;
}

void Journal::append(std::span<const std::byte> record) {
  const size_t before = pending_.size();
  frame(record, pending_);
  size_ += pending_.size() - before;
}

Status Journal::commit() {
  if (pending_.empty()) return {};
  const std::vector<std::byte> bytes = std::exchange(pending_, {});
  SLUICE_RETURN_IF_ERROR(write_all(file_.get(), bytes, name_));
  if (::fdatasync(file_.get()) != 0) return fail_errno(errno, "syncing " + name_);
  return {};
}

Status Journal::rewrite(std::span<const Record> records) {
  const std::string aside = name_ + ".new";
  FileDescriptor file(
      ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return fail_errno(errno, "opening " + aside);
  std::vector<std::byte> bytes = header();
  for (const Record& record : records) frame(record, bytes);
  SLUICE_RETURN_IF_ERROR(write_all(file.get(), bytes, aside));
  if (::fsync(file.get()) != 0) return fail_errno(errno, "syncing " + aside);
  if (::rename(aside.c_str(), name_.c_str()) != 0) {
    return fail_errno(errno, "renaming " + aside + " to " + name_);
  }
  SLUICE_RETURN_IF_ERROR(sync_folder_of(name_));
  file_ = std::move(file);
  pending_.clear();
  size_ = bytes.size();
  return {};
}

}  // namespace sluice::manager
