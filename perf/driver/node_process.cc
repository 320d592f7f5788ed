// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/node_process.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "perf/driver/launcher.h"

namespace sluice::perf {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);
constexpr auto kEndGrace = std::chrono::seconds(5);

// A folder of its own: the node puts the file there by rename.
class PortFile {
 public:
  static Result<PortFile> make() {
    const char* base = std::getenv("TMPDIR");
    std::string folder = std::string(base != nullptr ? base : "/tmp") + "/sluice-perf-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return fail_errno(errno, "cannot make " + folder);
    return PortFile(std::move(folder));
  }
  PortFile(PortFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  PortFile& operator=(PortFile&&) = delete;
  ~PortFile() {
    if (folder_.empty()) return;
    ::unlink(name().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string name() const { return folder_ + "/port"; }

  // Empty until the node has written it: a port, or an address that ends with one.
  std::string port() const {
    std::string line;
    std::ifstream file(name());
    if (!std::getline(file, line)) return {};
    const size_t colon = line.rfind(':');
    return colon == line.npos ? line : line.substr(colon + 1);
  }

 private:
  explicit PortFile(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

[[noreturn]] void be_node(pid_t parent, const std::string& program, const std::string& port_file,
                          const Descriptor& log) {
  die_with_parent(SIGTERM, parent);
  if (log.valid()) ::dup2(log.get(), STDERR_FILENO);
  ::execl(program.c_str(), program.c_str(), "--listen", "127.0.0.1:0", "--port-file",
          port_file.c_str(), static_cast<char*>(nullptr));
  std::fprintf(stderr, "cannot run %s: %s\n", program.c_str(), std::strerror(errno));
  ::_exit(127);
}

}  // namespace

Result<NodeProcess> NodeProcess::start(const std::string& program, Duration timeout, bool verbose) {
  auto port_file = PortFile::make();
  if (!port_file) return fail(std::move(port_file).error());
  Descriptor log;
  if (!verbose) log.reset(::memfd_create("sluice-agg log", MFD_CLOEXEC));
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "cannot fork an aggregation node");
  if (pid == 0) be_node(parent, program, port_file->name(), log);

  NodeProcess node(pid, parent, std::move(log));
  const Deadline deadline = Deadline::after(timeout);
  while (true) {
    const std::string port = port_file->port();
    if (!port.empty()) {
      node.address_ = "127.0.0.1:" + port;
      return node;
    }
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      node.pid_ = -1;
      node.print_log(false);
      return fail(ErrorKind::refused, "the aggregation node " + program + " ended at once");
    }
    if (deadline.passed()) {
      return fail(ErrorKind::timeout, "the aggregation node " + program + " does not come up");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

NodeProcess::~NodeProcess() {
  if (pid_ < 0 || ::getpid() != owner_) return;
  ::kill(pid_, SIGTERM);
  const Deadline deadline = Deadline::after(kEndGrace);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (deadline.passed()) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  print_log(true);
}

void NodeProcess::print_log(bool warnings_only) const {
  if (!log_.valid() || ::lseek(log_.get(), 0, SEEK_SET) != 0) return;
  std::string text;
  char part[4096];
  for (ssize_t size; (size = ::read(log_.get(), part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(size));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (warnings_only && line.find(": info: ") != line.npos) continue;
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

std::string program_folder() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t slash = program.rfind('/');
  return slash == program.npos ? "." : program.substr(0, slash);
}

}  // namespace sluice::perf
