#include "bench_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "forge/checkpoint/hf_config.h"
#include "forge/core/must.h"
#include "forge/model/stored_shapes.h"
#include "forge/model/weight_roles.h"
#include "forge/numerics/half.h"
#include "forge/numerics/philox.h"
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

/// At least `count` numbers in [-range, range], a part of them by each thread.
std::unique_ptr<std::uint16_t[]> random_numbers(std::size_t count, float range,
                                                linear::ThreadPool& threads) {
  constexpr std::size_t kWords = std::size(numerics::Words4{}.x);
  constexpr std::size_t kPart = kWords << 18;
  const std::size_t parts = (count + kPart - 1) / kPart;
  auto numbers = std::make_unique_for_overwrite<std::uint16_t[]>(parts * kPart);
  threads.run(static_cast<int>(parts), [&](int part) {
    const std::size_t first = static_cast<std::size_t>(part) * kPart;
    for (std::size_t i = first; i < first + kPart; i += kWords) {
      const numerics::Words4 words =
          numerics::philox({{static_cast<std::uint32_t>(i / kWords), 0, 0, 0}}, kWeightsSeed);
      for (std::size_t k = 0; k < kWords; ++k) {
        const float number = range * (2 * numerics::uniform_open(words.x[k]) - 1);
        numbers[i + k] = numerics::to_bf16(number).bits;
      }
    }
  });
  return numbers;
}

}  // namespace

const std::vector<std::string>& benchmarked_models() {
  static const std::vector<std::string> models{"llama-3-8b"};
  return models;
}

model::ModelConfig published_config(const std::string& name) {
  const std::string text = apps::shape_text(name).value();
  return checkpoint::parse_hf_config(text, name).value().model;
}

BenchModel::BenchModel(std::string name, model::ModelConfig config, linear::ThreadPool& threads)
    : name_(std::move(name)), config_(std::move(config)), stored_(model::model_shapes(config_)) {
  std::size_t largest = 0;
  for_each_matrix(stored_, [&](const linear::StoredLinear& matrix) {
    largest = std::max(largest, size_of(matrix));
  });
  const float range = std::sqrt(3.0F / static_cast<float>(config_.hidden_size));
  numbers_ = random_numbers(largest, range, threads);
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers_.get());
  for_each_matrix(stored_, [&](linear::StoredLinear& matrix) {
    matrix.form = linear::StoredRows{quant::WeightType::bf16, bytes};
  });
  const auto fast = gpu::GpuModel::of(config_, stored_, threads, nullptr, gpu::GpuNumerics::fast);
  on_gpu_ = fast ? *fast : gpu::GpuModel::of(config_, stored_, threads).value();
}

}  // namespace forge
