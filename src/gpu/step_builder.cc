#include "step_builder.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::gpu {
namespace {

template <class T>
std::uint32_t count_of(const std::vector<T>& list) {
  return static_cast<std::uint32_t>(list.size());
}

/// Is the row that is added next the one after the last of this chunk's last tile, and has that
/// tile room?
bool continues_tile(const StepInput& input, const executor::SliceRows& rows,
                    std::uint32_t position) {
  const PassChunk& chunk = input.chunks.back();
  return position > rows.first && chunk.counts.prompt_tiles > 0 &&
         input.tiles.back().count < PromptTile::kMaxRows;
}

class Builder {
 public:
  Builder(const executor::StepSlices& step, const Capacity& capacity, StepInput& input)
      : step_(step), capacity_(capacity), input_(input) {}

  void add_pass(std::uint32_t pass);

 private:
  void add_row(const executor::StepSlice& slice, const executor::SliceRows& rows,
               std::uint32_t position);
  void add_logits(const executor::StepSlice& slice, std::uint32_t position);

  const executor::StepSlices& step_;
  const Capacity& capacity_;
  StepInput& input_;
};

void Builder::add_pass(std::uint32_t pass) {
  bool chunk_is_open = false;
  const auto make_room = [&] {
    if (chunk_is_open && input_.chunks.back().counts.rows < capacity_.chunk_rows) return;
    input_.chunks.push_back({.counts = {},
                             .index = count_of(input_.chunks),
                             .first_row = count_of(input_.rows),
                             .first_logits = count_of(input_.logits),
                             .first_tile = count_of(input_.tiles),
                             .is_target = pass == step_.draft_passes()});
    chunk_is_open = true;
  };
  for (const bool alone : {true, false}) {
    for (const executor::StepSlice& slice : step_.all()) {
      const executor::SliceRows rows = step_.rows(slice, pass);
      if ((rows.count() == 1) != alone) continue;
      for (std::uint32_t position = rows.first; position < rows.end; ++position) {
        make_room();
        add_row(slice, rows, position);
      }
    }
  }
}

void Builder::add_row(const executor::StepSlice& slice, const executor::SliceRows& rows,
                      std::uint32_t position) {
  PassChunk& chunk = input_.chunks.back();
  if (rows.count() == 1) {
    ++chunk.counts.decode_rows;
    chunk.longest_decode = std::max(chunk.longest_decode, position + 1);
  } else if (continues_tile(input_, rows, position)) {
    ++input_.tiles.back().count;
  } else {
    input_.tiles.push_back({.first = chunk.counts.rows, .count = 1});
    ++chunk.counts.prompt_tiles;
  }
  if (position >= rows.first_logits) add_logits(slice, position);

  const std::uint32_t known_end = slice.known_end();
  const bool known = position < known_end;
  input_.rows.push_back(
      {.token = known ? slice.sequence->tokens[position].value : 0,
       .draft = known ? RowInput::kNoDraft
                      : static_cast<std::int32_t>(slice.first_draft + position - known_end),
       .position = position,
       .table = slice.sequence->batch_row});
  ++chunk.counts.rows;
}

/// The token after `position` is picked: a draft, or the target's own. A draft's pick goes to where
/// the target's pick for the same position will follow it.
void Builder::add_logits(const executor::StepSlice& slice, std::uint32_t position) {
  PassChunk& chunk = input_.chunks.back();
  const SamplingParams& sampling = slice.sequence->request.sampling;
  const std::uint32_t i = position + 1 - slice.known_end();
  input_.logits.push_back({.seed = sampling.seed,
                           .position = position + std::uint64_t{1},
                           .row = chunk.counts.rows,
                           .draft = chunk.is_target
                                        ? RowInput::kNoDraft
                                        : static_cast<std::int32_t>(slice.first_draft + i),
                           .pick = slice.first_pick + i,
                           .temperature = sampling.temperature});
  ++chunk.counts.logit_rows;
}

void check(const executor::StepSlices& step, const Capacity& capacity) {
  FORGE_CHECK(step.all().size() <= capacity.slices, "slices=", step.all().size(),
              " max_batch_size=", capacity.slices);
  FORGE_CHECK(step.draft_count() <= capacity.drafts && step.pick_count() <= capacity.picks,
              "drafts=", step.draft_count(), " of ", capacity.drafts, ", picks=", step.pick_count(),
              " of ", capacity.picks);
  std::uint64_t tokens = 0;
  for (const executor::StepSlice& slice : step.all()) {
    const std::uint32_t end = slice.slice.first + slice.slice.count;
    FORGE_CHECK(end <= capacity.positions, "positions=", end, " max=", capacity.positions);
    tokens += slice.slice.count;
  }
  FORGE_CHECK(tokens <= capacity.tokens, "tokens=", tokens, " max_batch_tokens=", capacity.tokens);
}

}  // namespace

void build_passes(const executor::StepSlices& step, const Capacity& capacity, StepInput& input) {
  check(step, capacity);
  Builder builder(step, capacity, input);
  for (std::uint32_t pass = 0; pass <= step.draft_passes(); ++pass) builder.add_pass(pass);
}

}  // namespace forge::gpu
