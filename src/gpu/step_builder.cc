#include "step_builder.h"

#include <algorithm>
#include <optional>

#include "forge/core/check.h"
#include "forge/executor/token_reporter.h"
#include "forge/sampling/pipeline.h"

namespace forge::gpu {
namespace {

template <class T>
std::uint32_t count_of(const std::vector<T>& list) {
  return static_cast<std::uint32_t>(list.size());
}

class Builder {
 public:
  Builder(const executor::StepSlices& step, const Capacity& capacity, StepInput& input)
      : step_(step), capacity_(capacity), input_(input) {}

  void add_said();
  void add_pass(const executor::Pass& pass);

 private:
  void add_row(const executor::RowRun& run, std::uint32_t position);
  void add_to_tile(const executor::RowRun& run, std::uint32_t position);
  void add_logits(const executor::RowRun& run, std::uint32_t position);
  void add_told(const executor::RowRun& run, std::uint32_t position);
  void add_processing(const executor::RowRun& run, std::optional<std::uint32_t> earlier);

  const executor::StepSlices& step_;
  const Capacity& capacity_;
  StepInput& input_;
};

/// What was said in each slice before its rows with logits, which share it.
void Builder::add_said() {
  for (const executor::StepSlice& slice : step_.all()) {
    ListRange range{.first = count_of(input_.adjustments)};
    for (const sampling::Adjustment& each : slice.sequence->said.list()) {
      if (slice.slice.samples && each.token < capacity_.vocabulary) {
        input_.adjustments.push_back(each);
      }
    }
    range.count = count_of(input_.adjustments) - range.first;
    input_.said.push_back(range);
    if (step_.passes_propose()) continue;
    for (const TokenId draft : step_.drafts(slice)) input_.known_drafts.push_back(draft.value);
  }
}

void Builder::add_pass(const executor::Pass& pass) {
  bool slab_is_open = false;
  const auto make_room = [&] {
    if (slab_is_open && input_.slabs.back().counts.rows < capacity_.slab_rows &&
        input_.slabs.back().counts.logit_rows < capacity_.slab_logits) {
      return;
    }
    input_.slabs.push_back({.pass = pass,
                            .counts = {},
                            .index = count_of(input_.slabs),
                            .first_row = count_of(input_.rows),
                            .first_logits = count_of(input_.logits),
                            .first_tile = count_of(input_.tiles)});
    slab_is_open = true;
  };
  for (const bool alone : {true, false}) {
    for (const executor::RowRun& run : step_.runs(pass)) {
      if ((run.count() == 1) != alone) continue;
      for (std::uint32_t position = run.first; position < run.end; ++position) {
        make_room();
        add_row(run, position);
      }
    }
  }
}

void Builder::add_row(const executor::RowRun& run, std::uint32_t position) {
  Slab& slab = input_.slabs.back();
  if (run.count() == 1) {
    ++slab.counts.decode_rows;
    slab.longest_decode = std::max(slab.longest_decode, position + 1);
  } else {
    add_to_tile(run, position);
  }
  const executor::StepSlice& slice = *run.slice;
  if (position >= run.first_logits) add_logits(run, position);

  RowInput row{.position = position, .table = slice.sequence->batch_row};
  if (step_.passes_propose() && position >= slice.known_end()) {
    row.draft = static_cast<std::int32_t>(slice.first_draft + slice.draft_of(position));
  } else {
    row.token = step_.token(slab.pass, slice, position).value;
  }
  input_.rows.push_back(row);
  ++slab.counts.rows;
}

/// To this slab's last tile, if the row is the one after its last and it has room, or a new one.
void Builder::add_to_tile(const executor::RowRun& run, std::uint32_t position) {
  Slab& slab = input_.slabs.back();
  if (position == run.first || slab.counts.prompt_tiles == 0 ||
      input_.tiles.back().count == capacity_.tile_rows) {
    input_.tiles.push_back({.first = slab.counts.rows, .count = 0});
    ++slab.counts.prompt_tiles;
  }
  const std::uint32_t rows = ++input_.tiles.back().count;
  slab.tile_rows = std::max(slab.tile_rows, rows);
  slab.longest_in_tile = std::max(slab.longest_in_tile, position + 1);
}

/// The token after `position` is picked: a draft, or the model's own. A draft's pick goes to where
/// the model's pick for the same position will follow it.
void Builder::add_logits(const executor::RowRun& run, std::uint32_t position) {
  const executor::StepSlice& slice = *run.slice;
  Slab& slab = input_.slabs.back();
  if (!slab.pass.proposes && capacity_.reads_logits) slab.use_logits(LogitsUse::read);
  if (!slab.pass.proposes && is_told(slice)) add_told(run, position);
  const bool picks =
      slab.pass.proposes || (slice.slice.samples && position + 1 >= slice.known_end());
  LogitInput logits{.row = slab.counts.rows, .pick = LogitInput::kPicksNothing};
  if (picks) {
    const SamplingParams& sampling = slice.sequence->request.sampling;
    const std::uint32_t i = slice.draft_of(position + 1);
    logits.seed = sampling.seed;
    logits.position = position + std::uint64_t{1};
    logits.temperature = sampling.temperature;
    if (sampling.temperature > 0) slab.use_logits(LogitsUse::read);
    logits.pick = slice.first_pick + i;
    if (slab.pass.proposes) logits.draft = static_cast<std::int32_t>(slice.first_draft + i);
  }
  input_.logits.push_back(logits);
  ++slab.counts.logit_rows;
  add_processing(run, picks ? std::optional(slice.draft_of(position + 1)) : std::nullopt);
}

void Builder::add_told(const executor::RowRun& run, std::uint32_t position) {
  Slab& slab = input_.slabs.back();
  slab.use_logits(LogitsUse::read);
  input_.told.push_back({.slab = slab.index,
                         .row = slab.counts.logit_rows,
                         .number = run.slice->first_logits + position - run.first_logits});
}

/// What happens to the logits that were added last, those after `earlier` drafts of the slice; to
/// those from which nothing is picked, nothing. A pass that proposes has no masks.
void Builder::add_processing(const executor::RowRun& run, std::optional<std::uint32_t> earlier) {
  const executor::StepSlice& slice = *run.slice;
  const SamplingParams& sampling = slice.sequence->request.sampling;
  std::optional<std::uint32_t> mask;
  if (earlier && !input_.slabs.back().pass.proposes) {
    mask = step_.masks().number(slice.first_pick + *earlier);
  }
  if (!earlier || !(sampling::processes(sampling) || mask)) {
    if (!input_.processing.empty()) input_.processing.emplace_back();
    return;
  }
  input_.slabs.back().use_logits(LogitsUse::processed);
  input_.processing.resize(input_.logits.size() - 1);  // nothing happened to those before
  const sampling::Penalties penalties = sampling::penalties_of(sampling);
  const ListRange said = input_.said[static_cast<std::size_t>(&slice - step_.all().data())];
  input_.processing.push_back({.filter = sampling::filter_of(sampling),
                               .penalties = penalties,
                               .first_adjustment = said.first,
                               .adjustment_count = said.count,
                               .first_draft = slice.first_draft,
                               .draft_count = penalties.any() ? *earlier : 0,
                               .mask = mask.value_or(ProcessInput::kNoMask)});
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
  FORGE_CHECK(step.masks().words().size() <= capacity.mask_words,
              "words of masks=", step.masks().words().size(), " of ", capacity.mask_words);
  FORGE_CHECK(tokens <= capacity.tokens, "tokens=", tokens, " max_batch_tokens=", capacity.tokens);
}

}  // namespace

void build_passes(const executor::StepSlices& step, const Capacity& capacity, StepInput& input) {
  check(step, capacity);
  Builder builder(step, capacity, input);
  builder.add_said();
  input.masks = step.masks().words();
  for (const executor::Pass& pass : step.passes()) builder.add_pass(pass);
}

}  // namespace forge::gpu
