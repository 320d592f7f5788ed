// SPDX-License-Identifier: Apache-2.0
// The part of libsharp_coll's interface that Sluice uses, for builds without the vendor's header.
//
// Names and meaning are those of sharp/api/sharp_coll.h (SHARP 3); numbers and layouts are ours.
// The real library must never be called with these structures: see api.h. What is known of the
// meaning comes from the two public users of the library: nccl-rdma-sharp-plugins
// (src/sharp_plugin.c) and UCC (src/components/tl/sharp).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum sharp_datatype {
  SHARP_DTYPE_UNSIGNED,
  SHARP_DTYPE_INT,
  SHARP_DTYPE_UNSIGNED_LONG,
  SHARP_DTYPE_LONG,
  SHARP_DTYPE_FLOAT,
  SHARP_DTYPE_DOUBLE,
  SHARP_DTYPE_FLOAT_SHORT,
  SHARP_DTYPE_BFLOAT16,
  SHARP_DTYPE_UINT8,
  SHARP_DTYPE_INT8,
  SHARP_DTYPE_NULL
};

enum sharp_reduce_op { SHARP_OP_MAX, SHARP_OP_MIN, SHARP_OP_SUM, SHARP_OP_NULL };

enum sharp_error_no {
  SHARP_COLL_SUCCESS = 0,
  SHARP_COLL_ERROR = -1,
  SHARP_COLL_ENOT_SUPP = -2,
  SHARP_COLL_ENOMEM = -3,
  SHARP_COLL_EGROUP_ALLOC = -4,
  SHARP_COLL_ECONN_TREE = -5,
  SHARP_COLL_EGROUP_JOIN = -6,
  SHARP_COLL_EQUOTA = -7,
  SHARP_COLL_ESESS_INIT = -8,
  SHARP_COLL_EDEV = -9,
  SHARP_COLL_EINVAL = -10,
  SHARP_COLL_EJOB_CREATE = -11,
  SHARP_COLL_ETREE_INFO = -12,
  SHARP_COLL_ENOTREE = -13,
  SHARP_COLL_EGROUP_ID = -14,
  SHARP_COLL_EOOB = -15,
  SHARP_COLL_EGROUP_MCAST = -16,
  SHARP_COLL_EGROUP_TRIM = -17,
  SHARP_COLL_ELOCK_FAILED = -18,
  SHARP_COLL_ELOCK_DENIED = -19,
  SHARP_COLL_ENO_RESOURCE = -20
};

enum sharp_aggregation_mode { SHARP_AGGREGATION_NONE };
enum sharp_data_buffer_type { SHARP_DATA_BUFFER };
enum sharp_data_memory_type { SHARP_MEM_TYPE_HOST, SHARP_MEM_TYPE_CUDA };
enum { SHARP_COLL_REG_FIELD_DMABUF_FD = 1, SHARP_COLL_REG_FIELD_DMABUF_OFFSET = 2 };

struct sharp_coll_context;
struct sharp_coll_comm;

struct sharp_coll_config {
  const char* ib_dev_list;
  int user_progress_num_polls;
};

struct sharp_coll_out_of_band_colls {
  int (*barrier)(void* context);
  int (*bcast)(void* context, void* buffer, int size, int root);
  int (*gather)(void* context, int root, void* send, void* receive, int size);
};

struct sharp_coll_init_spec {
  uint64_t job_id;
  int world_rank;
  int world_size;
  int world_local_rank;
  int group_channel_idx;
  int enable_thread_support;
  int (*progress_func)(void);
  struct sharp_coll_config config;
  struct sharp_coll_out_of_band_colls oob_colls;
  void* oob_ctx;
};

struct sharp_coll_comm_init_spec {
  int rank;
  int size;
  void* oob_ctx;
  const uint32_t* group_world_ranks;
};

struct sharp_coll_caps {
  struct {
    uint64_t dtypes;  // bit n: the data type numbered n
  } support_mask;
};

struct sharp_coll_data_desc {
  enum sharp_data_buffer_type type;
  enum sharp_data_memory_type mem_type;
  struct {
    void* ptr;
    size_t length;
    void* mem_handle;
  } buffer;
};

struct sharp_coll_reduce_spec {
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc;
  enum sharp_datatype dtype;
  enum sharp_reduce_op op;
  enum sharp_aggregation_mode aggr_mode;
  size_t length;
  size_t offset;
};

struct sharp_coll_gather_spec {
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc;
  enum sharp_datatype dtype;
  size_t size;
  size_t offset;
};

struct sharp_coll_reg_params {
  uint64_t field_mask;
  int dmabuf_fd;
  size_t dmabuf_offset;
};

extern const struct sharp_coll_config sharp_coll_default_config;

int sharp_coll_init(struct sharp_coll_init_spec* spec, struct sharp_coll_context** context);
int sharp_coll_finalize(struct sharp_coll_context* context);
int sharp_coll_caps_query(struct sharp_coll_context* context, struct sharp_coll_caps* caps);
int sharp_coll_comm_init(struct sharp_coll_context* context, struct sharp_coll_comm_init_spec* spec,
                         struct sharp_coll_comm** comm);
int sharp_coll_comm_destroy(struct sharp_coll_comm* comm);
int sharp_coll_reg_mr(struct sharp_coll_context* context, void* buffer, size_t size, void** mr);
int sharp_coll_reg_mr_v2(struct sharp_coll_context* context, void* buffer, size_t size,
                         const struct sharp_coll_reg_params* params, void** mr);
int sharp_coll_dereg_mr(struct sharp_coll_context* context, void* mr);
int sharp_coll_do_allreduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec,
                               void** request);
int sharp_coll_do_allgather_nb(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec,
                               void** request);
int sharp_coll_do_reduce_scatter_nb(struct sharp_coll_comm* comm,
                                    struct sharp_coll_reduce_spec* spec, void** request);
int sharp_coll_req_test(void* request);
int sharp_coll_req_wait(void* request);
const char* sharp_coll_strerror(int status);

}  // extern "C"
