// SPDX-License-Identifier: Apache-2.0
// What the library shows and needs, read from its ELF file: the 14 tables and nothing else; the C
// and C++ run-time libraries and nothing else.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "plugin/abi/versions.h"
#include "tests/plugin/plugin_library.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

class ElfFile {
 public:
  explicit ElfFile(const char* file) {
    std::ifstream input(file, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(input), {});
  }

  std::set<std::string> exported_symbols() const {
    std::set<std::string> names;
    for_each<Elf64_Sym>(SHT_DYNSYM, [&](const Elf64_Sym& symbol, const char* strings) {
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0)
        names.insert(strings + symbol.st_name);
    });
    return names;
  }

  std::set<std::string> needed_libraries() const {
    std::set<std::string> names;
    for_each<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, const char* strings) {
      if (entry.d_tag == DT_NEEDED) names.insert(strings + entry.d_un.d_val);
    });
    return names;
  }

  // DF_1_NODELETE would keep the library mapped after dlclose().
  bool has_flag(Elf64_Xword flag) const {
    bool found = false;
    for_each<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, const char*) {
      if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & flag) != 0) found = true;
    });
    return found;
  }

 private:
  template <typename Type>
  Type read(size_t offset) const {
    Type value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  Elf64_Shdr section(const Elf64_Ehdr& head, size_t index) const {
    return read<Elf64_Shdr>(head.e_shoff + index * head.e_shentsize);
  }

  template <typename Entry, typename Visitor>
  void for_each(Elf64_Word type, Visitor visit) const {
    ASSERT_GT(bytes_.size(), sizeof(Elf64_Ehdr));
    const auto head = read<Elf64_Ehdr>(0);
    for (size_t index = 0; index < head.e_shnum; ++index) {
      const Elf64_Shdr table = section(head, index);
      if (table.sh_type != type) continue;
      const char* strings = bytes_.data() + section(head, table.sh_link).sh_offset;
      for (size_t at = 0; at + sizeof(Entry) <= table.sh_size; at += sizeof(Entry)) {
        visit(read<Entry>(table.sh_offset + at), strings);
      }
    }
  }

  std::vector<char> bytes_;
};

TEST(Exports, AreTheTablesAndNothingElse) {
  std::set<std::string> expected;
  for (int version = abi::kOldestVersion; version <= abi::kNewestVersion; ++version) {
    expected.insert(std::string("ncclNetPlugin_v").append(std::to_string(version)));
    expected.insert(std::string("ncclCollNetPlugin_v").append(std::to_string(version)));
  }
  EXPECT_EQ(ElfFile(plugin_file()).exported_symbols(), expected);
}

TEST(Exports, NeededLibrariesAreTheRunTimeOnly) {
  std::set<std::string> needed = ElfFile(plugin_file()).needed_libraries();
  EXPECT_TRUE(needed.contains("libc.so.6"));
  std::erase_if(needed, [](const std::string& name) {
    const auto is = [&](const char* start) { return name.starts_with(start); };
    const bool sanitizer = is("libasan.so") || is("libubsan.so") || is("libtsan.so");
    return sanitizer || is("libc.so") || is("libm.so") || is("libstdc++.so") || is("libgcc_s.so") ||
           is("ld-linux");
  });
  EXPECT_EQ(needed, std::set<std::string>());
}

TEST(Exports, LibraryCanBeUnloaded) {
  EXPECT_FALSE(ElfFile(plugin_file()).has_flag(DF_1_NODELETE));
  {
    const PluginLibrary library;
    ASSERT_NE(library.symbol("ncclNetPlugin_v12"), nullptr) << library.error();
    EXPECT_GT(mappings_of("libnccl-net-sluice.so"), 0);
  }
  EXPECT_EQ(mappings_of("libnccl-net-sluice.so"), 0);
}

template <int Version>
void check_tables(const PluginLibrary& library) {
  SCOPED_TRACE(Version);
  const auto* net = library.table<typename abi::Abi<Version>::Net>("ncclNetPlugin_v", Version);
  const auto* collnet =
      library.table<typename abi::Abi<Version>::CollNet>("ncclCollNetPlugin_v", Version);
  ASSERT_NE(net, nullptr);
  ASSERT_NE(collnet, nullptr);
  EXPECT_STREQ(net->name, "SLUICE");
  EXPECT_STREQ(collnet->name, "SLUICE");
  // All but what Sluice does not offer.
  EXPECT_TRUE(net->init && net->devices && net->getProperties && net->listen && net->connect &&
              net->accept && net->regMr && net->regMrDmaBuf && net->deregMr && net->isend &&
              net->irecv && net->iflush && net->test && net->closeSend && net->closeRecv &&
              net->closeListen);
  EXPECT_TRUE(collnet->init && collnet->devices && collnet->getProperties && collnet->listen &&
              collnet->connect && collnet->reduceSupport && collnet->regMr &&
              collnet->regMrDmaBuf && collnet->deregMr && collnet->iallreduce && collnet->iflush &&
              collnet->test && collnet->closeColl && collnet->closeListen);
  if constexpr (Version >= 7) {
    EXPECT_TRUE(net->getDeviceMr == nullptr && net->irecvConsumed == nullptr);
  }
  if constexpr (Version >= 8) {
    EXPECT_TRUE(collnet->iallgather && collnet->ireducescatter);
  }
  if constexpr (Version >= 9) {
    EXPECT_TRUE(net->makeVDevice == nullptr && collnet->makeVDevice == nullptr);
  }
  if constexpr (Version >= 11) {
    EXPECT_TRUE(net->finalize && net->setNetAttr && collnet->finalize);
  }
}

TEST(Exports, EveryTableIsComplete) {
  const PluginLibrary library;
  check_tables<6>(library);
  check_tables<7>(library);
  check_tables<8>(library);
  check_tables<9>(library);
  check_tables<10>(library);
  check_tables<11>(library);
  check_tables<12>(library);
}

}  // namespace
}  // namespace sluice::test
