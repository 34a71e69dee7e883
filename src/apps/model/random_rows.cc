#include "random_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "forge/numerics/philox.h"

namespace forge::apps {
namespace {

using checkpoint::FileTensor;
using checkpoint::WeightRows;
using numerics::Words4;
using quant::WeightType;

/// Of the name, so that what comes before or after does not matter: FNV-1a.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

struct Stream {
  std::uint64_t seed;
  std::uint64_t name;
  std::uint32_t row;

  Words4 at(std::uint32_t index) const {
    return numerics::philox(
        {{index, row, static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32)}},
        seed);
  }
};

/// The standard deviation of four uniform integers of 16 bits, less their mean.
constexpr float kSumDeviation = 37837.22F;  // sqrt(4 (2^32 - 1) / 12)

/// A sum of four 16-bit numbers, less its mean.
float centred_sum(std::uint32_t a, std::uint32_t b) {
  constexpr int kMean = 2 * 65535;
  const std::uint32_t sum = (a & 0xffffU) + (a >> 16) + (b & 0xffffU) + (b >> 16);
  return static_cast<float>(static_cast<int>(sum) - kMean);
}

void fill(const Stream& stream, float deviation, std::span<float> out) {
  const float scale = deviation / kSumDeviation;
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const Words4 words = stream.at(static_cast<std::uint32_t>(i / 2));
    out[i] = scale * centred_sum(words.x[0], words.x[1]);
    if (i + 1 < out.size()) out[i + 1] = scale * centred_sum(words.x[2], words.x[3]);
  }
}

float deviation_of(const linear::StoredLinear& matrix) {
  return 1.0F / std::sqrt(static_cast<float>(matrix.inputs));
}

}  // namespace

/// By the name that SafeTensors have, whatever the format: the model is the same in both.
std::string RandomRowSource::stream_name(const WeightRows& part) const {
  const auto name = *tensor_name(part.role, config_, checkpoint::ModelFormat::safetensors);
  // Matrices of one tensor are not to begin alike.
  std::string stream = name.name;
  if (name.rows) stream += "/" + std::to_string(name.rows->first);
  if (name.place) stream += "/" + std::to_string(name.place->index);
  if (name.steps) stream += "/" + std::to_string(name.steps->first);
  return stream;
}

void RandomRowSource::begin(const FileTensor& tensor) {
  RowSource::begin(tensor);
  const WeightType type = *formats::weight_type(tensor.spec.type);
  const std::size_t elements = quant::block_elements(type);
  const std::size_t bytes = quant::block_bytes(type);
  blocks_.clear();
  if (elements == 1) return;
  blocks_.resize(kBlocks * bytes);
  std::vector<float> numbers(elements);
  const WeightRows& first = tensor.parts.front();
  const std::uint64_t name = hash_of(stream_name(first) + "/blocks");
  for (std::size_t block = 0; block < kBlocks; ++block) {
    fill({seed_, name, static_cast<std::uint32_t>(block)}, deviation_of(*first.matrix), numbers);
    quant::quantize(type, numbers, blocks_.data() + block * bytes);
  }
}

void RandomRowSource::floats(const WeightRows& part, int row, std::span<float> out) const {
  fill({seed_, hash_of(stream_name(part)), static_cast<std::uint32_t>(row)},
       deviation_of(*part.matrix), out);
}

bool RandomRowSource::copy(const WeightRows& part, int row, WeightType type,
                           std::span<std::byte> out) const {
  if (blocks_.empty()) return false;
  const Stream stream{seed_, hash_of(stream_name(part)), static_cast<std::uint32_t>(row)};
  const std::size_t bytes = quant::block_bytes(type);
  for (std::size_t block = 0; block * bytes < out.size(); ++block) {
    const Words4 words = stream.at(static_cast<std::uint32_t>(block / 4));
    const std::size_t drawn = words.x[block % 4] % kBlocks;
    std::memcpy(out.data() + block * bytes, blocks_.data() + drawn * bytes, bytes);
  }
  return true;
}

}  // namespace forge::apps
