// SPDX-License-Identifier: Apache-2.0
#include "tests/manager_daemon/rig.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace sluice::manager::testing {

using sharp::testing::Process;

bool eventually(const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(30));
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Asker::Asker(const std::string& manager, Duration answer_time)
    : context_(Logger(), transport::Settings()) {
  request.chunk_bytes = 64 << 10;
  request.window = 16;
  sharp::ManagerSource::Options options;
  options.managers = {*transport::SocketAddress::parse(manager)};
  options.answer_time = answer_time;
  source_ = std::make_unique<sharp::ManagerSource>(context_, options);
}

Result<sharp::TreeOffer> Asker::ask() {
  source_->request(request);
  for (;;) {
    auto answer = source_->poll();
    if (!answer) return fail(answer.error());
    if (*answer) return **answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

namespace {

// A port that nobody has now: the manager shall have the same one after its restart.
uint16_t free_port() {
  transport::Settings settings;
  settings.choice = transport::TransportChoice::tcp;
  transport::Context context(Logger(), settings);
  transport::Listener::Options options;
  options.bind = *transport::SocketAddress::parse("127.0.0.1:0");
  const auto listener = transport::Listener::open(context, options);
  return listener ? (*listener)->address().port : uint16_t{0};
}

}  // namespace

Rig::Rig() : port_(free_port()), control_port_(free_port()) {
  std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
  folder_ = ::mkdtemp(name.data()) != nullptr ? name : "";
}

Rig::~Rig() {
  nodes_.clear();
  manager_.reset();
  std::filesystem::remove_all(folder_);
}

void Rig::start_manager(std::vector<std::string> arguments) {
  std::filesystem::remove(file("port"));
  arguments.insert(arguments.begin(),
                   {SLUICE_MANAGER_PROGRAM, "--listen", manager(), "--port-file", file("port"),
                    "--control", "127.0.0.1:" + std::to_string(control_port_)});
  manager_.emplace(Process::run(arguments, file("manager.log")));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("port")); })) << log();
}

void Rig::kill_manager(int signal) {
  manager_->signal(signal);
  EXPECT_TRUE(manager_->wait(30).has_value());
  manager_.reset();
}

std::string Rig::start_node(const std::string& name, std::vector<std::string> arguments) {
  const std::string port = file(name + ".port");
  std::filesystem::remove(port);
  arguments.insert(arguments.begin(), {SLUICE_AGG_PROGRAM, "--listen", "127.0.0.1:0", "--port-file",
                                       port, "--manager", manager(), "--name", name});
  nodes_.emplace(name, Process::run(arguments, file(name + ".log")));
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(port); }));
  const std::string address = "127.0.0.1:" + std::to_string(std::atoi(content_of(port).c_str()));
  EXPECT_TRUE(eventually([&] { return log().find("node " + address) != std::string::npos; }))
      << log() << content_of(file(name + ".log"));
  return address;
}

void Rig::kill_node(const std::string& name) {
  nodes_.erase(name);
}

nlohmann::json Rig::tool(std::vector<std::string> arguments) {
  // Standard output is a file that the shell opens.
  std::string command = SLUICE_PROGRAM;
  for (const std::string& argument : arguments) command += " " + argument;
  command += " --json --timeout 20 --manager 127.0.0.1:" + std::to_string(control_port_) + " > " +
             file("out");
  Process process = Process::run({"/bin/sh", "-c", command}, file("tool.log"));
  if (process.wait(60) != 0) return nullptr;
  return nlohmann::json::parse(content_of(file("out")), nullptr, false);
}

nlohmann::json Rig::node_row(const std::string& name) {
  const nlohmann::json status = tool({"status"});
  if (!status.is_object()) return nullptr;
  for (const auto& node : status["nodes"]) {
    if (node["name"] == name) return node;
  }
  return nullptr;
}

std::unique_ptr<Asker> Rig::asker(const std::string& job, int ranks) {
  auto asker = std::make_unique<Asker>(manager());
  asker->request.group.fill(next_group_++);
  asker->request.job = job;
  for (int rank = 0; rank < ranks; ++rank) {
    asker->request.hosts.push_back(rank < ranks / 2 ? "10.1.0.1" : "10.1.0.2");
  }
  return asker;
}

}  // namespace sluice::manager::testing
