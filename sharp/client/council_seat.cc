// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/council_seat.h"

namespace sluice::sharp {

Status CouncilSeat::listen(std::deque<Said>* said) {
  said_ = said;
  Status status;
  for (const Message& message : early_) {
    if (status) status = on_message(message);
  }
  early_.clear();
  if (status) status = connection_->progress(*this);
  said_ = nullptr;
  if (status && !departed_) return {};
  connection_.reset();
  return departed_ ? Status() : status;
}

template <typename T>
Status CouncilSeat::note(const Envelope& envelope) {
  auto message = decode<T>(envelope);
  if (!message) return fail(std::move(message).error());
  said_->push_back(std::move(*message));
  return {};
}

Status CouncilSeat::on_message(std::span<const std::byte> message) {
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  switch (envelope->type) {
    case MessageType::farewell:  // of the rendezvous; it may come late
      return {};
    case MessageType::trouble:
      return note<Trouble>(*envelope);
    case MessageType::standing:
      return note<Standing>(*envelope);
    case MessageType::ready:
      return note<Ready>(*envelope);
    case MessageType::pause:
      return note<Pause>(*envelope);
    case MessageType::prepare:
      return note<Prepare>(*envelope);
    case MessageType::resume:
      return note<Resume>(*envelope);
    case MessageType::fatal:
      return note<Fatal>(*envelope);
    case MessageType::departure:
      departed_ = true;
      return note<Departure>(*envelope);
    default:
      return fail(ErrorKind::remote, format_text("a message of type %u among the ranks of a group",
                                                 static_cast<unsigned>(envelope->type)));
  }
}

Status CouncilSeat::on_announcement(std::span<const transport::RemoteWindow>,
                                    std::span<const std::byte>) {
  return fail(ErrorKind::remote, "a window was announced among the ranks of a group");
}

Status CouncilSeat::on_arrival(transport::WindowId, uint64_t, uint64_t,
                               std::span<const std::byte>) {
  return fail(ErrorKind::remote, "data was written among the ranks of a group");
}

}  // namespace sluice::sharp
