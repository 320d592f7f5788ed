// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/node_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace sluice::test {
namespace {

// Empty when the program ends or says nothing.
std::string wait_for_port(pid_t child, const std::string& file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < end) {
    std::ifstream input(file);
    std::string port;
    if (input >> port) return port;
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == child) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

}  // namespace

NodeProgram::NodeProgram(const std::vector<std::string>& more_arguments) {
  char folder[] = "/tmp/sluice-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) return;
  const std::string port_file = std::string(folder) + "/port";
  std::vector<std::string> words{SLUICE_AGG_FILE, "--listen", "127.0.0.1:0", "--port-file",
                                 port_file};
  words.insert(words.end(), more_arguments.begin(), more_arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  child_ = fork();
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  const std::string port = wait_for_port(child_, port_file);
  if (!port.empty()) address_ = std::string("127.0.0.1:").append(port);
  unlink(port_file.c_str());
  rmdir(folder);
}

NodeProgram::~NodeProgram() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

void NodeProgram::signal(int number) {
  kill(child_, number);
}

}  // namespace sluice::test
