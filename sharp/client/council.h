// SPDX-License-Identifier: Apache-2.0
// The ranks of a group among themselves, once they have agreed: a star of connections through rank
// 0 and a thread, asleep while all is well, that takes the group to another tree when its own dies,
// is revoked, or is back (recovery/leader.h, recovery/follower.h; docs/protocol.md, "Recovery").
//
// Thread rule: open(), start(), close() and the destructor belong to the client's thread,
// on_trouble() is called from any with the data path's mutex held; everything else happens in the
// thread "sluice-group", which takes that mutex only inside of calls to the data path. Ownership:
// the council owns connections, source of trees and hosted nodes; the data path outlives it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sharp/client/council_seat.h"
#include "sharp/client/recovery/follower.h"
#include "sharp/client/recovery/hooks.h"
#include "sharp/client/recovery/leader.h"
#include "transport/background.h"
#include "transport/file_descriptor.h"

namespace sluice::sharp {

class Council final : public TroubleListener, private transport::BackgroundThread {
 public:
  struct Setup {
    uint16_t rank = 0;
    // Rank 0: connections[i] is rank i's, the first is null. The others: one, to rank 0.
    std::vector<KeptConnection> connections;
    std::optional<Leader::Setup> leading;  // of rank 0
    std::unique_ptr<TreeSource> source;    // of rank 0; may be null
    std::shared_ptr<NodeHostFactory> hosts;
    transport::SocketAddress bind;  // for hosted nodes: this rank's own, port 0
  };

  static Result<std::unique_ptr<Council>> open(transport::Context& context, Setup setup,
                                               RecoverableGroup& group);
  // Starts the thread, once the data path knows whom to tell of trouble.
  Status start();
  ~Council() override;
  Council(const Council&) = delete;
  Council& operator=(const Council&) = delete;

  // Ends the thread. Waits for nobody, unless the group is between two trees: then others need this
  // rank, for a second at most. The data path may still leave its tree afterwards.
  void close() override;

  void on_trouble(uint32_t epoch, uint16_t culprit, std::string sentence) override;

 private:
  Council(transport::Context& context, Setup setup, RecoverableGroup& group,
          transport::FileDescriptor wake);

  void halt() override;
  void run();
  bool may_end() const;
  void step();
  void listen(CouncilSeat& seat);
  void hear(uint16_t from, CouncilSeat::Said& said);
  void lose(CouncilSeat& seat, const std::string& sentence);
  void report_trouble();
  void lead();
  void obey(const Command& command);
  template <typename T>
  void answer(T message);
  void end(const std::string& sentence);
  void wait();
  int wait_ms();
  void wake();

  transport::Context& context_;
  const Logger logger_;
  RecoverableGroup& group_;
  const uint16_t rank_;
  const pid_t process_;
  transport::FileDescriptor wake_;
  std::vector<CouncilSeat> seats_;
  std::unique_ptr<TreeSource> source_;
  std::optional<Leader> leader_;
  Follower follower_;
  bool ended_ = false;       // for all ranks
  bool troubled_ = false;    // trouble was told, and no order has come
  uint32_t left_epoch_ = 0;  // the last one that this rank was ordered out of
  bool leader_left_ = false;
  TimePoint driving_since_{};

  std::mutex mutex_;  // of what other threads tell
  std::deque<Trouble> troubles_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> halting_{false};  // at once, without a word
  std::unique_ptr<std::thread> thread_;
};

}  // namespace sluice::sharp
