#include "forge/quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "encode.h"
#include "forge/core/check.h"
#include "forge/numerics/half.h"
#include "forge/quant/dequantize.h"

namespace forge::quant {
namespace {

// The largest finite numbers, which stand for all beyond them.
constexpr numerics::F16 kF16Max = {0x7bff};
constexpr numerics::BF16 kBF16Max = {0x7f7f};

void narrow(const float* x, numerics::F16& half) {
  const float max = to_float(kF16Max);
  half = numerics::to_f16(std::clamp(*x, -max, max));
}

void narrow(const float* x, numerics::BF16& half) {
  const float max = to_float(kBF16Max);
  half = numerics::to_bf16(std::clamp(*x, -max, max));
}

/// Numbers of a row and their importance, if any.
struct Row {
  std::span<const float> x;
  std::span<const float> importance;
};

/// `store(numbers, stored)` makes one Stored, a block or a number, of kElements numbers.
template <class Stored, std::size_t kElements, class Store>
void store_row(const Row& row, std::byte* stored, Store store) {
  for (std::size_t i = 0; i < row.x.size(); i += kElements, stored += sizeof(Stored)) {
    Stored block;
    store(Numbers{&row.x[i], row.importance.empty() ? nullptr : &row.importance[i]}, block);
    std::memcpy(stored, &block, sizeof block);
  }
}

template <class Block>
void encode_row(const Row& row, std::byte* stored) {
  store_row<Block, Block::kElements>(row, stored,
                                     [](Numbers from, Block& block) { encode(from, block); });
}

template <class Half>
void narrow_row(const Row& row, std::byte* stored) {
  store_row<Half, 1>(row, stored, [](Numbers from, Half& half) { narrow(from.x, half); });
}

bool all_finite(std::span<const float> x) {
  bool finite = true;
  for (const float number : x) finite &= std::fabs(number) <= std::numeric_limits<float>::max();
  return finite;
}

void store(WeightType type, const Row& row, std::byte* stored) {
  switch (type) {
    case WeightType::f32:
      if (!row.x.empty()) std::memcpy(stored, row.x.data(), row.x.size_bytes());
      return;
    case WeightType::f16:
      return narrow_row<numerics::F16>(row, stored);
    case WeightType::bf16:
      return narrow_row<numerics::BF16>(row, stored);
    case WeightType::i8:
      FORGE_CHECK(type != WeightType::i8, "type=I8: its scale lies outside the row");
      return;
    case WeightType::q8_0:
      return encode_row<BlockQ80>(row, stored);
    case WeightType::q4_0:
      return encode_row<BlockQ40>(row, stored);
    case WeightType::q5_0:
      return encode_row<BlockQ50>(row, stored);
    case WeightType::q5_1:
      return encode_row<BlockQ51>(row, stored);
    case WeightType::q4_k:
      return encode_row<BlockQ4K>(row, stored);
    case WeightType::q5_k:
      return encode_row<BlockQ5K>(row, stored);
    case WeightType::q6_k:
      return encode_row<BlockQ6K>(row, stored);
    case WeightType::q4_1:
      return encode_row<BlockQ41>(row, stored);
    case WeightType::q2_k:
      return encode_row<BlockQ2K>(row, stored);
    case WeightType::q3_k:
      return encode_row<BlockQ3K>(row, stored);
    case WeightType::iq4_nl:
      return encode_row<BlockIQ4NL>(row, stored);
    case WeightType::iq4_xs:
      return encode_row<BlockIQ4XS>(row, stored);
    case WeightType::mxfp4:
      return encode_row<BlockMXFP4>(row, stored);
  }
}

QuantizationError error_of(std::span<const float> x, const float* read) {
  QuantizationError error;
  error.count = x.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double number = x[i];
    const double difference = std::fabs(number - static_cast<double>(read[i]));
    error.sum_squared_error += difference * difference;
    error.sum_squares += number * number;
    error.max_error = std::max(error.max_error, difference);
  }
  return error;
}

}  // namespace

void QuantizationError::add(const QuantizationError& other) {
  sum_squared_error += other.sum_squared_error;
  sum_squares += other.sum_squares;
  max_error = std::max(max_error, other.max_error);
  count += other.count;
}

double QuantizationError::rms() const {
  return count == 0 ? 0.0 : std::sqrt(sum_squared_error / static_cast<double>(count));
}

double QuantizationError::relative() const {
  return sum_squares == 0.0 ? 0.0 : std::sqrt(sum_squared_error / sum_squares);
}

QuantizationError quantize(WeightType type, std::span<const float> row, std::byte* stored,
                           std::span<const float> importance) {
  constexpr std::size_t kChunk = 256;  // whole blocks of every type
  FORGE_CHECK(row.size() % block_elements(type) == 0, "count=", row.size(),
              " type=", name_of(type));
  FORGE_CHECK(importance.empty() || importance.size() == row.size(), "count=", row.size(),
              " importance of ", importance.size());
  QuantizationError error;
  for (std::size_t first = 0; first < row.size(); first += kChunk) {
    const auto chunk = row.subspan(first, std::min(kChunk, row.size() - first));
    FORGE_CHECK(all_finite(chunk), "an infinity or NaN from number ", first, " of the row on");
    store(type, {chunk, importance.empty() ? importance : importance.subspan(first, chunk.size())},
          stored);
    float read[kChunk];
    dequantize(type, stored, chunk.size(), read);
    error.add(error_of(chunk, read));
    stored += chunk.size() / block_elements(type) * block_bytes(type);
  }
  return error;
}

}  // namespace forge::quant
