// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/topology_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sharp/manager/core/quantity.h"
#include "sharp/manager/core/subnet.h"

namespace sluice::manager {

namespace {

// Keeps the first error, with the place that it is about.
class Complaints {
 public:
  explicit Complaints(std::string file) : file_(std::move(file)) {}
  void add(const toml::source_region& where, const std::string& why) {
    if (!first_.empty()) return;
    first_ = format_text("%s line %u, column %u: %s", file_.c_str(), where.begin.line,
                         where.begin.column, why.c_str());
  }
  const std::string& first() const { return first_; }

 private:
  std::string file_, first_;
};

// One table of the file: knows which of its keys were read, so that a misspelt one is found.
class Entry {
 public:
  Entry(const toml::table& table, std::string what, Complaints& complaints)
      : table_(table), what_(std::move(what)), complaints_(complaints) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() {
    for (const auto& [key, value] : table_) {
      const std::string name(key.str());
      if (!read_.contains(name))
        complaints_.add(value.source(), what_ + " has no \"" + name + "\"");
    }
  }

  const toml::node* get(const char* key) {
    read_.insert(key);
    return table_.get(key);
  }
  // At the whole entry if the key is not there.
  void complain(const toml::node* at, const char* key, const char* expected) {
    complaints_.add(at == nullptr ? table_.source() : at->source(),
                    format_text("\"%s\" of %s is %s", key, what_.c_str(), expected));
  }
  std::string text(const char* key, bool required = false) {
    const toml::node* node = get(key);
    if (node == nullptr) {
      if (required) complaints_.add(table_.source(), what_ + " needs a \"" + key + "\"");
      return {};
    }
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) complain(node, key, "a text that is not empty");
    return value.value_or("");
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> all;
    const toml::node* node = get(key);
    if (node == nullptr) return all;
    const toml::array* array = node->as_array();
    if (array == nullptr) complain(node, key, "a list of texts");
    for (size_t at = 0; array != nullptr && at < array->size(); ++at) {
      const auto value = array->get(at)->value_exact<std::string>();
      if (!value || value->empty()) complain(array->get(at), key, "a list of texts");
      all.push_back(value.value_or(""));
    }
    return all;
  }
  uint64_t integer(const char* key, uint64_t otherwise, uint64_t least, uint64_t most) {
    const toml::node* node = get(key);
    return node == nullptr ? otherwise : integer_at(*node, key, least, most);
  }
  uint64_t integer_at(const toml::node& node, const char* key, uint64_t least, uint64_t most) {
    const auto value = node.value_exact<int64_t>();
    if (value && *value >= 0 && static_cast<uint64_t>(*value) >= least &&
        static_cast<uint64_t>(*value) <= most) {
      return static_cast<uint64_t>(*value);
    }
    complain(&node, key,
             format_text("a number of %llu..%llu", static_cast<unsigned long long>(least),
                         static_cast<unsigned long long>(most))
                 .c_str());
    return least;
  }
  bool boolean(const char* key, bool otherwise) {
    const toml::node* node = get(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value_exact<bool>();
    if (!value) complain(node, key, "true or false");
    return value.value_or(otherwise);
  }
  uint64_t bytes(const char* key, uint64_t otherwise) {
    return quantity(key, otherwise, parse_bytes, "a number of bytes, or a text like \"4GiB\"");
  }
  uint64_t rate(const char* key, uint64_t otherwise) {
    return quantity(key, otherwise, parse_rate,
                    "a number of bytes/s, or a text like \"400Gbit\" or \"50GB\"");
  }

 private:
  uint64_t quantity(const char* key, uint64_t otherwise,
                    std::optional<uint64_t> (*parse)(std::string_view), const char* expected) {
    const toml::node* node = get(key);
    if (node == nullptr) return otherwise;
    std::optional<uint64_t> value;
    if (const auto number = node->value_exact<int64_t>()) {
      value = parse(std::to_string(*number));
    } else if (const auto text = node->value_exact<std::string>()) {
      value = parse(*text);
    }
    if (!value) complain(node, key, expected);
    return value.value_or(otherwise);
  }

  const toml::table& table_;
  const std::string what_;
  Complaints& complaints_;
  std::set<std::string> read_;
};

class TopologyReader {
 public:
  explicit TopologyReader(std::string file) : complaints_(std::move(file)) {}

