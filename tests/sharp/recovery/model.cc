// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/recovery/model.h"

#include <algorithm>

#include "sharp/client/recovery/plan.h"

namespace sluice::sharp::testing {
namespace {

constexpr std::byte kOverwritten{0xee};

std::string text(const char* what, int rank, uint64_t sequence) {
  return "rank " + std::to_string(rank) + ", chunk " + std::to_string(sequence) + ": " + what;
}

std::byte mixed(uint64_t sequence, int rank, int half) {
  const uint64_t value =
      (sequence * 6 + static_cast<uint64_t>(rank) * 2 + static_cast<uint64_t>(half) + 1) *
      0x9e3779b97f4a7c15U;
  return static_cast<std::byte>(value >> 56);
}

void add_bytes(std::string* key, const std::vector<uint8_t>& bytes) {
  key->append(bytes.begin(), bytes.end());
}

template <typename Bytes>
void add_value(std::string* key, const Bytes& value) {
  for (const std::byte each : value) key->push_back(static_cast<char>(each));
}

}  // namespace

State::State(const Scenario& scenario) : scenario_(&scenario) {
  for (size_t operation = 0; operation < scenario.operations.size(); ++operation) {
    first_.push_back(locations_.size());
    for (size_t chunk = 0; chunk < scenario.operations[operation].chunks.size(); ++chunk) {
      locations_.push_back({operation, chunk});
    }
  }
  for (int number = 0; number < scenario.ranks; ++number) {
    Rank rank{Ledger(static_cast<uint16_t>(number), scenario.window),
              Retention(scenario.window),
              {},
              0,
              0};
    for (size_t operation = 0; operation < scenario.operations.size(); ++operation) {
      Buffers buffers;
      const size_t chunks = scenario.operations[operation].chunks.size();
      for (size_t chunk = 0; chunk < chunks; ++chunk) {
        buffers.input.push_back(input_value(first_[operation] + chunk, number));
      }
      if (!scenario.operations[operation].in_place) buffers.output.resize(chunks);
      rank.operations.push_back(std::move(buffers));
    }
    ranks_.push_back(std::move(rank));
  }
  tree_.resize(locations_.size());
  for (InTree& each : tree_) {
    each.sent.resize(ranks_.size());
    each.delivered.resize(ranks_.size());
  }
}

const ModelChunk& State::chunk_of(uint64_t sequence) const {
  const Location& at = locations_[sequence];
  return scenario_->operations[at.operation].chunks[at.chunk];
}

State::Value& State::output_of(Rank& rank, uint64_t sequence) {
  const Location& at = locations_[sequence];
  Buffers& buffers = rank.operations[at.operation];
  return buffers.output.empty() ? buffers.input[at.chunk] : buffers.output[at.chunk];
}

State::Value State::input_value(uint64_t sequence, int rank) const {
  return {mixed(sequence, rank, 0), mixed(sequence, rank, 1)};
}

// What must be received.
State::Value State::reduced_value(uint64_t sequence) const {
  const ModelChunk& chunk = chunk_of(sequence);
  if (chunk.collective == Collective::gather) return input_value(sequence, chunk.focus);
  Value sum{};
  for (int rank = 0; rank < scenario_->ranks; ++rank) {
    const Value input = input_value(sequence, rank);
    for (size_t half = 0; half < sum.size(); ++half) {
      sum[half] = static_cast<std::byte>(static_cast<unsigned>(sum[half]) +
                                         static_cast<unsigned>(input[half]));
    }
  }
  return sum;
}

std::vector<Action> State::actions() const {
  std::vector<Action> actions;
  for (int number = 0; number < scenario_->ranks; ++number) {
    const Rank& rank = ranks_[static_cast<size_t>(number)];
    if (rank.called < rank.operations.size()) {
      actions.push_back({Action::Kind::post, number, rank.called});
    }
    for (uint64_t sequence = 0; sequence < tree_.size(); ++sequence) {
      const InTree& chunk = tree_[sequence];
      if (chunk.result && !chunk.delivered[static_cast<size_t>(number)]) {
        actions.push_back({Action::Kind::deliver, number, sequence});
      }
    }
    for (size_t operation = 0; operation < rank.called; ++operation) {
      if (can_finish(rank, operation)) actions.push_back({Action::Kind::test, number, operation});
    }
  }
  if (deaths_ < scenario_->deaths && !finished()) actions.push_back({Action::Kind::die, 0, 0});
  return actions;
}

std::string State::apply(const Action& action) {
  switch (action.kind) {
    case Action::Kind::post: {
      Rank& rank = ranks_[static_cast<size_t>(action.rank)];
      rank.chunks += scenario_->operations[rank.called++].chunks.size();
      return pump(action.rank);
    }
    case Action::Kind::deliver:
      return deliver(action.rank, action.number);
    case Action::Kind::test:
      return finish(action.rank, action.number);
    case Action::Kind::die:
      return die();
  }
  return "no such action";
}

std::string State::pump(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  Ledger& ledger = rank.ledger;
  while (ledger.next() < rank.chunks) {
    const uint64_t sequence = ledger.next();
    const bool early = !scenario_->rules.waits_for_answer && sequence >= ledger.window() &&
                       ledger.holds(sequence - ledger.window());
    if (!ledger.room() && !early) break;
    if (ledger.sends_again()) {
      if (std::string wrong = send(number, sequence, ledger.send_again()); !wrong.empty()) {
        return wrong;
      }
      continue;
    }
    const ModelChunk& chunk = chunk_of(sequence);
    const bool in_place = scenario_->operations[locations_[sequence].operation].in_place;
    const bool told = in_place && !scenario_->rules.takes_result_as_input;
    const ChunkDuty duty = ledger.send({chunk.collective, chunk.focus, told});
    if (duty.keep_input && scenario_->rules.keeps_inputs) {
      const Location& at = locations_[sequence];
      rank.retention.keep_input(sequence, rank.operations[at.operation].input[at.chunk]);
    }
    if (std::string wrong = send(number, sequence, duty); !wrong.empty()) return wrong;
  }
  return {};
}

std::string State::payload(int number, uint64_t sequence, const ChunkDuty& duty, Value* value) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  const Location& at = locations_[sequence];
  const Buffers& buffers = rank.operations[at.operation];
  if (buffers.over && rank.retention.find(sequence).header == nullptr) {
    return text("is to be sent again, but nothing is known of it any more", number, sequence);
  }
  std::span<const std::byte> from;
  switch (duty.source) {
    case PayloadSource::none:
      return {};
    case PayloadSource::input:
      from = buffers.input[at.chunk];
      break;
    case PayloadSource::result:
      from = output_of(rank, sequence);
      break;
    case PayloadSource::kept_input:
      from = rank.retention.input(sequence);
      break;
    case PayloadSource::kept:
      from = rank.retention.find(sequence).data;
      break;
  }
  const bool users = duty.source == PayloadSource::input || duty.source == PayloadSource::result;
  if (users && buffers.over) return text("read from a buffer given back", number, sequence);
  if (from.size() != value->size()) return text("its data are not kept", number, sequence);
  std::copy(from.begin(), from.end(), value->begin());
  return {};
}

