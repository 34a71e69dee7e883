// DevicePass: what the parts of a model share while one slab of rows goes through it.
//
// Parts queue kernels; nothing is computed here. Kernels read from the device how many rows there
// are; a launch covers as many as `shape` says, which may be more (decode_graphs.h).
//
// Borrows everything. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "block_tables.h"
#include "command_queue.h"
#include "device_weights.h"
#include "library_products.h"
#include "step_input.h"
#include "step_mailbox.h"

namespace forge::gpu {

/// How much the launches for a slab cover: what it has, or more; then the kernels find less.
struct SlabShape {
  PassCounts counts;
  std::uint32_t key_segments = 0;   ///< those of the longest context of a decode row
  std::uint32_t tile_segments = 0;  ///< likewise of a row in a tile
  std::uint32_t tile_rows = 0;      ///< rows of the longest tile
  LogitsUse logits_use = LogitsUse::largest;

  static SlabShape of(const Slab& slab);
};

/// A number of rows: kernels read it on the device, launches cover the most that it can be.
struct RowCount {
  const std::uint32_t* on_device = nullptr;
  std::uint32_t most = 0;
};

/// Where results go: y = m * result, or y += m * result where y is a residual stream.
struct Output {
  float* y = nullptr;
  bool accumulate = false;
  float multiplier = 1;
  float cap = 0;  ///< soft cap of y, of logits; 0: none
};

/// Where what is made of the rows with logits goes.
struct HeadResults {
  float* logits = nullptr;                    ///< [R][V], or null: nobody reads them
  sampling::BestToken* candidates = nullptr;  ///< [R][candidate_count(V)], or null
};

struct DevicePass {
  const SlabShape& shape;
  const PassCounts* counts;
  const RowInput* rows;
  const LogitInput* logits;
  const ProcessInput* processing;
  const PromptTile* tiles;
  const DeviceStep& step;
  const BlockTables& tables;
  std::byte* pool;  ///< KV of all blocks: model/kv_pool.h
  const float* rotary;
  const float* window_rotary;      ///< of layers with a window, where their RoPE is another one
  RowGroup* coded_rows;            ///< room for x of products with codes (device_weights.h)
  const LibraryProducts* library;  ///< of products of many rows; not used with canonical numerics
  CommandQueue& queue;

  RowCount decode_rows() const { return {&counts->decode_rows, shape.counts.decode_rows}; }
  RowCount all_rows() const { return {&counts->rows, shape.counts.rows}; }
  RowCount rows_with_logits() const { return {&counts->logit_rows, shape.counts.logit_rows}; }
};

/// Vectors of rows: [rows][vectors][stride], of which products read the first K.
struct Vectors {
  const float* x = nullptr;  ///< or null: `halves` are
  int vectors = 1;           ///< of a row
  int stride = 0;            ///< 0: K
  const void* halves = nullptr;
  numerics::HalfType type = {};  ///< of halves
};

/// Queues the rounding of x [K] to 8 bits, in the order of `section`, into pass.coded_rows.
void code_rows(const DevicePass& pass, const RowCount& rows, const Vectors& x, int inputs,
               const DeviceSection& section);

/// Calls body(section, coded) for each section of `matrix`, a DeviceMatrix or DeviceMatrices: coded
/// is x in 8 bits where the section's weights are codes, otherwise null. Sections whose inputs are
/// in one order share it.
template <class Matrix, class Body>
void for_each_section(const DevicePass& pass, const RowCount& rows, const Vectors& x,
                      const Matrix& matrix, const Body& body) {
  const DeviceSection* last = nullptr;  // for which x was coded
  for (const DeviceSection& section : matrix.sections) {
    const bool has_codes = linear::has_codes(section.kind);
    if (has_codes && (last == nullptr || last->order != section.order)) {
      code_rows(pass, rows, x, matrix.inputs, section);
      last = &section;
    }
    body(section, has_codes ? pass.coded_rows : nullptr);
  }
}

/// to = x [rows][K] times the matrix, plus its bias.
void project(const DevicePass& pass, const RowCount& rows, const float* x,
             const DeviceMatrix& matrix, const Output& to);

}  // namespace forge::gpu
