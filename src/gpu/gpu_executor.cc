#include "forge/gpu/gpu_executor.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "allocator.h"
#include "block_tables.h"
#include "capacity.h"
#include "command_queue.h"
#include "copy_runs.h"
#include "decode_graphs.h"
#include "device_model.h"
#include "fast_shapes.h"
#include "forge/core/check.h"
#include "forge/executor/kv_guard.h"
#include "forge/executor/sequence_table.h"
#include "forge/executor/step_answer.h"
#include "forge/executor/step_slices.h"
#include "forge/executor/token_reporter.h"
#include "step_builder.h"
#include "step_mailbox.h"

namespace forge::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Adds its lifetime to the host's time, less what the host waits in it.
class HostTime {
 public:
  explicit HostTime(GpuStatistics& statistics)
      : statistics_(statistics), waited_before_(statistics.wait_us) {}
  ~HostTime() {
    const double waited = statistics_.wait_us - waited_before_;
    statistics_.host_us += microseconds_since(start_) - waited;
  }
  HostTime(const HostTime&) = delete;
  HostTime& operator=(const HostTime&) = delete;

 private:
  GpuStatistics& statistics_;
  double waited_before_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

struct GpuExecutor::State {
  /// Where steps run, memory is taken and uploads are queued.
  struct Place {
    Device& device;
    LibraryReport library;
    std::unique_ptr<Stream> stream;
    Allocator& allocator;
    CommandQueue& queue;
  };
  State(Place place, const GpuModels& models, const executor::ExecutorOptions& with,
        const GpuOptions& gpu, std::unique_ptr<executor::Drafter> drafts);

  void keep_books(const StepPlan& plan);
  Status queue(const StepPlan& plan);
  void make_room_for_told();
  void queue_step(const SlabShape* bucket, CommandQueue& queue);
  Status queue_by_graph(const DecodeGraphs::Bucket& bucket);
  Status queue_directly();
  Status wait_for(StepId step);
  Status drain();
  tl::expected<void, ExecutionError> fail(const StepPlan& plan, DeviceError error);
  void answer_slices(const StepPlan& plan, StepResult& result);

  /// The device has nothing to do for it.
  static bool is_empty(const StepPlan& plan) { return plan.slices.empty() && plan.copies.empty(); }

  const DeviceModel& running(executor::PassModel which) const {
    return which == executor::PassModel::draft ? *draft_model : model;
  }

  Device& device;
  const LibraryReport library;
  const executor::ExecutorOptions options;
  const GpuOptions gpu_options;
  const Capacity capacity;

  // Of the sequences, on the host.
  std::unique_ptr<executor::Drafter> drafter;
  executor::SequenceTable sequences;
  executor::StepSlices step;
  executor::KvGuard guard;
  executor::StepAnswer answer;
  executor::TokenReporter reporter;

  // On the device.
  std::unique_ptr<Stream> stream;
  DeviceModel model;
  std::optional<DeviceModel> draft_model;
  BlockTables tables;
  StepMailbox mailbox;
  DecodeGraphs graphs;

  // Of the step at hand.
  StepInput input;
  CopyRuns copy_runs;
  std::span<const CopyRun> copies;
  std::vector<float> told_logits;         // [StepInput::told][V]
  std::vector<std::uint32_t> told_place;  // [logits of the step] where those told are among these