  Result<TopologyFile> read(const toml::table& root) {
    Entry top(root, "the file", complaints_);
    each(top, "switch", [&](Entry& entry) { read_switch(entry); });
    each(top, "link", [&](Entry& entry) { read_link(entry); });
    each(top, "host", [&](Entry& entry) { read_host(entry); });
    each(top, "node", [&](Entry& entry) { read_node(entry); });
    each(top, "tenant", [&](Entry& entry) { read_tenant(entry); });
    return std::move(result_);
  }
  const std::string& complaint() const { return complaints_.first(); }

 private:
  template <typename Read>
  void each(Entry& parent, const char* key, const Read& read) {
    const toml::node* node = parent.get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) parent.complain(node, key, "a list of tables");
    for (size_t at = 0; array != nullptr && at < array->size(); ++at) {
      const toml::table* table = array->get(at)->as_table();
      if (table == nullptr) {
        parent.complain(array->get(at), key, "a list of tables");
        return;
      }
      Entry entry(*table, std::string("a ") + key, complaints_);
      read(entry);
    }
  }

  void read_switch(Entry& entry) {
    const std::string name = entry.text("name", true);
    const std::string alias = entry.text("alias");
    for (const std::string& called : {name, alias}) {
      if (called.empty() || switches_.insert(called).second) continue;
      entry.complain(entry.get(called == name ? "name" : "alias"), "name",
                     "another switch's already");
    }
    result_.fabric.switches.push_back({name, alias});
  }

  // A file that names its switches names them all, so that a misspelt one is found.
  void check_switch(Entry& entry, const toml::node& at, const std::string& name, const char* key) {
    if (!switches_.empty() && !name.empty() && !switches_.contains(name)) {
      entry.complain(&at, key, "a switch that has no [[switch]]");
    }
  }

  void read_link(Entry& entry) {
    TrunkDescription trunk;
    const auto between = entry.texts("between");
    const toml::node* node = entry.get("between");
    if (node == nullptr || between.size() != 2) {
      entry.complain(node, "between", "a list of two switches");
      return;
    }
    trunk.a = between[0];
    trunk.b = between[1];
    if (trunk.a == trunk.b) entry.complain(node, "between", "two different switches");
    for (const std::string& name : between) check_switch(entry, *node, name, "between");
    if (const toml::node* ports = entry.get("ports"); ports != nullptr) {
      const toml::array* array = ports->as_array();
      if (array == nullptr || array->size() != 2) {
        entry.complain(ports, "ports", "a list of two port numbers");
      } else {
        trunk.a_port = static_cast<uint16_t>(entry.integer_at(*array->get(0), "ports", 1, 65535));
        trunk.b_port = static_cast<uint16_t>(entry.integer_at(*array->get(1), "ports", 1, 65535));
      }
    }
    trunk.rate = entry.rate("rate", 0);
    trunk.healthy = entry.boolean("healthy", true);
    result_.fabric.trunks.push_back(trunk);
  }

  void read_host(Entry& entry) {
    const std::string name = entry.text("name", true);
    const std::string address = entry.text("address");
    if (entry.get("port") == nullptr) entry.complain(nullptr, "port", "a list of tables");
    each(entry, "port", [&](Entry& port) {
      HostPortDescription description;
      description.host = name;
      description.address = address;
      description.to_switch = port.text("switch", true);
      if (const toml::node* at = port.get("switch"); at != nullptr) {
        check_switch(port, *at, description.to_switch, "switch");
      }
      description.rail = static_cast<uint8_t>(port.integer("rail", 0, 0, kMaxRails - 1));
      description.plane = static_cast<uint8_t>(port.integer("plane", 0, 0, 255));
      description.rate = port.rate("rate", 0);
      description.healthy = port.boolean("healthy", true);
      result_.fabric.host_ports.push_back(description);
    });
  }

