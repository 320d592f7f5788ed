// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/fabrics.h"

#include <gtest/gtest.h>

namespace sluice::manager::testing {

namespace {

std::string numbered(const char* stem, unsigned number) {
  return format_text("%s%u", stem, number);
}

void add_leaf(FabricDescription& fabric, unsigned leaf, unsigned hosts, const Amounts& capacity) {
  const std::string name = numbered("l", leaf);
  fabric.switches.push_back({name, {}});
  for (unsigned host = 0; host < hosts; ++host) {
    fabric.host_ports.push_back({numbered("h", leaf * hosts + host), {}, 0, 0, name, 0, true});
  }
  fabric.nodes.push_back(node_at(name, capacity));
}

}  // namespace

NodeDescription node_at(const std::string& at, const Amounts& capacity, const std::string& suffix) {
  NodeDescription node;
  node.address = at + suffix;
  node.at = at;
  node.capacity = capacity;
  return node;
}

FabricDescription one_switch(unsigned hosts, unsigned nodes, const Amounts& capacity) {
  FabricDescription fabric;
  add_leaf(fabric, 0, hosts, capacity);
  for (unsigned node = 1; node < nodes; ++node) {
    fabric.nodes.push_back(node_at("l0", capacity, numbered(":", node + 1)));
  }
  return fabric;
}

FabricDescription leaf_spine(unsigned leaves, unsigned spines, unsigned hosts_per_leaf,
                             const Amounts& capacity) {
  FabricDescription fabric;
  for (unsigned leaf = 0; leaf < leaves; ++leaf) {
    add_leaf(fabric, leaf, hosts_per_leaf, capacity);
    for (unsigned spine = 0; spine < spines; ++spine) {
      fabric.trunks.push_back({numbered("l", leaf), numbered("s", spine)});
    }
  }
  for (unsigned spine = 0; spine < spines; ++spine) {
    fabric.switches.push_back({numbered("s", spine), {}});
    fabric.nodes.push_back(node_at(numbered("s", spine), capacity));
  }
  return fabric;
}

FabricDescription fat_tree(unsigned pods, unsigned hosts_per_leaf, const Amounts& capacity) {
  FabricDescription fabric;
  for (unsigned pod = 0; pod < pods; ++pod) {
    for (const unsigned leaf : {2 * pod, 2 * pod + 1}) {
      add_leaf(fabric, leaf, hosts_per_leaf, capacity);
      for (unsigned spine = 0; spine < 2; ++spine) {
        fabric.trunks.push_back({numbered("l", leaf), format_text("s%u.%u", pod, spine)});
      }
    }
    for (unsigned spine = 0; spine < 2; ++spine) {
      const std::string name = format_text("s%u.%u", pod, spine);
      fabric.nodes.push_back(node_at(name, capacity));
      for (unsigned core = 0; core < 2; ++core) {
        fabric.trunks.push_back({name, format_text("c%u.%u", spine, core)});
      }
    }
  }
  for (const char* core : {"c0.0", "c0.1", "c1.0", "c1.1"}) {
    fabric.switches.push_back({core, {}});
    fabric.nodes.push_back(node_at(core, capacity));
  }
  for (const auto& trunk : fabric.trunks) {
    for (const std::string& name : {trunk.a, trunk.b}) {
      if (name[0] == 's') fabric.switches.push_back({name, {}});
    }
  }
  return fabric;
}

Fabric build(const FabricDescription& description) {
  Fabric fabric;
  const Status status = fabric.merge(description);
  EXPECT_TRUE(status) << status.error().message;
  return fabric;
}

std::vector<HostId> hosts(const Fabric& fabric, const std::vector<unsigned>& numbers) {
  std::vector<HostId> members;
  for (const unsigned number : numbers) {
    members.push_back(fabric.find_host(numbered("h", number)));
    EXPECT_TRUE(members.back().valid()) << number;
  }
  return members;
}

std::vector<HostId> first_hosts(const Fabric& fabric, unsigned count) {
  std::vector<unsigned> numbers;
  for (unsigned host = 0; host < count; ++host) numbers.push_back(host);
  return hosts(fabric, numbers);
}

}  // namespace sluice::manager::testing
