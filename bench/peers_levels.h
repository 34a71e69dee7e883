// AttentionLevel: one way to compute the attention of a batch over a cache. Three of them are
// compared:
//
//   definition   canonical kernels: attend_split and attend_merge, or attend_prompt. Floats, in the
//                order of numerics/attention.h, from keys and values in bf16
//   ours         fast numerics: attend_spans, attend_wide and merge_spans, by the executor's own
//                rules (src/gpu/attention_path.h)
//   theirs       a library, through PagedAttention
//
// Queries are bf16, which the definition widens. Its results are floats, those of the others bf16.
//
// Thread contract: as the device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "peers_cache.h"

namespace forge {

class AttentionLevel {
 public:
  virtual ~AttentionLevel() = default;

  /// Makes `batch` the one that runs. Errors: why it cannot.
  virtual tl::expected<void, std::string> plan(const AttentionBatch& batch) = 0;
  /// Results over the first layer, widened: [rows][H D].
  virtual tl::expected<std::vector<float>, std::string> attend() = 0;
  /// Microseconds of one of `launches` in a row, layer after layer, in a graph: a median.
  virtual tl::expected<double, std::string> time_us(int launches) = 0;
};

/// A level by name, which is made for a cache that outlives it.
struct LevelMaker {
  using Made = tl::expected<std::unique_ptr<AttentionLevel>, std::string>;

  std::string name;
  std::function<Made(gpu::Device&, const PeerCache&)> make;
};

/// "definition" and "ours".
std::vector<LevelMaker> own_levels();

/// What a library computes, or why it is not there.
using MadePaged = tl::expected<std::unique_ptr<PagedAttention>, std::string>;
LevelMaker paged_level(std::string name, const PagedWorkspace::Bytes& workspace,
                       std::function<MadePaged(const PagedCache&, const PagedWorkspace&)> make);

}  // namespace forge