  void read_node(Entry& entry) {
    NodeDescription node;
    node.address = entry.text("address", true);
    if (!node.address.empty() && !nodes_.insert(node.address).second) {
      entry.complain(entry.get("address"), "address", "another node's already");
    }
    node.at = entry.text("at");
    node.serves = entry.texts("serves");
    for (const std::string& served : node.serves) {
      if (served.find('/') != std::string::npos && !Subnet::parse(served)) {
        entry.complain(entry.get("serves"), "serves", "a list of hosts and subnets");
      }
    }
    node.uplink = entry.text("uplink");
    node.rail = static_cast<uint8_t>(entry.integer("rail", kAnyRail, 0, kMaxRails - 1));
    node.fan_in = static_cast<uint16_t>(entry.integer("fan_in", 64, 2, 64));
    node.roles = read_roles(entry);
    node.capacity.groups = static_cast<uint32_t>(entry.integer("groups", 1000, 1, UINT32_MAX));
    node.capacity.memory = entry.bytes("memory", uint64_t{1} << 30);
    node.capacity.bandwidth = entry.rate("bandwidth", 0);
    result_.fabric.nodes.push_back(std::move(node));
  }

  static uint8_t read_roles(Entry& entry) {
    const toml::node* node = entry.get("roles");
    if (node == nullptr) return kAllRoles;
    unsigned roles = 0;
    for (const std::string& role : entry.texts("roles")) {
      const unsigned bit = role == "leaf"    ? kLeafRole
                           : role == "inner" ? kInnerRole
                           : role == "root"  ? kRootRole
                                             : 0;
      if (bit == 0) entry.complain(node, "roles", "a list of \"leaf\", \"inner\", \"root\"");
      roles |= bit;
    }
    if (roles == 0) entry.complain(node, "roles", "a list of \"leaf\", \"inner\", \"root\"");
    return static_cast<uint8_t>(roles);
  }

  void read_tenant(Entry& entry) {
    TenantQuota quota;
    quota.tenant = entry.text("name", true);
    if (!quota.tenant.empty() && !tenants_.insert(quota.tenant).second) {
      entry.complain(entry.get("name"), "name", "another tenant's already");
    }
    quota.reserved_per_node = read_amounts(entry, "reserved", {});
    quota.limit = read_amounts(entry, "limit", quota.limit);
    result_.tenants.push_back(std::move(quota));
  }

  Amounts read_amounts(Entry& parent, const char* key, Amounts otherwise) {
    const toml::node* node = parent.get(key);
    if (node == nullptr) return otherwise;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      parent.complain(node, key, "a table of groups, memory and bandwidth");
      return otherwise;
    }
    Entry entry(*table, format_text("\"%s\"", key), complaints_);
    Amounts amounts;
    amounts.groups =
        static_cast<uint32_t>(entry.integer("groups", otherwise.groups, 0, UINT32_MAX));
    amounts.memory = entry.bytes("memory", otherwise.memory);
    amounts.bandwidth = entry.rate("bandwidth", otherwise.bandwidth);
    return amounts;
  }

  Complaints complaints_;
  TopologyFile result_;
  std::set<std::string> switches_, nodes_, tenants_;
};

}  // namespace

Result<TopologyFile> read_topology_file(std::string_view text, const std::string& name) {
  try {
    const toml::table root = toml::parse(text, name);
    TopologyReader reader(name);
    Result<TopologyFile> result = reader.read(root);
    if (!reader.complaint().empty()) {
      return fail(ErrorKind::invalid_argument, reader.complaint());
    }
    return result;
  } catch (const toml::parse_error& error) {
    return fail(
        ErrorKind::invalid_argument,
        format_text("%s line %u, column %u: %.*s", name.c_str(), error.source().begin.line,
                    error.source().begin.column, static_cast<int>(error.description().size()),
                    error.description().data()));
  }
}

}  // namespace sluice::manager
