// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/group_client.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "sharp/wire/crc32c.h"
#include "sharp/wire/geometry.h"

namespace sluice::sharp {
namespace {

Status check_arguments(const AllreduceArguments& arguments) {
  if (!Client::supports(arguments.type, arguments.reduce_operator)) {
    return fail(ErrorKind::invalid_argument,
                format_text("allreduce: %s of %s is not supported",
                            name_of(arguments.reduce_operator), name_of(arguments.type)));
  }
  if (arguments.count > SIZE_MAX / size_of(arguments.type)) {
    return fail(ErrorKind::invalid_argument,
                format_text("allreduce: %zu elements do not fit any memory", arguments.count));
  }
  const size_t bytes = arguments.count * size_of(arguments.type);
  if (bytes > 0 && (arguments.send == nullptr || arguments.receive == nullptr)) {
    return fail(ErrorKind::invalid_argument, "allreduce: the send or receive buffer is null");
  }
  const bool send_inside =
      arguments.send_region == nullptr || arguments.send_region->contains(arguments.send, bytes);
  const bool receive_inside = arguments.receive_region == nullptr ||
                              arguments.receive_region->contains(arguments.receive, bytes);
  if (!send_inside || !receive_inside) {
    return fail(
        ErrorKind::invalid_argument,
        format_text("allreduce: the %s buffer of %zu bytes is not inside its registered memory",
                    send_inside ? "receive" : "send", bytes));
  }
  return {};
}

}  // namespace

GroupClient::GroupClient(const Logger& logger, const Plan& plan, int rank,
                         NodeJoiner::Session session)
    : logger_(logger),
      shape_(plan.shape),
      node_(plan.path.front().node),
      rank_(static_cast<uint16_t>(rank)),
      process_(::getpid()),
      connection_(std::move(session.connection)),
      slots_(session.slots) {
  description_ =
      format_text("on: %u ranks, node %s by %s, chunk %g KiB, window %u", unsigned{shape_.members},
                  node_.c_str(), transport::name_of(connection_->kind()),
                  shape_.chunk_bytes / 1024.0, shape_.window);
  for (uint32_t index = 0; index < operations_.size(); ++index) {
    operations_[index].client = this;
    operations_[index].index = index;
  }
  stream(TrafficClass::latency).window.resize(shape_.latency_window);
  stream(TrafficClass::streaming).window.resize(shape_.window);
  if (!session.trouble.empty()) status_ = break_off({ErrorKind::remote, 0, session.trouble});
}

GroupClient::~GroupClient() {
  if (::getpid() != process_ || !status_) return;
  static_cast<void>(connection_->send_message(encode(Leave{rank_}), {}));
  static_cast<void>(connection_->flush());
}

Result<std::unique_ptr<transport::MemoryRegion>> GroupClient::register_memory(
    void* data, size_t size, transport::MemoryType type) {
  return connection_->register_memory(data, size, type);
}

Operation* GroupClient::free_operation() {
  for (size_t looked = 0; looked < operations_.size(); ++looked) {
    Operation& operation = operations_[next_free_];
    next_free_ = (next_free_ + 1) % kMaxResultWindows;
    if (!operation.in_use) return &operation;
  }
  return nullptr;
}

Result<Operation*> GroupClient::allreduce(const AllreduceArguments& arguments) {
  if (!status_) return fail(status_.error());
  SLUICE_RETURN_IF_ERROR(check_arguments(arguments));
  Operation* operation = free_operation();
  if (operation == nullptr) return operation;
  const uint64_t bytes = arguments.count * size_of(arguments.type);
  const bool streaming = bytes > shape_.latency_bytes;
  operation->in_use = true;
  operation->arguments = arguments;
  operation->traffic_class = streaming ? TrafficClass::streaming : TrafficClass::latency;
  operation->number = next_operation_++;
  operation->bytes = bytes;
  operation->chunks = streaming ? chunks_of(bytes, shape_.chunk_bytes) : (bytes > 0 ? 1 : 0);
  operation->sent = operation->released = operation->arrived = 0;
  if (operation->chunks == 0) return operation;
  stream(operation->traffic_class).queue.push_back(operation);
  Status posted = pump(operation->traffic_class);
  if (posted) posted = connection_->flush();
  if (!posted) {
    operation->in_use = false;
    status_ = break_off(posted.error());
    return fail(status_.error());
  }
  return operation;
}

Result<Operation*> GroupClient::allgather(const AllgatherArguments&) {
  return fail(ErrorKind::invalid_argument, "allgather is not done in the network yet");
}

Result<Operation*> GroupClient::reduce_scatter(const ReduceScatterArguments&) {
  return fail(ErrorKind::invalid_argument, "reduce-scatter is not done in the network yet");
}

Result<bool> GroupClient::test(Operation& operation, size_t* bytes) {
  if (!operation.done()) {
    if (!status_) return fail(status_.error());
    if (const Status progressed = progress(); !progressed && !operation.done()) {
      return fail(progressed.error());
    }
    if (!operation.done()) return false;
  }
  if (bytes != nullptr) *bytes = operation.bytes;
  operation.in_use = false;
  return true;
}

Status GroupClient::progress() {
  Status status = connection_->progress(*this);
  if (status) status = pump(TrafficClass::latency);
  if (status) status = pump(TrafficClass::streaming);
  if (status) status = connection_->flush();
  if (!last_words_.empty()) {
    status_ = break_off({ErrorKind::remote, 0, last_words_});
  } else if (!status) {
    status_ = break_off(status.error());
  }
  return status_;
}

// The first error decides, and is logged once.
Status GroupClient::break_off(const Error& error) {
  if (!status_) return status_;
  const std::string sentence = last_words_.empty()
                                   ? "in-network reduction: node " + node_ + ": " + error.message
                                   : "in-network reduction: " + last_words_;
  SLUICE_WARN(logger_, collective, "%s", sentence.c_str());
  return fail(Error{error.kind, error.system_errno, sentence});
}

Status GroupClient::pump(TrafficClass traffic_class) {
  Stream& out = stream(traffic_class);
  while (!out.queue.empty()) {
    InFlight& place = out.window[out.next_sequence % out.window.size()];
    if (place.operation != nullptr) return {};
    Operation& operation = *out.queue.front();
    const uint64_t sequence = out.next_sequence++;
    place = {&operation, sequence, operation.sent};
    SLUICE_RETURN_IF_ERROR(send_chunk(operation, sequence));
    if (++operation.sent == operation.chunks) out.queue.pop_front();
  }
  return {};
}

Status GroupClient::announce_result(const Operation& operation) {
  const transport::LocalWindow window{operation.index,
                                      static_cast<std::byte*>(operation.arguments.receive),
                                      operation.bytes, operation.arguments.receive_region};
  return connection_->announce({&window, 1}, encode_result_note(operation.number));
}

Status GroupClient::send_chunk(Operation& operation, uint64_t sequence) {
  const bool streaming = operation.traffic_class == TrafficClass::streaming;
  const ChunkSpan span = streaming ? chunk_at(operation.bytes, shape_.chunk_bytes, operation.sent)
                                   : ChunkSpan{0, static_cast<uint32_t>(operation.bytes)};
  const auto* data = static_cast<const std::byte*>(operation.arguments.send) + span.offset;
  ChunkHeader header;
  header.traffic_class = operation.traffic_class;
  header.group = shape_.group;
  header.epoch = shape_.epoch;
  header.type = operation.arguments.type;
  header.reduce_operator = operation.arguments.reduce_operator;
  header.child = rank_;
  header.sequence = sequence;
  header.operation = operation.number;
  header.operation_bytes = operation.bytes;
  header.offset = span.offset;
  header.bytes = span.bytes;
  header.result_window = operation.index;
  header.payload_bytes = span.bytes;
  header.payload_crc = crc32c({data, span.bytes});
  const EncodedChunkHeader record = encode(header);
  if (!streaming) {
    ++operation.released;  // messages are copied
    return connection_->send_message(record, {data, span.bytes});
  }
  if (operation.sent == 0) SLUICE_RETURN_IF_ERROR(announce_result(operation));
  transport::Write write;
  write.window = slots_;
  write.offset = sequence % shape_.window * shape_.chunk_bytes;
  write.data = data;
  write.size = span.bytes;
  write.region = operation.arguments.send_region;
  write.record = record;
  write.token = operation.index;
  write.confirm = transport::Confirm::buffer_reusable;
  return connection_->write(write);
}

Result<GroupClient::InFlight*> GroupClient::match(const ChunkHeader& header,
                                                  TrafficClass traffic_class) {
  Stream& in = stream(traffic_class);
  InFlight& place = in.window[header.sequence % in.window.size()];
  const bool expected = header.traffic_class == traffic_class && header.group == shape_.group &&
                        header.epoch == shape_.epoch && header.child == rank_ &&
                        place.operation != nullptr && place.sequence == header.sequence &&
                        place.operation->number == header.operation &&
                        place.operation->bytes == header.operation_bytes &&
                        place.operation->arguments.type == header.type &&
                        place.operation->arguments.reduce_operator == header.reduce_operator;
  if (!expected) {
    return fail(
        ErrorKind::remote,
        format_text("a result of the %s class came that nobody waits for "
                    "(chunk %llu, operation %llu)",
                    name_of(traffic_class), static_cast<unsigned long long>(header.sequence),
                    static_cast<unsigned long long>(header.operation)));
  }
  return &place;
}

void GroupClient::complete(InFlight& place) {
  Operation& operation = *place.operation;
  place.operation = nullptr;
  ++operation.arrived;
  // From here on the buffer is the caller's: nothing may be written there any more.
  if (operation.traffic_class == TrafficClass::streaming && operation.arrived == operation.chunks) {
    connection_->withdraw(operation.index);
  }
}

Status GroupClient::on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                               std::span<const std::byte> record) {
  const auto header = decode_chunk(record);
  if (!header) return fail(header.error());
  auto place = match(*header, TrafficClass::streaming);
  if (!place) return fail(std::move(place).error());
  const Operation& operation = *(*place)->operation;
  const ChunkSpan span = chunk_at(operation.bytes, shape_.chunk_bytes, (*place)->chunk);
  if (window != operation.index || offset != span.offset || size != span.bytes ||
      header->offset != span.offset || header->bytes != span.bytes) {
    return fail(ErrorKind::remote, "a result was written where it does not belong");
  }
  const auto* data = static_cast<const std::byte*>(operation.arguments.receive) + span.offset;
  if (crc32c({data, span.bytes}) != header->payload_crc) {
    return fail(ErrorKind::remote,
                format_text("the result of chunk %llu arrived with a wrong checksum",
                            static_cast<unsigned long long>(header->sequence)));
  }
  complete(**place);
  return {};
}

