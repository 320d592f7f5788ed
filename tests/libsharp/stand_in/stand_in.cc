// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's libsharp_coll: its entry points, with the reduction done by rank 0 over
// sockets. It meets the other ranks by the out-of-band collectives that its caller gives it, checks
// what it is handed, and misbehaves on request (behaviour.h).
#include <cstdlib>
#include <cstring>
#include <memory>

#include "sharp/libsharp/api.h"
#include "tests/libsharp/stand_in/behaviour.h"
#include "tests/libsharp/stand_in/context.h"

using sluice::stand_in::Bytes;
using sluice::stand_in::Kind;
using sluice::stand_in::Memory;
using sluice::stand_in::Request;

namespace {

bool told_to(const char* mode) {
  const char* told = std::getenv(sluice::stand_in::kMode);
  return told != nullptr && std::strcmp(told, mode) == 0;
}

uint64_t fails_at() {
  const char* number = std::getenv(sluice::stand_in::kFailAt);
  return number == nullptr ? 0 : std::strtoull(number, nullptr, 10);
}

// libsharp's requests know their group.
struct Handle {
  sharp_coll_comm* comm = nullptr;
  Request* request = nullptr;
};

bool is_registered(const sharp_coll_context& context, const sharp_coll_data_desc& buffer,
                   size_t used) {
  if (buffer.type != SHARP_DATA_BUFFER || buffer.mem_type != SHARP_MEM_TYPE_HOST) return false;
  if (buffer.buffer.mem_handle == nullptr || used == 0) return true;
  auto* memory = static_cast<Memory*>(buffer.buffer.mem_handle);
  const auto* first = static_cast<const std::byte*>(buffer.buffer.ptr);
  return context.memory.contains(memory) && first >= memory->address &&
         first + used <= memory->address + memory->size;
}

Bytes copy_of(const void* data, size_t size) {
  Bytes bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  return bytes;
}

int start(sharp_coll_comm& comm, std::unique_ptr<Request> request, const void* data, size_t size,
          void** handle) {
  auto owner = std::make_unique<Handle>();
  owner->comm = &comm;
  const bool fails = ++comm.posted == fails_at();
  const int status =
      comm.group.post(std::move(request), copy_of(data, size), fails, &owner->request);
  *handle = owner.release();
  return status;
}

}  // namespace

extern "C" {
// By this the loader knows that it is not NVIDIA's (sharp/libsharp/library.cc).
extern const char sluice_stand_in_for_libsharp[];
const char sluice_stand_in_for_libsharp[] = "stand-in";
const struct sharp_coll_config sharp_coll_default_config = {};
}

extern "C" int sharp_coll_init(sharp_coll_init_spec* spec, sharp_coll_context** context) {
  if (told_to("refuse")) return SHARP_COLL_ESESS_INIT;
  // What the caller promises to have set for libsharp.
  const char* streaming = std::getenv("SHARP_COLL_ENABLE_SAT");
  if (streaming == nullptr || spec->job_id == 0 || spec->enable_thread_support != 1) {
    return SHARP_COLL_EINVAL;
  }
  uint64_t job = spec->job_id;
  auto created = std::make_unique<sharp_coll_context>(*spec);
  if (!created->callbacks.broadcast(&job, sizeof job, 0)) return SHARP_COLL_EOOB;
  if (job != spec->job_id) return SHARP_COLL_EJOB_CREATE;
  if (!created->star.open(created->callbacks)) return SHARP_COLL_EOOB;
  *context = created.release();
  return SHARP_COLL_SUCCESS;
}

extern "C" int sharp_coll_finalize(sharp_coll_context* context) {
  const bool clean = context->memory.empty();
  // As libsharp may at its end; there must be an answer, whatever it is.
  static_cast<void>(context->callbacks.barrier());
  delete context;
  return clean ? SHARP_COLL_SUCCESS : SHARP_COLL_ERROR;
}

extern "C" int sharp_coll_caps_query(sharp_coll_context*, sharp_coll_caps* caps) {
  *caps = {};
  const uint64_t newer =
      1ULL << SHARP_DTYPE_BFLOAT16 | 1ULL << SHARP_DTYPE_UINT8 | 1ULL << SHARP_DTYPE_INT8;
  caps->support_mask.dtypes = (1ULL << SHARP_DTYPE_NULL) - 1;
  if (told_to("old_switches")) caps->support_mask.dtypes &= ~newer;
  return SHARP_COLL_SUCCESS;
}

extern "C" int sharp_coll_comm_init(sharp_coll_context* context, sharp_coll_comm_init_spec* spec,
                                    sharp_coll_comm** comm) {
  if (!context->callbacks.barrier()) return SHARP_COLL_EOOB;
  if (told_to("no_quota")) return SHARP_COLL_EQUOTA;
  if (spec->size != context->callbacks.ranks()) return SHARP_COLL_EINVAL;
  *comm = new sharp_coll_comm(*context, spec->rank, spec->size);
  return SHARP_COLL_SUCCESS;
}

extern "C" int sharp_coll_comm_destroy(sharp_coll_comm* comm) {
  delete comm;
  return SHARP_COLL_SUCCESS;
}

