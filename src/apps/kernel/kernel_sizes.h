// The kernels as forge-kernel and the benchmarks know them: names, and the sizes of a launch that
// each lets one choose.
//
// Thread contract: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/gpu/kernels.h"
#include "forge/quant/weight_type.h"

namespace forge::apps {

/// Sizes of a synthetic launch. A kernel uses those of its KernelEntry.
struct KernelSizes {
  int seqs = 4;       ///< sequences
  int context = 100;  ///< positions of each sequence, those of this launch included
  int rows = 8;       ///< rows of the pass, or of each sequence's chunk of prompt
  int heads = 8;
  int kv_heads = 2;
  int head_size = 64;
  int latent_size = 96;
  int rope_size = 32;
  int block_size = 16;
  int layers = 4;
  int hidden = 512;
  int outputs = 512;
  int mlp = 1408;
  int experts = 6;
  int experts_per_token = 2;
  int vocabulary = 4096;
  int pairs = 8;       ///< pairs of blocks to copy
  int writes = 64;     ///< writes to block tables
  int accumulate = 0;  ///< 1: add to what is there
  int temperature_percent = 80;
  int top_k = 40;
  int top_p_percent = 90;
  int window = 0;       ///< positions that a row sees; 0: all
  int rotary_size = 0;  ///< components of a head that turn; 0: all
  int adjacent = 0;     ///< 1: neighbours turn together
  int bias = 0;         ///< 1: added to a product
  int groups = 1;       ///< vectors of a row that are normalized one by one
  int weights = 0;      ///< quant::WeightType
  int kv = 0;           ///< numerics::KvType
  int norms = 0;        ///< of queries and keys, 0: none, 1: of each head, 2: of all heads
  int activation = 0;   ///< gpu::GluFunction::Kind
  int sinks = 0;        ///< 1: heads of attention have sinks
  int shared_gate = 0;  ///< 1: what shared experts made has a gate
  int cap = 0;          ///< soft cap of results, or of scores; 0: none
  int candidates = 0;   ///< 1: of each 8 logits the largest (gpu/kernels/candidates.h)
};

/// A size as a flag.
struct SizeFlag {
  const char* name;  ///< "--kv-heads"
  const char* help;
  int KernelSizes::*member;
  int low;
  int high;
};
const std::vector<SizeFlag>& size_flags();

/// A kernel that moves 16 bytes at once, or a tile of a matrix, has no tail in that direction.
struct SizeMultiple {
  int KernelSizes::*size;
  int of;
};

struct KernelEntry {
  gpu::KernelId id;
  const char* alias;  ///< a name from the literature, or ""
  const char* what;
  std::vector<int KernelSizes::*> sizes;     ///< the sizes that it has a use for
  std::vector<SizeMultiple> multiples = {};  ///< those of them that are a multiple of something
  std::string_view name() const { return gpu::name(id); }
};
/// All kernels, in the order of gpu::KernelId.
const std::vector<KernelEntry>& kernel_entries();

/// The kernel with this name or alias. Errors: name it and all kernels that there are.
tl::expected<const KernelEntry*, std::string> find_kernel(const std::string& name);

/// The type of codes that KernelSizes::weights means; where it means floats, Q8_0.
quant::WeightType code_type(int weights);

/// The flag of a size. Requires: it is one of size_flags().
const SizeFlag& flag_of(int KernelSizes::*size);

/// Most memory that the buffers of a launch may take.
inline constexpr std::uint64_t kKernelBytesMax = std::uint64_t{1} << 30;

/// Errors: what flags cannot check one by one; they name flags, values and what is accepted.
tl::expected<void, std::string> validate(const KernelEntry& kernel, const KernelSizes& sizes);

/// "4 seqs, context 100, 8 heads, ...": the sizes that the kernel uses.
std::string to_string(const KernelEntry& kernel, const KernelSizes& sizes);

}  // namespace forge::apps
