#include "bench_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "forge/checkpoint/hf_config.h"
#include "forge/core/must.h"
#include "forge/model/stored_shapes.h"
#include "forge/model/weight_roles.h"
#include "forge/numerics/philox.h"
#include "forge/quant/quantize.h"
#include "shapes.h"

namespace forge {
namespace {

constexpr std::uint64_t kWeightsSeed = 1;

std::size_t size_of(const linear::StoredLinear& matrix) {
  return static_cast<std::size_t>(matrix.outputs) * static_cast<std::size_t>(matrix.inputs);
}

void for_each_matrix(model::StoredModel& model, const auto& visit) {
  model::for_each_weight(
      model, [&](const std::string&, linear::StoredLinear& matrix) { visit(matrix); },
      [](const std::string&, std::vector<float>&) {});
}

/// Numbers in [-range, range].
std::vector<float> random_numbers(std::size_t count, float range) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::size_t kWords = std::size(numerics::Words4{}.x);
    const numerics::Words4 words =
        numerics::philox({{static_cast<std::uint32_t>(i / kWords), 0, 0, 0}}, kWeightsSeed);
    numbers[i] = range * (2 * numerics::uniform_open(words.x[i % kWords]) - 1);
  }
  return numbers;
}

/// `count` numbers as `type` stores them: some random ones, again and again.
std::unique_ptr<std::byte[]> stored_numbers(quant::WeightType type, std::size_t count,
                                            float range) {
  constexpr std::size_t kRandom = std::size_t{1} << 20;  // whole blocks of every type
  const std::vector<float> numbers = random_numbers(std::min(count, kRandom), range);
  const std::size_t random_bytes = quant::bytes_of(type, numbers.size()).value();
  const std::size_t bytes = quant::bytes_of(type, count).value();
  auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
  quant::quantize(type, numbers, stored.get());
  for (std::size_t done = random_bytes; done < bytes; done += random_bytes) {
    std::memcpy(&stored[done], stored.get(), std::min(random_bytes, bytes - done));
  }
  return stored;
}

}  // namespace

const std::vector<BenchmarkedModel>& benchmarked_models() {
  using enum quant::WeightType;
  static const std::vector<BenchmarkedModel> models{{"llama-3-8b", bf16, {1, 16, 64, 256}},
                                                    {"llama-3-8b", q8_0, {1, 16}},
                                                    {"llama-3-8b", q4_k, {1, 16}},
                                                    {"qwen3-30b-a3b", bf16, {1, 16, 64, 256}},
                                                    {"deepseek-v2-lite", bf16, {1, 16, 64, 256}}};
  return models;
}

model::ModelConfig published_config(const std::string& name) {
  const std::string text = apps::shape_text(name).value();
  return checkpoint::parse_hf_config(text, name).value().model;
}

BenchModel::BenchModel(std::string name, quant::WeightType weights, model::ModelConfig config,
                       linear::ThreadPool& threads)
    : name_(std::move(name)),
      weights_(weights),
      config_(std::move(config)),
      stored_(model::model_shapes(config_)) {
  std::size_t largest = 0;
  for_each_matrix(stored_, [&](const linear::StoredLinear& matrix) {
    largest = std::max(largest, size_of(matrix));
  });
  const float range = std::sqrt(3.0F / static_cast<float>(config_.hidden_size));
  numbers_ = stored_numbers(weights_, largest, range);
  for_each_matrix(stored_, [&](linear::StoredLinear& matrix) {
    matrix.form = linear::StoredRows{weights_, numbers_.get()};
  });
  const auto fast = gpu::GpuModel::of(config_, stored_, threads, nullptr, gpu::GpuNumerics::fast);
  on_gpu_ = fast ? *fast : gpu::GpuModel::of(config_, stored_, threads).value();
}

}  // namespace forge
