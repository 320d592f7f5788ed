// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace sluice::test {
namespace {

struct Started {
  pid_t pid;
  std::string folder;
};

std::string read_file(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

Started start(const std::vector<std::string>& words, const Environment& extra) {
  std::string folder = std::filesystem::temp_directory_path() / "sluice-program-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  const pid_t pid = ::fork();
  if (pid != 0) return {pid, folder};
  for (const auto& [name, value] : extra) ::setenv(name.c_str(), value.c_str(), 1);
  const int flags = O_CREAT | O_WRONLY | O_TRUNC;
  ::dup2(::open((folder + "/out").c_str(), flags, 0600), 1);
  ::dup2(::open((folder + "/err").c_str(), flags, 0600), 2);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

Outcome collect(const Started& started, std::chrono::steady_clock::time_point since) {
  Outcome outcome;
  int status = 0;
  ::waitpid(started.pid, &status, 0);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.output = read_file(started.folder + "/out");
  outcome.errors = read_file(started.folder + "/err");
  std::filesystem::remove_all(started.folder);
  return outcome;
}

// Orphans become children of this process (see below). Those that were just about to end do not
// count.
int end_orphans() {
  int left = 0;
  for (int round = 0; round < 50; ++round) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return left;  // no children at all
    if (ended == 0) ::usleep(20000);
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(entry.path() / "children");
    for (pid_t pid = 0; children >> pid; ++left) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  return left;
}

}  // namespace

std::vector<Outcome> run_programs(const std::vector<std::vector<std::string>>& commands,
                                  const std::vector<Environment>& extra) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto since = std::chrono::steady_clock::now();
  std::vector<Started> started;
  for (size_t index = 0; index < commands.size(); ++index) {
    started.push_back(start(commands[index], extra[index]));
  }
  std::vector<Outcome> outcomes;
  for (const Started& one : started) outcomes.push_back(collect(one, since));
  outcomes.front().left_behind = end_orphans();
  return outcomes;
}

Outcome run_program(const std::vector<std::string>& words, const Environment& extra) {
  return run_programs({words}, {extra}).front();
}

}  // namespace sluice::test