  std::optional<Status> started;    // the step at hand is queued, or could not be
  bool idle = true;                 // nothing is queued
  std::optional<DeviceError> lost;  // no step can succeed any more
  GpuStatistics statistics;
};

GpuExecutor::State::State(Place place, const GpuModels& models,
                          const executor::ExecutorOptions& with, const GpuOptions& gpu,
                          std::unique_ptr<executor::Drafter> drafts)
    : device(place.device),
      library(std::move(place.library)),
      options(with),
      gpu_options(gpu),
      capacity(models.model.config(), with,
               terms_of(models, gpu, place.device.info().shared_bytes)),
      drafter(drafts
                  ? std::move(drafts)
                  : make_drafter(with, models.draft
                                           ? std::optional(models.draft->config().vocabulary_size)
                                           : std::nullopt)),
      sequences({with.cache.num_blocks, with.cache.block_size, models.model.config().positions},
                with.grammars),
      guard(with, models.model.config().layers,
            models.draft ? std::optional(models.draft->config().layers) : std::nullopt),
      answer(with, *drafter),
      stream(std::move(place.stream)),
      model(models.model, with, capacity, {place.allocator, place.queue, library}),
      tables(capacity, place.allocator),
      mailbox(capacity, place.allocator),
      graphs(capacity),
      input(capacity),
      copy_runs(with.cache.num_blocks, with.cache.num_host_blocks, capacity.pairs) {
  if (!models.draft) return;
  const Capacity of_draft(models.draft->config(), with,
                          terms_of(models, gpu, capacity.shared_bytes));
  draft_model.emplace(*models.draft, with, of_draft,
                      ModelPlace{place.allocator, place.queue, library});
}

// ---- Creation -----------------------------------------------------------------------------------

std::string to_string(const CreateError& error) {
  if (const auto* device = std::get_if<DeviceError>(&error)) return to_string(*device);
  const model::PackFault& fault = std::get<WeightsError>(error).fault;
  return std::holds_alternative<linear::ReadFault>(fault) ? "weights cannot be read"
                                                          : "weights are not finite";
}

tl::expected<std::unique_ptr<GpuExecutor>, CreateError> GpuExecutor::create(
    Device& device, const GpuModels& models, const executor::ExecutorOptions& options,
    const GpuOptions& gpu, std::unique_ptr<executor::Drafter> drafter) {
  const model::ModelConfig& target = models.model.config();
  const auto valid = validate(options, target.layers);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  FORGE_CHECK(!models.draft || models.draft->config().vocabulary_size <= target.vocabulary_size,
              "vocabulary of the draft=", models.draft->config().vocabulary_size,
              " of the model=", target.vocabulary_size);
  if (auto fits = fits_fast(models, options.kv_type, device.info()); !fits) {
    return tl::unexpected(CreateError(fits.error()));
  }
  auto library = try_library(device, models, Capacity(target, options, terms_of(models, gpu)));
  if (!library) return tl::unexpected(CreateError(library.error()));
  auto stream = device.create_stream();
  if (!stream) return tl::unexpected(CreateError(stream.error()));
  CommandQueue queue(**stream);
  Allocator allocator(device);
  auto state = std::make_unique<State>(
      State::Place{device, *std::move(library), std::move(*stream), allocator, queue}, models,
      options, gpu, std::move(drafter));
  if (!allocator.status()) return tl::unexpected(CreateError(allocator.status().error()));
  if (!queue.status()) return tl::unexpected(CreateError(queue.status().error()));
  if (state->model.fault()) return tl::unexpected(WeightsError{false, *state->model.fault()});
  if (state->draft_model && state->draft_model->fault()) {
    return tl::unexpected(WeightsError{true, *state->draft_model->fault()});
  }
  return std::unique_ptr<GpuExecutor>(new GpuExecutor(std::move(state)));
}

GpuExecutor::GpuExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuExecutor::~GpuExecutor() = default;
const model::WeightsDigest& GpuExecutor::weights_digest(executor::PassModel which) const {
  return state_->running(which).digest();
}
const SpeculationStatistics& GpuExecutor::speculation() const {
  return state_->answer.speculation();
}
const GpuStatistics& GpuExecutor::statistics() const { return state_->statistics; }
const LibraryReport& GpuExecutor::library() const { return state_->library; }

// ---- A step -------------------------------------------------------------------------------------

std::optional<std::string> GpuExecutor::refuses(const Request& request) const {
  return state_->sequences.refuses(request);
}
void GpuExecutor::begin(SeqId seq, const Request& request) {
  state_->sequences.begin(seq, request);
}
tl::expected<void, std::string> GpuExecutor::resume(SeqId seq, const Request& request,
                                                    const PastRun& past) {
  return state_->answer.resume(state_->sequences.begin(seq, request), past);
}

void GpuExecutor::start(const StepPlan& plan) {
  State& state = *state_;
  const HostTime time(state.statistics);
  state.keep_books(plan);
  state.started = state.queue(plan);
  if (*state.started && !state.gpu_options.overlap) state.started = state.drain();
}

tl::expected<void, ExecutionError> GpuExecutor::execute(const StepPlan& plan, StepResult& result) {
  State& state = *state_;
  if (!state.started) start(plan);
  const HostTime time(state.statistics);
  Status ran = *std::exchange(state.started, std::nullopt);
  if (ran && !state.is_empty(plan)) ran = state.wait_for(plan.step);
  if (!ran) return state.fail(plan, ran.error());
  state.answer_slices(plan, result);
  ++state.statistics.steps;
  return {};
}

tl::expected<void, std::string> GpuExecutor::reopen() {
  State& state = *state_;
  state.started.reset();
  const Status drained = state.lost ? tl::unexpected(*state.lost) : state.drain();
  if (!drained) return tl::unexpected(to_string(drained.error()));
  state.sequences.lose_kv();
  state.guard.lose_kv();
  state.drafter->lose_kv();
  state.tables.distrust();
  return {};
}

/// What has to be done whether or not the step succeeds (executor.h), and the step as rows. Touches
/// no memory that the device may still be reading.
void GpuExecutor::State::keep_books(const StepPlan& plan) {
  sequences.apply(plan);
  step.begin(plan, sequences, *drafter);
  input.clear();
  tables.collect(step, input.writes);
  copies = copy_runs.cut(plan.copies, input.pairs);
  build_passes(step, capacity, input);
}

/// Queues the step.
Status GpuExecutor::State::queue(const StepPlan& plan) {
  if (lost) return tl::unexpected(*lost);
  if (auto drained = drain(); !drained) return drained;
  if (is_empty(plan)) return {};
  idle = false;
  make_room_for_told();
  std::optional<DecodeGraphs::Bucket> bucket;
  if (gpu_options.graphs && !tables.upload_whole()) bucket = graphs.bucket_of(input);
  mailbox.pack(plan.step, input, bucket ? bucket->sizes : StepSizes::of(input));
  return bucket ? queue_by_graph(*bucket) : queue_directly();
}

/// For the logits that requests want to be told of. Requires: nothing is queued.
void GpuExecutor::State::make_room_for_told() {
  if (input.told.empty()) return;
  told_logits.resize(input.told.size() * capacity.vocabulary);
  told_place.resize(step.logits_count());
  for (std::uint32_t i = 0; i < input.told.size(); ++i) told_place[input.told[i].number] = i;
}

/// Queues all that the step needs, copies both ways included.
void GpuExecutor::State::queue_step(const SlabShape* bucket, CommandQueue& queue) {
  DeviceStep on_device = mailbox.device_step();
  mailbox.upload(queue);
  const auto writes = static_cast<std::uint32_t>(input.writes.size());
  tables.update(sequences, on_device, bucket != nullptr ? bucket->counts.rows : writes, queue);
  for (const CopyRun& run : copies) {
    model.copy_blocks(run, on_device, queue);
    if (draft_model) draft_model->copy_blocks(run, on_device, queue);
  }
  std::span<const ToldLogits> told = input.told;
  on_device.told_logits = told_logits.data();
  for (const Slab& slab : input.slabs) {
    const auto count = static_cast<std::size_t>(
        std::ranges::count(told, slab.index, [](const ToldLogits& each) { return each.slab; }));
    on_device.told = told.first(count);
    running(slab.pass.model)
        .run(slab, bucket != nullptr ? *bucket : SlabShape::of(slab), on_device, tables, queue);
    told = told.subspan(count);
    on_device.told_logits += count * capacity.vocabulary;
  }
  mailbox.download(queue);
}

Status GpuExecutor::State::queue_directly() {
  CommandQueue queue(*stream, gpu_options.overlap);
  queue_step(nullptr, queue);
  statistics.launches += queue.launches();
  return queue.status();
}

Status GpuExecutor::State::queue_by_graph(const DecodeGraphs::Bucket& bucket) {
  DecodeGraphs::Entry& entry = graphs.entry(bucket);
  if (entry.graph == nullptr) {
    if (auto begun = stream->begin_capture(); !begun) return begun;
    CommandQueue queue(*stream, gpu_options.overlap);
    queue_step(&bucket.shape, queue);
    auto captured = stream->end_capture();  // also when the capture is of no use
    if (!queue.status()) return queue.status();
    if (!captured) return tl::unexpected(captured.error());
    entry = {std::move(*captured), queue.launches()};
    ++statistics.graphs_captured;
  }
  ++statistics.graph_steps;
  statistics.launches += entry.launches;
  return stream->launch(*entry.graph);
}

Status GpuExecutor::State::wait_for(StepId awaited) {
  if (auto drained = drain(); !drained) return drained;
  const std::optional<StepId> arrived = mailbox.arrived();
  if (arrived == awaited) return {};
  const std::string found = arrived ? "that of step " + std::to_string(arrived->value) : "none";
  return tl::unexpected(DeviceError{.call = "download",
                                    .message = "the result of step " +
                                               std::to_string(awaited.value) +
                                               " was waited for, and " + found + " has arrived",
                                    .device = device.info().name});
}

/// Waits until nothing is queued, so that the host's buffers may be used again.
Status GpuExecutor::State::drain() {
  if (idle) return {};
  const Clock::time_point start = Clock::now();
  Status done = stream->synchronize();
  statistics.wait_us += microseconds_since(start);
  idle = done.has_value();
  return done;
}

/// The step has failed by `error`.
tl::expected<void, ExecutionError> GpuExecutor::State::fail(const StepPlan& plan,
                                                            DeviceError error) {
  tables.distrust();
  guard.forget(plan, step);
  drafter->forget(step);
  if (!error.lost) {
    const Status drained = drain();  // if it fails, the next step tries again
    if (!drained && drained.error().lost) error = drained.error();
  }
  if (error.lost && !lost) lost = error;
  return tl::unexpected(ExecutionError{
      "step " + std::to_string(plan.step.value) + ": " + to_string(error), error.lost});
}

void GpuExecutor::State::answer_slices(const StepPlan& plan, StepResult& result) {
  for (std::uint32_t i = 0; step.passes_propose() && i < step.draft_count(); ++i) {
    step.drafts()[i] = TokenId(mailbox.drafts()[i]);
  }
  guard.copy(plan);
  for (const executor::Pass& pass : step.passes()) guard.run(step, pass);

  result.clear();
  result.step = plan.step;
  for (const executor::StepSlice& slice : step.all()) {
    const auto pick = [&](std::uint32_t i) -> std::optional<TokenId> {
      const std::uint32_t number = slice.first_pick + i;
      const std::uint32_t token = mailbox.picks()[number];
      const bool is_masked = step.masks().failure(number) == FinishSignal::none;
      if (token == SampleArgs::kNoPick || !is_masked) return std::nullopt;
      return TokenId(token);
    };
    const auto ends = [&](TokenId token) { return answer.ends(*slice.sequence, token); };
    const Verification verdict =
        slice.slice.samples ? verify_by_picks(step.drafts(slice), pick, ends) : Verification();
    if (is_told(slice)) {
      const auto logits_of = [&](std::uint32_t number) {
        return std::span<const float>(told_logits)
            .subspan(std::size_t{told_place[number]} * capacity.vocabulary, capacity.vocabulary);
      };
      reporter.report(step, slice, verdict, logits_of, result);
    }
    const std::uint32_t tokens = answer.accept(step, slice, verdict, result);
    if (!options.digest_logits) continue;
    for (std::uint32_t i = 0; i < tokens; ++i) {
      result.logits.push_back(mailbox.digests()[slice.first_pick + i]);
    }
  }
}

}  // namespace forge::gpu
