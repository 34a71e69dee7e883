// PagedAttention: attention as libraries offer it, over pages of keys and values that lists name.
// What FlashInfer (peers_flashinfer.h) is called through, so that all but its own calls can be
// tested without it.
//
//   query_begins    [requests + 1]  rows of request i: query_begins[i] .. query_begins[i + 1] - 1
//   page_begins     [requests + 1]  its pages: pages[page_begins[i]], ...
//   pages           page numbers, one request after the other
//   last_page_rows  [requests]      positions in the last page of each, at least 1
//
// The rows of a request are its last positions, and each attends over all up to its own.
//
// A page is a block of ours: position j of a request is entry j % S of its page j / S, and
// component d of its key in KV head h is keys[page page_stride + h head_stride + entry D + d].
//
// This header includes nothing of the project: FlashInfer is compiled with flags that would change
// the bits of what is inline there.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace forge {

/// Where keys and values lie, in device memory; numbers of bf16, strides counted in these.
struct PagedCache {
  void* keys = nullptr;    ///< of page 0 in layer 0
  void* values = nullptr;  ///< likewise
  std::int64_t page_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t layer_stride = 0;
  int page_size = 0;  ///< S
  int layers = 0;
  int heads = 0;  ///< of queries
  int kv_heads = 0;
  int head_size = 0;  ///< D
  float scale = 0;    ///< factor of the scores
};

struct PageLists {
  std::vector<std::int32_t> query_begins;
  std::vector<std::int32_t> page_begins;
  std::vector<std::int32_t> pages;
  std::vector<std::int32_t> last_page_rows;
};

/// A batch: the lists on the host, the same on the device, and its rows there.
struct PagedBatch {
  const PageLists& on_host;
  std::int32_t* query_begins;
  std::int32_t* page_begins;
  std::int32_t* pages;
  std::int32_t* last_page_rows;
  void* queries;  ///< [rows][H D] of bf16
  void* out;      ///< likewise
};

/// Memory that a library wants for its plans and for what it splits.
struct PagedWorkspace {
  struct Bytes {
    std::size_t floats = 0;  ///< of the device
    std::size_t plan = 0;    ///< of the device, and as many pinned
  };
  Bytes bytes;
  void* floats = nullptr;
  void* plan = nullptr;
  void* pinned = nullptr;
};

class PagedAttention {
 public:
  virtual ~PagedAttention() = default;

  /// Makes `batch`, which stays where it is, the one that runs.
  virtual tl::expected<void, std::string> plan(const PagedBatch& batch) = 0;
  /// Runs over a layer, and waits.
  virtual tl::expected<void, std::string> run(int layer) = 0;
  /// Microseconds of one of `launches` in a row, layer after layer, in a graph: a median.
  virtual tl::expected<double, std::string> time_us(int launches) = 0;
};

}  // namespace forge
