// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/recovery/ledger.h"

#include <algorithm>

namespace sluice::sharp {

Ledger::Ledger(uint16_t rank, uint32_t window)
    : rank_(rank), window_(window), entries_(size_t{2} * window) {}

bool Ledger::room() const {
  return next_ < start_ + window_ || entry(next_ - window_).answered;
}

ChunkDuty Ledger::send(const NewChunk& chunk) {
  entry(posted_) = Entry{chunk};
  ++posted_;
  ChunkDuty sent = duty(next_++);
  // The first time the caller's input is what it was.
  sent.keep_input = sent.source == PayloadSource::kept_input;
  if (sent.keep_input) sent.source = PayloadSource::input;
  return sent;
}

ChunkDuty Ledger::send_again() {
  return duty(next_++);
}

bool Ledger::awaits(uint64_t sequence) const {
  return sequence >= start_ && sequence < next_ && known(sequence) && !entry(sequence).answered;
}

uint16_t Ledger::provider(uint64_t sequence) const {
  const uint64_t index = sequence - start_;
  return sequence >= start_ && index < providers_.size() ? providers_[index] : kNoMember;
}

bool Ledger::receives(const Entry& entry) const {
  const bool focused = entry.chunk.focus == rank_;
  return entry.chunk.collective == Collective::allreduce ||
         (entry.chunk.collective == Collective::scatter ? focused : !focused);
}

PayloadSource Ledger::input_source(const Entry& entry) const {
  if (entry.retired) return PayloadSource::kept;
  const bool endangered = entry.chunk.in_place && receives(entry);
  return endangered ? PayloadSource::kept_input : PayloadSource::input;
}

PayloadSource Ledger::result_source(const Entry& entry) const {
  if (entry.retired) return PayloadSource::kept;
  // The focus of a gather receives nothing: what it sent is the result.
  const bool own = entry.chunk.collective == Collective::gather && entry.chunk.focus == rank_;
  return own ? PayloadSource::input : PayloadSource::result;
}

ChunkDuty Ledger::duty(uint64_t sequence) const {
  const Entry& of = entry(sequence);
  const uint16_t provided_by = provider(sequence);
  ChunkDuty duty{of.chunk.collective, of.chunk.focus, PayloadSource::none, !of.held};
  if (provided_by != kNoMember) {
    if (of.chunk.collective == Collective::scatter) {
      // Its only receiver has it.
      return {Collective::none, 0, PayloadSource::none, false};
    }
    duty.collective = Collective::gather;
    duty.focus = provided_by;
    if (provided_by == rank_) {
      duty.source = result_source(of);
      duty.wants_result = false;
    }
    return duty;
  }
  const bool focused = of.chunk.focus == rank_;
  if (of.chunk.collective == Collective::gather) {
    if (focused) duty = {Collective::gather, rank_, input_source(of), false};
    return duty;
  }
  duty.source = input_source(of);
  if (of.chunk.collective == Collective::scatter && !focused) duty.wants_result = false;
  return duty;
}

bool Ledger::answer(uint64_t sequence) {
  Entry& of = entry(sequence);
  of.answered = true;
  const bool first = !of.held;
  of.held = true;
  while (base_ < posted_ && entry(base_).held) ++base_;
  return first;
}

bool Ledger::holds(uint64_t sequence) const {
  return sequence < base_ || (known(sequence) && entry(sequence).held);
}

bool Ledger::worth_keeping(uint64_t sequence) const {
  // The one that holds c+W knows that all hold c.
  return known(sequence) && !holds(sequence + window_);
}

bool Ledger::keeps_result(uint64_t sequence) const {
  const NewChunk& chunk = entry(sequence).chunk;
  return chunk.collective != Collective::scatter || chunk.focus == rank_;
}

void Ledger::retire(uint64_t sequence) {
  if (known(sequence)) entry(sequence).retired = true;
}

bool Ledger::has_data(uint64_t sequence) const {
  return known(sequence) && entry(sequence).held && keeps_result(sequence);
}

bool Ledger::settled() const {
  for (uint64_t sequence = start_; sequence < resumed_; ++sequence) {
    if (known(sequence) && !entry(sequence).answered) return false;
  }
  return true;
}

ClassStanding Ledger::standing() const {
  ClassStanding standing;
  standing.posted = posted_;
  standing.base = base_;
  standing.first = base_ > window_ ? base_ - window_ : 0;
  standing.holds.resize((posted_ - standing.first + 7) / 8);
  for (uint64_t sequence = standing.first; sequence < posted_; ++sequence) {
    if (!has_data(sequence)) continue;
    const uint64_t bit = sequence - standing.first;
    standing.holds[bit / 8] = static_cast<uint8_t>(standing.holds[bit / 8] | 1U << bit % 8);
  }
  return standing;
}

Status Ledger::resume(const ClassResume& resume) {
  if (resume.start > base_ || resume.start + window_ < base_ || resume.start < start_ ||
      resume.providers.size() > window_) {
    return fail(ErrorKind::remote,
                format_text("rank 0 lets the group go on at chunk %llu, but this rank holds %llu",
                            static_cast<unsigned long long>(resume.start),
                            static_cast<unsigned long long>(base_)));
  }
  for (size_t index = 0; index < resume.providers.size(); ++index) {
    const uint64_t sequence = resume.start + index;
    if (resume.providers[index] == rank_ && !has_data(sequence)) {
      return fail(ErrorKind::remote,
                  format_text("rank 0 wants chunk %llu from this rank, which does not have it",
                              static_cast<unsigned long long>(sequence)));
    }
  }
  start_ = next_ = resume.start;
  resumed_ = posted_;
  providers_ = resume.providers;
  for (Entry& each : entries_) each.answered = false;
  return {};
}

std::vector<uint8_t> Ledger::snapshot() const {
  std::vector<uint8_t> bytes;
  const auto number = [&](uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<uint8_t>(value >> shift));
  };
  for (const uint64_t value : {posted_, base_, start_, next_}) number(value);
  for (const uint16_t each : providers_) number(each);
  const uint64_t oldest = posted_ > entries_.size() ? posted_ - entries_.size() : 0;
  for (uint64_t sequence = oldest; sequence < posted_; ++sequence) {
    const Entry& each = entry(sequence);
    bytes.push_back(static_cast<uint8_t>(each.held | each.answered << 1 | each.retired << 2));
  }
  return bytes;
}

}  // namespace sluice::sharp
