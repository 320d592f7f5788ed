// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace sluice::manager {

namespace {

// Takes text off the front of a line. Once something was not there, good() is false for good.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  bool good() const { return good_; }
  std::string_view rest() const { return rest_; }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  }
  bool starts_with(std::string_view text) const { return rest_.substr(0, text.size()) == text; }
  void expect(char character) {
    if (rest_.empty() || rest_.front() != character) good_ = false;
    if (good_) rest_.remove_prefix(1);
  }
  unsigned number() {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value > UINT16_MAX) good_ = false;
    if (good_) rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  std::string_view until(char end) {
    const size_t at = rest_.find(end);
    if (at == std::string_view::npos) good_ = false;
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return taken;
  }
  // "[12]"
  unsigned port() {
    expect('[');
    const unsigned value = number();
    expect(']');
    return value;
  }
  // "\"S-0002c90200408000\""
  std::string_view quoted() {
    expect('"');
    const std::string_view taken = until('"');
    expect('"');
    return taken;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

// Bytes/s of data of a lane, after line coding.
struct Speed {
  std::string_view name;
  uint64_t lane;
};
constexpr std::array<Speed, 9> kSpeeds{{{"SDR", 250'000'000},
                                        {"DDR", 500'000'000},
                                        {"QDR", 1'000'000'000},
                                        {"FDR10", 1'250'000'000},
                                        {"FDR", 1'704'545'454},
                                        {"EDR", 3'125'000'000},
                                        {"HDR", 6'250'000'000},
                                        {"NDR", 12'500'000'000},
                                        {"XDR", 25'000'000'000}}};

// The last word of a port's line, "4xHDR"; 0 if it is none (old versions print no speed).
uint64_t rate_of(std::string_view line) {
  const size_t end = line.find_last_not_of(" \t\r");
  if (end == std::string_view::npos) return 0;
  const std::string_view text = line.substr(0, end + 1);
  LineReader word(text.substr(text.find_last_of(" \t") + 1));
  const unsigned lanes = word.number();
  word.expect('x');
  if (!word.good() || lanes > 12) return 0;
  for (const Speed& speed : kSpeeds) {
    if (word.rest() == speed.name) return lanes * speed.lane;
  }
  return 0;
}

// "mlx5_2" before "mlx5_10".
struct AdaptorPort {
  std::string stem;
  unsigned number = 0;
  unsigned port = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads what the compiler writes here
  auto operator<=>(const AdaptorPort&) const = default;
};

struct Attachment {
  std::string host;
  AdaptorPort port;
  std::string to_switch;
  uint64_t rate = 0;
};

class DiscoveredSubnet {
 public:
  Status read(std::string_view text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      SLUICE_RETURN_IF_ERROR(read_line(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    for (const auto& [name, line] : mentioned_) {
      if (described_.contains(name)) continue;
      line_ = line;
      return wrong("a link goes to switch " + name + ", which is not described");
    }
    line_ = 1;
    if (description_.switches.empty())
      return wrong("there is no switch; is it from ibnetdiscover?");
    number_rails();
    return {};
  }
  FabricDescription take() { return std::move(description_); }

 private:
  enum class Section { none, of_switch, of_adaptor, ignored };

  tl::unexpected<Error> wrong(const std::string& why) const {
    return fail(ErrorKind::invalid_argument, format_text("line %zu: %s", line_, why.c_str()));
  }

  Status read_line(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line[start] == '#') return {};
    if (line.front() == '[') return read_port(line);
    if (line.substr(0, 6) == "Switch") return begin(Section::of_switch, line, 6);
    if (line.substr(0, 2) == "Ca") return begin(Section::of_adaptor, line, 2);
    if (line.substr(0, 2) == "Rt") return begin(Section::ignored, line, 2);
    // vendid=0x2c9 and its like
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos && line.find_first_of(" \t\"") > equals) return {};
    return wrong("this is neither a switch, a channel adaptor nor a port");
  }

  // Switch	36 "S-0002c90200408000"		# "leaf3" enhanced port 0 lid 2 lmc 0
  Status begin(Section section, std::string_view line, size_t keyword) {
    LineReader reader(line.substr(keyword));
    reader.skip_blanks();
    reader.number();
    reader.skip_blanks();
    node_ = reader.quoted();
    if (!reader.good() || node_.empty())
      return wrong("the node's number of ports or id is missing");
    section_ = section;
    std::string_view description = reader.rest();
    const size_t open = description.find('"');
    const size_t close = description.rfind('"');
    description = open == close ? "" : description.substr(open + 1, close - open - 1);
    if (section == Section::of_switch) {
      if (!described_.insert(node_).second) return wrong("switch " + node_ + " is there twice");
      description_.switches.push_back({node_, std::string(description)});
    } else if (section == Section::of_adaptor) {
      name_adaptor(description);
    }
    return {};
  }

  void name_adaptor(std::string_view description) {
    const size_t blank = description.find(' ');
    host_ = description.empty() ? node_ : std::string(description.substr(0, blank));
    adaptor_ = {};
    if (blank == std::string_view::npos) {
      const size_t rail = host_.rfind("-r");
      if (rail == std::string::npos || rail == 0) return;
      if (host_.find_first_not_of("0123456789", rail + 2) != std::string::npos) return;
      adaptor_ = numbered(host_.substr(rail + 1));
      host_.resize(rail);
    } else {
      const std::string_view rest = description.substr(blank + 1);
      adaptor_ = numbered(std::string(rest.substr(0, rest.find(' '))));
    }
  }

  static AdaptorPort numbered(const std::string& name) {
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    AdaptorPort adaptor{name.substr(0, digits), 0, 0};
    std::from_chars(name.data() + digits, name.data() + name.size(), adaptor.number);
    return adaptor;
  }

  // [1]	"H-0002c903000e0b72"[1](2c903000e0b73) 		# "gpu07 mlx5_0" lid 1 4xQDR
  Status read_port(std::string_view line) {
    if (section_ == Section::none) return wrong("a port before any switch or channel adaptor");
    LineReader reader(line);
    const unsigned port = reader.port();
    reader.until('"');  // a port's GUID may stand between
    const std::string peer(reader.quoted());
    const unsigned peer_port = reader.port();
    if (!reader.good() || peer.size() < 3 || peer[1] != '-') {
      return wrong("a port's line is [number] \"id of the other end\"[its port]");
    }
    if (section_ == Section::ignored || peer[0] != 'S') return {};
    mentioned_.emplace(peer, line_);
    if (section_ == Section::of_adaptor) {
      AdaptorPort key = adaptor_;
      key.port = port;
      attachments_.push_back({host_, key, peer, rate_of(line)});
      return {};
    }
    if (peer == node_) return {};  // a loop-back cable
    const auto one = std::make_pair(node_, port);
    const auto other = std::make_pair(peer, peer_port);
    if (!trunks_.emplace(std::min(one, other), std::max(one, other)).second) return {};
    description_.trunks.push_back({node_, peer, static_cast<uint16_t>(port),
                                   static_cast<uint16_t>(peer_port), rate_of(line), true});
    return {};
  }

  void number_rails() {
    std::map<AdaptorPort, unsigned> rails;
    for (const Attachment& attachment : attachments_) rails.emplace(attachment.port, 0);
    unsigned next = 0;
    for (auto& [port, rail] : rails) rail = next++;
    for (const Attachment& attachment : attachments_) {
      const unsigned rail = rails[attachment.port];
      if (rail >= kMaxRails) continue;
      description_.host_ports.push_back({attachment.host,
                                         {},
                                         static_cast<uint8_t>(rail),
                                         0,
                                         attachment.to_switch,
                                         attachment.rate,
                                         true});
    }
  }

  FabricDescription description_;
  size_t line_ = 0;
  Section section_ = Section::none;
  std::string node_, host_;
  AdaptorPort adaptor_;
  std::vector<Attachment> attachments_;
  std::set<std::string> described_;
  std::map<std::string, size_t> mentioned_;  // by links, and in which line first
  std::set<std::pair<std::pair<std::string, unsigned>, std::pair<std::string, unsigned>>> trunks_;
};

}  // namespace

Result<FabricDescription> read_ibnetdiscover(std::string_view text) {
  DiscoveredSubnet subnet;
  SLUICE_RETURN_IF_ERROR(subnet.read(text));
  return subnet.take();
}

}  // namespace sluice::manager
