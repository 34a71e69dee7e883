// What loading a model consists of once its file is in memory: packing, and the digest of the
// weights that is part of it (model/weights_digest.h). Two layers of Llama 2 7B's widths.
//
//   loading/pack/q8_0/threads:2       pack(), the digest included
//   loading/digest/q8_0/threads:2     the digest alone; its share of pack() is what it costs
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "forge/model/packed_model.h"
#include "forge/numerics/philox.h"
#include "forge/quant/quantize.h"

namespace forge::model {
namespace {

using linear::StoredLinear;
using quant::WeightType;

constexpr int kWidth = 4096;
constexpr int kInner = 11008;
constexpr int kVocabulary = 4096;
constexpr int kLayers = 2;

/// A model in memory, all of whose matrices start with the same random rows.
class ModelInMemory {
 public:
  explicit ModelInMemory(WeightType type) {
    const std::vector<float> norm(kWidth, 1.0F);
    model_.embedding = matrix(type, kVocabulary, kWidth);
    for (int layer = 0; layer < kLayers; ++layer) {
      StoredGroupedQuery attention;
      for (StoredLinear* part :
           {&attention.query, &attention.key, &attention.value, &attention.output}) {
        *part = matrix(type, kWidth, kWidth);
      }
      model_.layers.push_back({norm, attention, norm,
                               StoredMlp{matrix(type, kInner, kWidth), matrix(type, kInner, kWidth),
                                         matrix(type, kWidth, kInner)}});
    }
    model_.final_norm = norm;
    config_.layers = kLayers;
    config_.hidden_size = kWidth;
  }

  const ModelConfig& config() const { return config_; }
  const StoredModel& model() const { return model_; }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const std::vector<std::byte>& memory : memory_) bytes += memory.size();
    return bytes;
  }

 private:
  StoredLinear matrix(WeightType type, int outputs, int inputs) {
    std::vector<float> row(static_cast<std::size_t>(inputs));
    for (std::uint32_t i = 0; i < row.size(); ++i) {
      row[i] = numerics::uniform_open(numerics::philox({{i, 0, 0, 0}}, 1).x[0]) - 0.5F;
    }
    const std::size_t row_bytes = *quant::bytes_of(type, row.size());
    auto& memory = memory_.emplace_back(row_bytes * static_cast<std::size_t>(outputs));
    quant::quantize(type, row, memory.data());
    for (std::size_t at = row_bytes; at < memory.size(); at += row_bytes) {
      std::memcpy(&memory[at], memory.data(), row_bytes);
    }
    return {outputs, inputs, linear::StoredRows{type, memory.data()}};
  }

  ModelConfig config_;
  StoredModel model_;
  std::vector<std::vector<std::byte>> memory_;  // whose bytes stay where they are
};

void measure(benchmark::State& state, WeightType type, bool digest_alone) {
  const ModelInMemory stored(type);
  linear::ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    if (digest_alone) {
      benchmark::DoNotOptimize(digest_of(stored.model(), pool));
    } else {
      benchmark::DoNotOptimize(pack(stored.config(), stored.model(), pool));
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(stored.bytes()));
}

void add_loading(const char* name, WeightType type) {
  for (const bool digest_alone : {false, true}) {
    const std::string whole =
        std::string(digest_alone ? "loading/digest/" : "loading/pack/") + name;
    benchmark::RegisterBenchmark(
        whole.c_str(), [=](benchmark::State& state) { measure(state, type, digest_alone); })
        ->ArgName("threads")
        ->Arg(1)
        ->Arg(2)
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

const bool kLoadingAdded = (add_loading("f32", WeightType::f32),    //
                            add_loading("bf16", WeightType::bf16),  //
                            add_loading("q8_0", WeightType::q8_0),  //
                            add_loading("q4_k", WeightType::q4_k), true);

}  // namespace
}  // namespace forge::model
