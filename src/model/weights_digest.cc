#include "forge/model/weights_digest.h"

#include <xxhash.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>

#include "forge/core/check.h"
#include "forge/model/weight_roles.h"

namespace forge::model {
namespace {

using linear::StoredArray;
using linear::StoredLinear;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kPieceBytes = WeightsDigester::kPieceBytes;

WeightsDigest hash_of(Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

/// The canonical form of hashes, one after the other.
class HashBytes {
 public:
  void add(const WeightsDigest& hash) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, {.low64 = hash.low, .high64 = hash.high});
    for (const unsigned char byte : canonical.digest) bytes_.push_back(std::byte{byte});
  }
  WeightsDigest hash() const { return hash_of(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// The hash of a tensor.
WeightsDigest hash_in_pieces(Bytes bytes, linear::ThreadPool& pool) {
  std::vector<WeightsDigest> pieces((bytes.size() + kPieceBytes - 1) / kPieceBytes);
  pool.run(static_cast<int>(pieces.size()), [&](int piece) {
    const auto index = static_cast<std::size_t>(piece);
    const Bytes rest = bytes.subspan(index * kPieceBytes);
    pieces[index] = hash_of(rest.first(std::min(kPieceBytes, rest.size())));
  });
  HashBytes hashes;
  for (const WeightsDigest& piece : pieces) hashes.add(piece);
  return hashes.hash();
}

/// A line of the list.
std::string line_of(const std::string& role, const StoredArray& array, const WeightsDigest& hash) {
  std::string line = role;
  if (!array.part.empty()) line.append(".").append(array.part);
  line.append(" ").append(array.type);
  char separator = ' ';
  for (const std::size_t size : array.shape) {
    line += separator + std::to_string(size);
    separator = 'x';
  }
  return line + ' ' + to_string(hash) + '\n';
}

/// One that has read all of `model`.
WeightsDigester digester_of(const StoredModel& model, linear::ThreadPool& pool) {
  WeightsDigester digester(pool);
  for_each_weight(
      model, [&](const std::string&, const StoredLinear& matrix) { digester.read(matrix); },
      [](const std::string&, const std::vector<float>&) {});
  return digester;
}

}  // namespace

std::string to_string(const WeightsDigest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : {digest.high, digest.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
  }
  return text;
}

void WeightsDigester::read(const StoredLinear& matrix) {
  std::vector<WeightsDigest>& hashes = read_[&matrix];
  hashes.clear();
  for (const StoredArray& array : arrays_of(matrix)) {
    hashes.push_back(hash_in_pieces(array.bytes, pool_));
  }
}

std::string WeightsDigester::list(const StoredModel& model) const {
  std::string lines;
  const auto add_matrix = [&](const std::string& role, const StoredLinear& matrix) {
    const auto hashes = read_.find(&matrix);
    FORGE_CHECK(hashes != read_.end(), "'", role, "' has not been read");
    auto hash = hashes->second.begin();
    for (const StoredArray& array : arrays_of(matrix)) lines += line_of(role, array, *hash++);
  };
  const auto add_vector = [&](const std::string& role, const std::vector<float>& numbers) {
    const Bytes bytes = std::as_bytes(std::span(numbers));
    lines += line_of(role, {"", "F32", {numbers.size()}, bytes}, hash_in_pieces(bytes, pool_));
  };
  for_each_weight(model, add_matrix, add_vector);
  return lines;
}

WeightsDigest WeightsDigester::digest(const StoredModel& model) const {
  const std::string lines = list(model);
  return hash_of(std::as_bytes(std::span(lines)));
}

std::string digest_list(const StoredModel& model, linear::ThreadPool& pool) {
  return digester_of(model, pool).list(model);
}

WeightsDigest digest_of(const StoredModel& model, linear::ThreadPool& pool) {
  return digester_of(model, pool).digest(model);
}

}  // namespace forge::model