std::string State::send(int number, uint64_t sequence, const ChunkDuty& duty) {
  Sent sent{duty};
  if (std::string wrong = payload(number, sequence, duty, &sent.payload); !wrong.empty()) {
    return wrong;
  }
  return put_into_tree(number, sequence, sent);
}

std::string State::put_into_tree(int number, uint64_t sequence, const Sent& sent) {
  const uint64_t start = ranks_[static_cast<size_t>(number)].ledger.start();
  if (sequence >= start + scenario_->window && !tree_[sequence - scenario_->window].result) {
    return text("overwrites a slot that the node has not read", number, sequence);
  }
  InTree& chunk = tree_[sequence];
  chunk.sent[static_cast<size_t>(number)] = sent;
  Value result{};
  for (const auto& each : chunk.sent) {
    if (!each) return {};
    if (each->duty.collective != sent.duty.collective || each->duty.focus != sent.duty.focus) {
      return text("is another chunk than at another rank", number, sequence);
    }
    if (each->duty.source == PayloadSource::none) continue;
    for (size_t half = 0; half < result.size(); ++half) {
      result[half] = static_cast<std::byte>(static_cast<unsigned>(result[half]) +
                                            static_cast<unsigned>(each->payload[half]));
    }
  }
  chunk.result = result;
  return {};
}

std::string State::deliver(int number, uint64_t sequence) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  InTree& chunk = tree_[sequence];
  chunk.delivered[static_cast<size_t>(number)] = true;
  if (!rank.ledger.awaits(sequence)) return text("came unasked", number, sequence);
  if (rank.ledger.duty(sequence).wants_result) {
    if (rank.operations[locations_[sequence].operation].over) {
      return text("is written into a buffer given back", number, sequence);
    }
    output_of(rank, sequence) = *chunk.result;
  }
  rank.ledger.answer(sequence);
  return pump(number);
}

bool State::can_finish(const Rank& rank, size_t operation) const {
  if (rank.operations[operation].over) return false;
  const size_t chunks = scenario_->operations[operation].chunks.size();
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    if (!rank.ledger.holds(first_[operation] + chunk)) return false;
  }
  return true;
}