Status GroupClient::on_message(std::span<const std::byte> message) {
  if (!starts_as_chunk(message)) {
    auto envelope = open_envelope(message);
    if (!envelope) return fail(std::move(envelope).error());
    auto error = decode<GroupError>(*envelope);
    if (!error) return fail(std::move(error).error());
    last_words_ = "node " + node_ + " ended the group: " + error->sentence;
    return {};
  }
  if (message.size() < kChunkHeaderSize) return fail(ErrorKind::remote, "half a chunk came");
  const auto header = decode_chunk(message.first(kChunkHeaderSize));
  if (!header) return fail(header.error());
  auto place = match(*header, TrafficClass::latency);
  if (!place) return fail(std::move(place).error());
  const auto payload = message.subspan(kChunkHeaderSize);
  const Operation& operation = *(*place)->operation;
  if (payload.size() != operation.bytes || header->bytes != operation.bytes ||
      crc32c(payload) != header->payload_crc) {
    return fail(ErrorKind::remote, format_text("the result of latency chunk %llu arrived damaged",
                                               static_cast<unsigned long long>(header->sequence)));
  }
  std::memcpy(operation.arguments.receive, payload.data(), payload.size());
  complete(**place);
  return {};
}

Status GroupClient::on_announcement(std::span<const transport::RemoteWindow>,
                                    std::span<const std::byte>) {
  return fail(ErrorKind::remote, "the node announced slots twice");
}

Status GroupClient::on_written(uint64_t token) {
  if (token >= operations_.size()) return fail(ErrorKind::internal, "unknown chunk was confirmed");
  ++operations_[token].released;
  return {};
}

}  // namespace sluice::sharp
