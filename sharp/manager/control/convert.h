// SPDX-License-Identifier: Apache-2.0
// From report.h's structures to the generated ones and back: the fields of a row are listed once,
// in report.h, and this says how each is called there. Included by the two files that know gRPC.
#pragma once

#include <string>
#include <type_traits>

#include "sharp/manager/control/control.pb.h"
#include "sharp/manager/control/report.h"

namespace sluice::manager {

// What protobuf knows of a message by name is enough: both sides have the same names.
template <typename Row>
void to_message(const Row& row, google::protobuf::Message& message) {
  const auto* descriptor = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  const auto set = [&](const char* name, const auto& value) {
    const auto* field = descriptor->FindFieldByName(name);
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      reflection->SetString(&message, field, value);
    } else if constexpr (std::is_same_v<Value, bool>) {
      reflection->SetBool(&message, field, value);
    } else if constexpr (std::is_same_v<Value, double>) {
      reflection->SetDouble(&message, field, value);
    } else if constexpr (std::is_same_v<Value, uint32_t>) {
      reflection->SetUInt32(&message, field, value);
    } else {
      reflection->SetUInt64(&message, field, value);
    }
  };
  Row::fields(row, set);
}

template <typename Row>
Row from_message(const google::protobuf::Message& message) {
  Row row;
  const auto* descriptor = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  const auto get = [&](const char* name, auto& value) {
    const auto* field = descriptor->FindFieldByName(name);
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      value = reflection->GetString(message, field);
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = reflection->GetBool(message, field);
    } else if constexpr (std::is_same_v<Value, double>) {
      value = reflection->GetDouble(message, field);
    } else if constexpr (std::is_same_v<Value, uint32_t>) {
      value = reflection->GetUInt32(message, field);
    } else {
      value = reflection->GetUInt64(message, field);
    }
  };
  Row::fields(row, get);
  return row;
}

}  // namespace sluice::manager
