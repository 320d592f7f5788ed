// SPDX-License-Identifier: Apache-2.0
// A thousand nodes register with one manager, and a client finds its way among them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/manager_daemon/rig.h"

namespace sluice::manager::testing {
namespace {

// A node as far as the manager sees it.
class FakeNode final : private sharp::ManagementLink::Handler {
 public:
  FakeNode(const std::string& manager, int number)
      : link_(transport::Settings(), {*transport::SocketAddress::parse(manager)}, *this) {
    self_.address = format_text("10.%d.%d.1:7654", number / 200, number % 200);
    self_.at = format_text("leaf%d", number / 10);
    self_.uplink = "spine";
    self_.groups = 64;
    self_.memory = uint64_t{1} << 30;
  }

  bool registered() {
    link_.progress();
    return registered_;
  }

 private:
  void on_manager_connected() override { link_.send(self_); }
  Status on_manager_message(const sharp::Envelope& message) override {
    const auto answer = sharp::decode<sharp::NodeRegistered>(message);
    if (answer && answer->accepted != 0) {
      registered_ = true;
      link_.send(sharp::NodeGroups{});
    }
    return {};
  }
  void on_manager_lost() override { registered_ = false; }

  sharp::NodeRegister self_;
  bool registered_ = false;
  sharp::ManagementLink link_;
};

class ManyNodes : public Rig {};

TEST_F(ManyNodes, AThousandRegister) {
  constexpr size_t kDescriptorsEach = 6;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int count =
      static_cast<int>(std::min<rlim_t>(1000, limit.rlim_cur / kDescriptorsEach - 10));
  start_manager({"--peer-timeout", "60s"});
  std::vector<std::unique_ptr<FakeNode>> nodes;
  for (int number = 0; number < count; ++number) {
    nodes.push_back(std::make_unique<FakeNode>(manager(), number));
  }
  const TimePoint start = Clock::now();
  EXPECT_TRUE(eventually([&] {
    return std::count_if(nodes.begin(), nodes.end(),
                         [](const auto& node) { return node->registered(); }) == count;
  }));
  RecordProperty("seconds", std::to_string(in_seconds(Clock::now() - start)));
  const nlohmann::json status = tool({"status"});
  ASSERT_TRUE(status.is_object());
  EXPECT_EQ(status["nodes"].size(), static_cast<size_t>(count));
  nodes.clear();
  EXPECT_TRUE(eventually([&] {
    const nlohmann::json now = tool({"status"});
    return now.is_object() &&
           std::all_of(now["nodes"].begin(), now["nodes"].end(),
                       [](const auto& node) { return node["connected"] == false; });
  }));
}

}  // namespace
}  // namespace sluice::manager::testing