void State::keep(Rank& rank, int number, uint64_t sequence, const Buffers& buffers, size_t chunk) {
  const Rules& rules = scenario_->rules;
  const bool result = rank.ledger.keeps_result(sequence);
  if (result ? !rules.keeps_results : !rules.keeps_scatter_inputs) return;
  if (result && rules.fewer_results > 0 &&
      rank.ledger.holds(sequence + rank.ledger.window() - rules.fewer_results)) {
    return;
  }
  ChunkHeader header;
  header.bytes = static_cast<uint32_t>(sizeof(Value));
  const auto to = rank.retention.keep(sequence, header);
  const ModelChunk& what = chunk_of(sequence);
  const bool own = what.collective == Collective::gather && what.focus == number;
  const Value& from = result && !own ? output_of(rank, sequence) : buffers.input[chunk];
  std::copy(from.begin(), from.end(), to.begin());
}

std::string State::finish(int number, size_t operation) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  Buffers& buffers = rank.operations[operation];
  for (size_t chunk = 0; chunk < buffers.input.size(); ++chunk) {
    const uint64_t sequence = first_[operation] + chunk;
    const ModelChunk& what = chunk_of(sequence);
    const bool receives = what.collective == Collective::allreduce ||
                          (what.collective == Collective::gather) == (what.focus != number);
    if (receives && output_of(rank, sequence) != reduced_value(sequence)) {
      return text("wrong result", number, sequence);
    }
    if (rank.ledger.worth_keeping(sequence)) keep(rank, number, sequence, buffers, chunk);
    rank.ledger.retire(sequence);
  }
  buffers.over = true;
  for (Value& each : buffers.input) each.fill(kOverwritten);
  for (Value& each : buffers.output) each.fill(kOverwritten);
  return {};
}

std::string State::die() {
  ++deaths_;
  std::vector<Standing> standings;
  uint64_t highest = 0;
  for (Rank& rank : ranks_) {
    const size_t number = standings.size();
    for (uint64_t sequence = 0; sequence < tree_.size(); ++sequence) {
      const InTree& chunk = tree_[sequence];
      if (!chunk.result || chunk.delivered[number]) continue;
      if (rank.ledger.duty(sequence).wants_result) {
        output_of(rank, sequence)[0] = (*chunk.result)[0];
      }
    }
    Standing standing;
    standing.classes[0] = rank.ledger.standing();
    highest = std::max(highest, rank.ledger.base());
    standings.push_back(std::move(standing));
  }
  auto resume = plan_resume(standings, {scenario_->window, 1}, 0);
  if (!resume) return resume.error().message;
  ClassResume& how = resume->classes[0];
  if (scenario_->rules.forgets_provider) how.providers.clear();
  if (scenario_->rules.starts_late) {
    const uint64_t skipped = std::min<uint64_t>(highest - how.start, how.providers.size());
    how.providers.erase(how.providers.begin(),
                        how.providers.begin() + static_cast<std::ptrdiff_t>(skipped));
    how.start = highest;
  }
  for (InTree& chunk : tree_) {
    chunk.sent.assign(ranks_.size(), std::nullopt);
    chunk.delivered.assign(ranks_.size(), false);
    chunk.result.reset();
  }
  for (Rank& rank : ranks_) {
    if (const Status resumed = rank.ledger.resume(how); !resumed) return resumed.error().message;
  }
  for (int number = 0; number < scenario_->ranks; ++number) {
    if (std::string wrong = pump(number); !wrong.empty()) return wrong;
  }
  return {};
}

bool State::finished() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return std::all_of(rank.operations.begin(), rank.operations.end(),
                       [](const Buffers& each) { return each.over; });
  });
}

std::string State::key() const {
  std::string key;
  key.push_back(static_cast<char>(deaths_));
  for (const Rank& rank : ranks_) {
    add_bytes(&key, rank.ledger.snapshot());
    key.push_back(static_cast<char>(rank.called));
    for (const Buffers& each : rank.operations) {
      key.push_back(each.over ? 'o' : 'l');
      for (const Value& value : each.input) add_value(&key, value);
      for (const Value& value : each.output) add_value(&key, value);
    }
    for (uint64_t sequence = 0; sequence < tree_.size(); ++sequence) {
      key.push_back('i');
      add_value(&key, rank.retention.input(sequence));
      key.push_back('k');
      add_value(&key, rank.retention.find(sequence).data);
    }
  }
  for (const InTree& chunk : tree_) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      key.push_back(
          static_cast<char>((chunk.sent[rank] ? 1 : 0) | (chunk.delivered[rank] ? 2 : 0)));
      if (chunk.sent[rank]) add_value(&key, chunk.sent[rank]->payload);
    }
    if (chunk.result) add_value(&key, *chunk.result);
  }
  return key;
}

}  // namespace sluice::sharp::testing
