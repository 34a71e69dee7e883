#include "model_bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "forge/linear/machine_limits.h"
#include "forge/linear/product.h"
#include "forge/numerics/philox.h"

namespace forge::apps {
namespace {

constexpr int kPromptTokens = 512;
constexpr int kContextTokens = 128;
constexpr std::array kBatchSizes = {1, 2, 4, 8, 16, 32};
constexpr int kBlockSize = 16;
constexpr double kSecondsOfCase = 3;  // passes are repeated until then, at least kPassesMin times
constexpr std::size_t kPassesMin = 3;
constexpr std::size_t kPassesMax = 20;

/// The linear layers of a forward pass, to be counted.
struct Products {
  double weights = 0;       ///< that every row meets
  double head_weights = 0;  ///< that rows with logits meet
};

double size_of(const linear::LinearWeights& w) {
  return static_cast<double>(w.inputs()) * w.outputs();
}

/// The weights that a token meets in a part of a layer.
template <class Part>
double weights_of(const Part& part) {
  double weights = 0;
  for_each_matrix(part, [&](const auto& matrix) { weights += size_of(matrix); });
  return weights;
}
double weights_of(const model::PackedExperts& mlp) {
  return size_of(mlp.router) + (mlp.shared ? weights_of(*mlp.shared) : 0) +
         mlp.config.experts_per_token * weights_of(mlp.experts.front());
}

Products products_of(const model::PackedModel& model) {
  Products products{.weights = 0, .head_weights = size_of(model.head)};
  const auto add = [&](const auto& part) { products.weights += weights_of(part); };
  for (const model::PackedModelLayer& layer : model.layers) {
    std::visit(add, layer.attention);
    std::visit(add, layer.mlp);
  }
  return products;
}

/// The kind of panels that most bytes of the first layer are.
linear::PanelKind main_kind(const model::PackedModel& model) {
  linear::PanelKind kind = model.head.sections().front().kind;
  std::size_t most = 0;
  const auto look = [&](const linear::LinearWeights& weights) {
    for (const linear::Section& section : weights.sections()) {
      const std::size_t bytes =
          section.panel_bytes * static_cast<std::size_t>(section.panel_count());
      if (bytes > most) std::tie(most, kind) = std::pair(bytes, section.kind);
    }
  };
  const auto& mlp = model.layers.front().mlp;
  if (const auto* dense = std::get_if<model::PackedMlp>(&mlp)) look(dense->gate_up);
  if (const auto* experts = std::get_if<model::PackedExperts>(&mlp)) {
    look(experts->experts.front().gate_up);
  }
  return kind;
}

/// Sequences that share nothing, each with blocks for a prompt and what it decodes.
class Passes {
 public:
  Passes(const runtime::LoadedModel& model, numerics::KvType kv_type, int prompt, int sequences)
      : model_(model),
        blocks_of_sequence_((prompt + kBlockSize) / kBlockSize + 1),
        pool_(kv_shape(model.config()), static_cast<std::uint32_t>(blocks_of_sequence_ * sequences),
              kBlockSize, kv_type),
        scratch_(model.config(), model.threads()),
        logits_(static_cast<std::size_t>(model.config().vocabulary_size) *
                static_cast<std::size_t>(sequences)) {
    blocks_.resize(pool_.num_blocks());
    std::iota(blocks_.begin(), blocks_.end(), 0U);
    const auto blocks = static_cast<std::size_t>(blocks_of_sequence_);
    for (std::size_t first = 0; first < blocks_.size(); first += blocks) {
      tables_.push_back(std::span<const std::uint32_t>(blocks_).subspan(first, blocks));
    }
  }

  /// `tokens` of the first sequence, in one pass, with the last one's logits.
  void prefill(int tokens) {
    begin();
    for (int i = 0; i < tokens; ++i) add(0, i);
    logit_rows_.push_back(static_cast<std::uint32_t>(tokens - 1));
    run();
  }

  /// Every sequence has what the first one has.
  void copy_to_all() {
    for (std::size_t block = static_cast<std::size_t>(blocks_of_sequence_); block < blocks_.size();
         ++block) {
      const auto from =
          static_cast<std::uint32_t>(block) % static_cast<std::uint32_t>(blocks_of_sequence_);
      pool_.copy(pool_, from, static_cast<std::uint32_t>(block));
    }
  }

  void set_profile(model::PassProfile* profile) { scratch_.workers.set_profile(profile); }

  /// One token of each of so many sequences, at `position`.
  void decode(int sequences, int position) {
    begin();
    for (int i = 0; i < sequences; ++i) {
      logit_rows_.push_back(static_cast<std::uint32_t>(i));
      add(i, position);
    }
    run();
  }

 private:
  void begin() {
    tokens_.clear();
    positions_.clear();
    sequences_.clear();
    logit_rows_.clear();
  }

  void add(int sequence, int position) {
    const auto random = numerics::philox({{static_cast<std::uint32_t>(position), 0, 0, 0}}, 1);
    tokens_.emplace_back(random.x[0] % static_cast<std::uint32_t>(model_.config().vocabulary_size));
    positions_.push_back(static_cast<std::uint32_t>(position));
    sequences_.push_back(static_cast<std::uint32_t>(sequence));
  }

