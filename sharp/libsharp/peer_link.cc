// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/peer_link.h"

#include <algorithm>
#include <cstring>

namespace sluice::sharp::libsharp {
namespace {

constexpr size_t kMostCollectives = 1024;  // that a peer may be ahead
constexpr size_t kMostWords = 16;          // votes or decisions that nobody has looked at

}  // namespace

void PeerLink::drive() {
  if (farewell || !trouble.empty()) return;
  if (const Status status = connection_->progress(*this); !status && !farewell) {
    trouble = status.error().message;
  }
}

void PeerLink::send_data(uint32_t number, std::span<const std::byte> data) {
  OutOfBandPiece piece;
  piece.number = number;
  piece.total = static_cast<uint32_t>(data.size());
  do {
    const auto bytes =
        data.subspan(piece.offset, std::min(data.size() - piece.offset, kPieceBytes));
    std::vector<std::byte> body;
    body.reserve(kPieceHeader + bytes.size());
    Writer writer(body);
    OutOfBandPiece::fields(piece, writer);
    body.insert(body.end(), bytes.begin(), bytes.end());
    static_cast<void>(connection_->send_message(seal(OutOfBandPiece::kType, body), {}));
    piece.offset += static_cast<uint32_t>(bytes.size());
  } while (piece.offset < piece.total);
  static_cast<void>(connection_->flush());
}

bool PeerLink::has_data(uint32_t number) const {
  const auto found = incoming_.find(number);
  return found != incoming_.end() && found->second.complete();
}

std::vector<std::byte> PeerLink::take_data(uint32_t number) {
  auto node = incoming_.extract(number);
  kept_ -= node.mapped().data.size();
  return std::move(node.mapped().data);
}

std::string PeerLink::name() const {
  if (!hello) return name_;
  return format_text("rank %u (%s)", unsigned{hello->rank}, hello->host.c_str());
}

Status PeerLink::on_message(std::span<const std::byte> message) {
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  switch (envelope->type) {
    case MessageType::out_of_band_piece:
      return on_piece(envelope->body);
    case MessageType::farewell:
      farewell = true;
      return {};
    case MessageType::vote: {
      auto vote = decode<Vote>(*envelope);
      if (!vote) return fail(std::move(vote).error());
      if (votes.size() < kMostWords) votes.push_back(*std::move(vote));
      return {};
    }
    case MessageType::decision: {
      auto decision = decode<Decision>(*envelope);
      if (!decision) return fail(std::move(decision).error());
      if (decisions.size() < kMostWords) decisions.push_back(*std::move(decision));
      return {};
    }
    case MessageType::hello:
      complaint = "it reduces by Sluice's aggregation nodes; all ranks must use the same back end";
      return {};
    default: {
      auto said = decode<OutOfBandHello>(*envelope);
      if (!said) return fail(std::move(said).error());
      if (hello) return fail(ErrorKind::remote, "it said hello twice");
      hello = *std::move(said);
      return {};
    }
  }
}

Status PeerLink::on_piece(std::span<const std::byte> body) {
  OutOfBandPiece piece;
  Reader reader(body.first(std::min(body.size(), kPieceHeader)));
  OutOfBandPiece::fields(piece, reader);
  const auto bytes = body.subspan(std::min(body.size(), kPieceHeader));
  if (!reader.complete() || piece.total > kMaxOutOfBandBytes) {
    return fail(ErrorKind::remote, "a garbled piece of an out-of-band collective");
  }
  const bool first = !incoming_.contains(piece.number);
  if (first && (incoming_.size() >= kMostCollectives || piece.total > kMaxOutOfBandBytes - kept_)) {
    return fail(ErrorKind::remote, "it is too many out-of-band collectives ahead");
  }
  Incoming& incoming = incoming_[piece.number];
  if (first) {
    incoming.data.resize(piece.total);
    kept_ += piece.total;
  }
  // Messages come in order, so pieces do.
  if (incoming.data.size() != piece.total || incoming.arrived != piece.offset ||
      bytes.size() > piece.total - piece.offset ||
      (bytes.empty() && !(first && piece.total == 0))) {
    return fail(ErrorKind::remote, "a piece of an out-of-band collective that does not fit");
  }
  if (!bytes.empty()) std::memcpy(incoming.data.data() + piece.offset, bytes.data(), bytes.size());
  incoming.arrived += bytes.size();
  return {};
}

Status PeerLink::on_announcement(std::span<const transport::RemoteWindow>,
                                 std::span<const std::byte>) {
  return fail(ErrorKind::remote, "a window was announced at the rendezvous");
}

Status PeerLink::on_arrival(transport::WindowId, uint64_t, uint64_t, std::span<const std::byte>) {
  return fail(ErrorKind::remote, "data was written at the rendezvous");
}

Status PeerLink::on_written(uint64_t) {
  return {};
}

}  // namespace sluice::sharp::libsharp
