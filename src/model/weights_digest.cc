#include "forge/model/weights_digest.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

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

/// The hash of a tensor whose pieces have these hashes.
WeightsDigest hash_of(std::span<const WeightsDigest> pieces) {
  HashBytes hashes;
  for (const WeightsDigest& piece : pieces) hashes.add(piece);
  return hashes.hash();
}

/// The hash of a tensor in memory.
WeightsDigest hash_in_pieces(Bytes bytes) {
  std::vector<WeightsDigest> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    pieces.push_back(hash_of(bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at))));
  }
  return hash_of(std::span<const WeightsDigest>(pieces));
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

/// Reads all of `model`, which is in memory.
void read(const StoredModel& model, WeightsDigester& digester) {
  for_each_weight(
      model,
      [&](const std::string&, const StoredLinear& matrix) {
        FORGE_CHECK(digester.read(matrix).has_value(), "memory has no faults");
      },
      [](const std::string&, const std::vector<float>&) {});
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

WeightsDigester::WeightsDigester(const linear::WeightReader& reader, linear::ThreadPool& pool)
    : reader_(reader), pool_(pool), rooms_(static_cast<std::size_t>(pool.threads())) {}

tl::expected<void, linear::ReadFault> WeightsDigester::read(const StoredLinear& matrix) {
  std::vector<WeightsDigest>& hashes = read_[&matrix];
  hashes.clear();
  for (const StoredArray& array : arrays_of(matrix)) {
    auto hash = this->hash(array.bytes);
    if (!hash) return tl::unexpected(hash.error());
    hashes.push_back(*hash);
  }
  return {};
}

/// Pieces are hashed in the cache of the thread that has read them.
tl::expected<WeightsDigest, linear::ReadFault> WeightsDigester::hash(Bytes array) {
  const bool in_memory = reader_.is_in_memory(array.data());
  std::vector<WeightsDigest> pieces((array.size() + kPieceBytes - 1) / kPieceBytes);
  std::vector<std::optional<linear::ReadFault>> faults(pieces.size());
  pool_.run(static_cast<int>(pieces.size()), [&](int piece, int thread) {
    const auto index = static_cast<std::size_t>(piece);
    const Bytes rest = array.subspan(index * kPieceBytes);
    const Bytes bytes = rest.first(std::min(kPieceBytes, rest.size()));
    if (in_memory) {
      pieces[index] = hash_of(bytes);
      return;
    }
    std::vector<std::byte>& room = rooms_[static_cast<std::size_t>(thread)];
    room.resize(kPieceBytes);
    const auto to = std::span(room).first(bytes.size());
    auto done = reader_.read(bytes.data(), to);
    if (!done) faults[index] = done.error();
    pieces[index] = hash_of(to);
  });
  const auto bad = std::ranges::find_if(faults, [](const auto& one) { return one.has_value(); });
  if (bad != faults.end()) return tl::unexpected(**bad);
  return hash_of(std::span<const WeightsDigest>(pieces));
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
    lines += line_of(role, {"", "F32", {numbers.size()}, bytes}, hash_in_pieces(bytes));
  };
  for_each_weight(model, add_matrix, add_vector);
  return lines;
}

WeightsDigest WeightsDigester::digest(const StoredModel& model) const {
  const std::string lines = list(model);
  return hash_of(std::as_bytes(std::span(lines)));
}

std::string digest_list(const StoredModel& model, linear::ThreadPool& pool) {
  const linear::MemoryReader memory;
  WeightsDigester digester(memory, pool);
  read(model, digester);
  return digester.list(model);
}

WeightsDigest digest_of(const StoredModel& model, linear::ThreadPool& pool) {
  const std::string lines = digest_list(model, pool);
  return hash_of(std::as_bytes(std::span(lines)));
}

}  // namespace forge::model
