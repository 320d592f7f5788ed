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

[[noreturn]] void be_daemon(pid_t parent, const NodeProgram& program, const std::string& name,
                            const std::string& listen, const std::string& port_file,
                            const Descriptor& log) {
  die_with_parent(SIGTERM, parent);
  if (log.valid()) ::dup2(log.get(), STDERR_FILENO);
  std::vector<std::string> words{program.file, "--listen", listen, "--port-file", port_file};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  if (program.takes_name) words.push_back(name);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  std::fprintf(stderr, "cannot run %s: %s\n", program.file.c_str(), std::strerror(errno));
  ::_exit(127);
}

}  // namespace

NodeProcess::NodeProcess(NodeProgram program, std::string name)
    : program_(std::move(program)), name_(std::move(name)), owner_(::getpid()) {
  if (!program_.verbose) log_.reset(::memfd_create("sluice daemon log", MFD_CLOEXEC));
}

Result<NodeProcess> NodeProcess::start(const NodeProgram& program, const std::string& name) {
  NodeProcess made(program, name);
  SLUICE_RETURN_IF_ERROR(made.launch("127.0.0.1:0"));
  return made;
}

Status NodeProcess::launch(const std::string& listen) {
  auto port_file = PortFile::make();
  if (!port_file) return fail(std::move(port_file).error());
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) return fail_errno(errno, "cannot fork " + name_);
  if (pid_ == 0) be_daemon(owner_, program_, name_, listen, port_file->name(), log_);

  const Deadline deadline = Deadline::after(program_.timeout);
  while (true) {
    const std::string port = port_file->port();
    if (!port.empty()) {
      address_ = "127.0.0.1:" + port;
      return {};
    }
    if (end_if_dead()) {
      print_log(false);
      log_.reset();
      return fail(ErrorKind::refused, name_ + ", " + program_.file + ", ended at once");
    }
    if (deadline.passed()) {
      return fail(ErrorKind::timeout, name_ + ", " + program_.file + ", does not come up");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

bool NodeProcess::end_if_dead() {
  if (pid_ >= 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

void NodeProcess::signal(int number) {
  if (!end_if_dead()) ::kill(pid_, number);
}

Status NodeProcess::restart() {
  const Deadline deadline = Deadline::after(kEndGrace);
  while (!end_if_dead()) {
    if (deadline.passed()) return fail(ErrorKind::timeout, name_ + " does not end");
    std::this_thread::sleep_for(kPollInterval);
  }
  return launch(address_);
}

NodeProcess::~NodeProcess() {
  if (::getpid() != owner_) return;
  signal(SIGTERM);
  signal(SIGCONT);  // if it was stopped
  const Deadline deadline = Deadline::after(kEndGrace);
  while (!end_if_dead()) {
    if (deadline.passed()) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
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
