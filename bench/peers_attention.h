// Attention in the section "peers" (peers.h): which batches are measured, what each level
// (peers_levels.h) takes for them, and whether the bits of a request survive a change of batch.
//
//   decode    B sequences of a context, a row each
//   prefill   the last `rows` positions of one sequence: a whole prompt, or a chunk of one
//
// The same request is then computed in other company, and its bits are compared:
//
//   decode    alone; between neighbours of other lengths, in a batch of four
//   prefill   in three chunks, of which one has five rows; after another request's chunk
//
// What a level cannot do is said in place of its numbers. Differences between levels are those of
// all results on the same data.
//
// Thread contract: as the device.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "forge/core/names.h"
#include "peers_bits.h"
#include "peers_levels.h"

namespace forge {

struct AttentionSizes {
  AttentionShape shape;
  std::vector<std::uint32_t> batches{1, 16, 64};
  std::vector<std::uint32_t> contexts{2048, 8192};
  std::uint32_t prompt = 8192;
  std::uint32_t chunk = 512;  ///< rows, the last ones of such a prompt
  int decode_launches = 32;   ///< in a graph
  int prefill_launches = 2;
  /// Launches go through this much of keys and values, more than any cache of a device has, before
  /// they meet the same again; each has a layer of its own at most.
  std::uint64_t read_bytes = std::uint64_t{1} << 28;
};

struct AttentionCase {
  enum class Phase : std::uint8_t { decode, prefill };
  Phase phase = Phase::decode;
  std::uint32_t batch = 1;
  std::uint32_t context = 1;  ///< positions of each sequence
  std::uint32_t rows = 1;     ///< of each, that attend

  AttentionBatch requests() const;
  friend bool operator==(const AttentionCase&, const AttentionCase&) = default;
};
constexpr Names<AttentionCase::Phase> names_of(AttentionCase::Phase) {
  return {"decode", "prefill"};
}

std::vector<AttentionCase> attention_cases(const AttentionSizes& sizes);

/// A batch with some rows of the first request of a case: rows first .. first + count - 1 of its
/// results are to be rows of_case .. of the case's.
struct Company {
  AttentionBatch batch;
  std::uint32_t first = 0;
  std::uint32_t of_case = 0;
  std::uint32_t count = 1;
};
std::vector<Company> companies_of(const AttentionCase& of);

/// What is measured of a level.
struct AttentionResult {
  AttentionCase of;
  std::string level;
  std::string not_run;  ///< why, if it was not
  double us = 0;
  BitComparison company;                  ///< of the request in other company
  std::optional<double> from_definition;  ///< the largest difference
  std::optional<double> from_ours;
};

/// Levels of a phase, the first two of which are own_levels().
using LevelsOf = std::function<std::vector<LevelMaker>(AttentionCase::Phase)>;

/// Measures all cases, and tells of each level when it is done.
void measure_attention(gpu::Device& device, const AttentionSizes& sizes, const LevelsOf& levels,
                       const std::function<void(const AttentionResult&)>& tell);

/// Bytes of keys and values that a decode cannot but read, per time; operations that a prefill
/// cannot but do.
double gb_per_s(const AttentionShape& shape, const AttentionResult& result);
double tflops(const AttentionShape& shape, const AttentionResult& result);

nlohmann::ordered_json to_json(const AttentionShape& shape, const AttentionResult& result);
std::string attention_heading();
std::string to_text(const AttentionShape& shape, const AttentionResult& result);

}  // namespace forge