extern "C" int sharp_coll_reg_mr(sharp_coll_context* context, void* buffer, size_t size,
                                 void** mr) {
  auto* memory = new Memory{static_cast<std::byte*>(buffer), size};
  context->memory.insert(memory);
  *mr = memory;
  return SHARP_COLL_SUCCESS;
}

extern "C" int sharp_coll_reg_mr_v2(sharp_coll_context* context, void* buffer, size_t size,
                                    const sharp_coll_reg_params* params, void** mr) {
  const uint64_t both = SHARP_COLL_REG_FIELD_DMABUF_FD | SHARP_COLL_REG_FIELD_DMABUF_OFFSET;
  if (params->field_mask != both || params->dmabuf_fd < 0) return SHARP_COLL_EINVAL;
  return sharp_coll_reg_mr(context, buffer, size, mr);
}

extern "C" int sharp_coll_dereg_mr(sharp_coll_context* context, void* mr) {
  auto* memory = static_cast<Memory*>(mr);
  if (context->memory.erase(memory) == 0) return SHARP_COLL_EINVAL;
  delete memory;
  return SHARP_COLL_SUCCESS;
}

extern "C" int sharp_coll_do_allreduce_nb(sharp_coll_comm* comm, sharp_coll_reduce_spec* spec,
                                          void** handle) {
  const size_t bytes = spec->length * sluice::stand_in::bytes_of(spec->dtype);
  if (bytes == 0 || spec->sbuf_desc.buffer.length != bytes ||
      spec->rbuf_desc.buffer.length != bytes ||
      !is_registered(comm->context, spec->sbuf_desc, bytes) ||
      !is_registered(comm->context, spec->rbuf_desc, bytes)) {
    return SHARP_COLL_EINVAL;
  }
  auto request = std::make_unique<Request>();
  request->kind = Kind::allreduce;
  request->type = spec->dtype;
  request->reduce_operator = spec->op;
  request->result = static_cast<std::byte*>(spec->rbuf_desc.buffer.ptr);
  request->result_bytes = bytes;
  return start(*comm, std::move(request), spec->sbuf_desc.buffer.ptr, bytes, handle);
}

extern "C" int sharp_coll_do_allgather_nb(sharp_coll_comm* comm, sharp_coll_gather_spec* spec,
                                          void** handle) {
  const size_t window = spec->rbuf_desc.buffer.length;
  const size_t block = spec->sbuf_desc.buffer.length;
  const auto cut =
      sluice::stand_in::cut_of(comm->context.callbacks.rank(), block, spec->offset, window);
  if (window == 0 || spec->size != window || spec->dtype != SHARP_DTYPE_INT8 ||
      !is_registered(comm->context, spec->sbuf_desc, cut.size) ||
      !is_registered(comm->context, spec->rbuf_desc, window)) {
    return SHARP_COLL_EINVAL;
  }
  auto request = std::make_unique<Request>();
  request->kind = Kind::allgather;
  request->block = block;
  request->offset = spec->offset;
  request->window = window;
  request->result = static_cast<std::byte*>(spec->rbuf_desc.buffer.ptr);
  request->result_bytes = window;
  return start(*comm, std::move(request), spec->sbuf_desc.buffer.ptr, cut.size, handle);
}

extern "C" int sharp_coll_do_reduce_scatter_nb(sharp_coll_comm* comm, sharp_coll_reduce_spec* spec,
                                               void** handle) {
  const size_t window = spec->sbuf_desc.buffer.length;
  const size_t block = spec->rbuf_desc.buffer.length;
  const auto cut =
      sluice::stand_in::cut_of(comm->context.callbacks.rank(), block, spec->offset, window);
  if (window == 0 || !is_registered(comm->context, spec->sbuf_desc, window) ||
      !is_registered(comm->context, spec->rbuf_desc, cut.size)) {
    return SHARP_COLL_EINVAL;
  }
  auto request = std::make_unique<Request>();
  request->kind = Kind::reduce_scatter;
  request->type = spec->dtype;
  request->reduce_operator = spec->op;
  request->result = static_cast<std::byte*>(spec->rbuf_desc.buffer.ptr);
  request->result_bytes = cut.size;
  request->result_offset = cut.first;
  return start(*comm, std::move(request), spec->sbuf_desc.buffer.ptr, window, handle);
}

extern "C" int sharp_coll_req_test(void* handle) {
  auto* owner = static_cast<Handle*>(handle);
  if (!owner->request->done) owner->comm->group.progress();
  return owner->request->done ? 1 : 0;
}

extern "C" int sharp_coll_req_wait(void* handle) {
  while (sharp_coll_req_test(handle) == 0) {
  }
  const std::unique_ptr<Handle> owner(static_cast<Handle*>(handle));
  const std::unique_ptr<Request> request(owner->request);
  return request->status;
}

extern "C" const char* sharp_coll_strerror(int status) {
  switch (status) {
    case SHARP_COLL_SUCCESS:
      return "Success";
    case SHARP_COLL_ESESS_INIT:
      return "No session";
    case SHARP_COLL_EQUOTA:
      return "Quota exceeded";
    case SHARP_COLL_EOOB:
      return "Out-of-band error";
    case SHARP_COLL_EINVAL:
      return "Invalid argument";
    default:
      return "Error";
  }
}