  void run() {
    const model::ForwardBatch batch{.tokens = tokens_,
                                    .positions = positions_,
                                    .sequences = sequences_,
                                    .tables = tables_,
                                    .logit_rows = logit_rows_};
    model_.transformer().forward(batch, pool_, scratch_, logits_, model_.config().layers);
  }

  const runtime::LoadedModel& model_;
  int blocks_of_sequence_;
  model::KvPool pool_;
  model::TransformerScratch scratch_;
  std::vector<float> logits_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::span<const std::uint32_t>> tables_;
  std::vector<TokenId> tokens_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> sequences_;
  std::vector<std::uint32_t> logit_rows_;
};

class ModelBench {
 public:
  ModelBench(const runtime::LoadedModel& model, numerics::KvType kv_type, bool profiled,
             const std::function<bool(std::size_t)>& progress)
      : model_(model),
        profiled_(profiled),
        progress_(progress),
        products_(products_of(model.transformer().weights())),
        kind_(main_kind(model.transformer().weights())) {
    const model::PackedModel& weights = model.transformer().weights();
    result_.model = model.name();
    result_.instructions = linear::instructions_used(kind_, weights.numerics);
    result_.threads = model.threads().threads();
    result_.prompt_tokens = std::min(kPromptTokens, model.config().positions);
    result_.context_tokens = std::min(kContextTokens, model.config().positions - 1);
    result_.kv_type = kv_type;
    result_.weight_bytes = weights.bytes();
  }

  ModelBenchResult go() {
    raise_limits();
    {
      Passes passes(model_, result_.kv_type, result_.prompt_tokens, 1);
      measure("prefill", result_.prompt_tokens, passes,
              [&] { passes.prefill(result_.prompt_tokens); });
    }
    Passes passes(model_, result_.kv_type, result_.context_tokens, kBatchSizes.back());
    if (!result_.interrupted) {
      passes.prefill(result_.context_tokens);
      passes.copy_to_all();
    }
    for (const int sequences : kBatchSizes) {
      if (result_.interrupted) break;
      measure("decode", sequences, passes,
              [&] { passes.decode(sequences, result_.context_tokens); });
    }
    if (!result_.interrupted) raise_limits();
    for (ModelBenchCase& done : result_.cases) hold_against_limits(done);
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Pass>
  void measure(const std::string& what, int rows, Passes& passes, const Pass& pass) {
    pass();  // buffers grow, caches fill
    NamedProfile profile{what + " " + std::to_string(rows), model::PassProfile(limits_)};
    if (profiled_) passes.set_profile(&profile.profile);
    std::vector<double> seconds;
    double spent = 0;
    while (!result_.interrupted && seconds.size() < kPassesMax &&
           (spent < kSecondsOfCase || seconds.size() < kPassesMin)) {
      const auto start = Clock::now();
      pass();
      seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      spent += seconds.back();
      result_.interrupted = !progress_(result_.cases.size());
    }
    std::sort(seconds.begin(), seconds.end());
    passes.set_profile(nullptr);
    result_.cases.push_back({.name = profile.name,
                             .prefill = what == "prefill",
                             .rows = rows,
                             .seconds = seconds[seconds.size() / 2],
                             .best_seconds = seconds.front(),
                             .of_peak = std::nullopt,
                             .of_read_rate = std::nullopt});
    if (profiled_) result_.profiles.push_back(std::move(profile));
    progress_(result_.cases.size());
  }

  /// What the machine can do while nothing else runs; the best so far.
  void raise_limits() {
    limits_ = linear::measure_limits(model_.threads());
    result_.read_bytes_per_s = std::max(result_.read_bytes_per_s, limits_.read_bytes_per_s);
    const auto arithmetic = linear::arithmetic_of(kind_, model_.transformer().weights().numerics);
    result_.peak_op_per_s = std::max(result_.peak_op_per_s, limits_.peak(arithmetic));
  }

  void hold_against_limits(ModelBenchCase& done) const {
    if (done.prefill) {
      if (!result_.peak_op_per_s) return;
      done.of_peak = operations(done.rows) / done.best_seconds / *result_.peak_op_per_s;
    } else if (!model_.config().experts) {
      const auto bytes = static_cast<double>(result_.weight_bytes);
      done.of_read_rate = bytes / done.best_seconds / result_.read_bytes_per_s;
    }
  }

  /// Of the matrix products of a prompt: two for each weight and row.
  double operations(int rows) const {
    return 2 * (products_.weights * rows + products_.head_weights);
  }

  const runtime::LoadedModel& model_;
  bool profiled_;
  const std::function<bool(std::size_t)>& progress_;
  linear::MachineLimits limits_;  ///< the last ones measured
  Products products_;
  linear::PanelKind kind_;  ///< of most weights
  ModelBenchResult result_;
};

}  // namespace

std::size_t model_bench_cases() { return 1 + kBatchSizes.size(); }

ModelBenchResult bench_model(const runtime::LoadedModel& model, numerics::KvType kv_type,
                             bool profiled, const std::function<bool(std::size_t done)>& progress) {
  return ModelBench(model, kv_type, profiled, progress).go();
}

}  // namespace forge::apps
