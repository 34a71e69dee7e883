// WeightsDigest: a model's weights as one number, to be written down and compared.
//
// Do two runs have the same weights? Names of files do not say, and two gigabytes are not compared
// by hand. The digest is taken of what a model reads and of nothing else: the role, type, shape and
// bytes of each of its tensors. Where they lie does not matter (offsets, padding, one file or ten),
// nor what the checkpoint calls them, nor metadata; so a model has one digest in SafeTensors and in
// GGUF, where both store the same bytes. (GGUF of Llama has rows of Q and K in another order.)
//
// It is a tree, so that threads can share the work:
//
//   model      hash of the list ----------------- layers.0.attention.query BF16 2048x2048 5f1a...
//                                                 layers.0.attention.key BF16 256x2048 90c3...
//                                                 ...
//   tensor     hash of the pieces' hashes ------- 16 bytes each, in their order
//   piece      hash of 256 KiB of its bytes ----- the last has the rest
//
// The list is text (digest_list): a line for each tensor, ended by '\n', in the order of
// for_each_weight. Two lists, compared line by line, say which tensors differ. A line has four
// words with a space between them:
//
//   name      the role (weight_roles.h), of a matrix in several tensors with a part after it
//   type      F32, F16, BF16, Q4_K, ... as weight_type.h names it; I8, I32
//   shape     2048x5632, outermost first; in numbers, not in blocks
//   hash      of the tensor, 32 hexadecimal digits
//
//   a matrix stored as      has the tensors
//   rows                    ROLE            TYPE  N x K
//   int8                    ROLE.codes      I8    N x K;    ROLE.scales F32 N
//   gptq                    ROLE.codes      I32   K/8 x N;  ROLE.zeros I32 G x N/8;
//                           ROLE.scales     F16   G x N;    ROLE.order I32 K, with act-order
//   awq                     the same, but   ROLE.codes I32 K x N/8
//
// Vectors, and the scales of int8, are F32 whatever the checkpoint has: a model copies them to
// floats when it opens.
//
// The hash is XXH3 of 128 bits, seed 0, its bytes in the canonical order (big endian). It detects
// differences; it does not resist an adversary. Source: Collet, xxHash 0.8 and its specification.
// tests/golden/models/weights_digests.py is the same definition in Python.
//
// Legend: stored_linear.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/model/stored_model.h"

namespace forge::model {

struct WeightsDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const WeightsDigest&, const WeightsDigest&) = default;
};

/// 32 hexadecimal digits, high before low.
std::string to_string(const WeightsDigest& digest);

/// Takes the digest matrix by matrix, at the time when each is read anyway.
///
/// Example, given `const StoredModel& model` and `linear::ThreadPool& pool`:
///
///   const linear::MemoryReader reader;
///   WeightsDigester digester(reader, pool);
///   if (auto read = digester.read(model.embedding); !read) return read.error().code;
///   // and each other matrix once, in any order
///   ...
///   const WeightsDigest digest = digester.digest(model);
///
/// Borrows reader and pool. Thread contract: one thread at a time.
class WeightsDigester {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  WeightsDigester(const linear::WeightReader& reader, linear::ThreadPool& pool);

  /// Hashes all bytes of a matrix, in pieces shared out to the threads. Errors: the reader's.
  /// Requires: the StoredLinear stays at its address until the digest is taken.
  tl::expected<void, linear::ReadFault> read(const linear::StoredLinear& matrix);

  /// The list and its hash. Requires: every matrix of `model` has been read, as it lies in `model`.
  std::string list(const StoredModel& model) const;
  WeightsDigest digest(const StoredModel& model) const;

 private:
  tl::expected<WeightsDigest, linear::ReadFault> hash(std::span<const std::byte> array);

  const linear::WeightReader& reader_;
  linear::ThreadPool& pool_;
  std::vector<std::vector<std::byte>> rooms_;  // for a piece, of each thread
  std::map<const linear::StoredLinear*, std::vector<WeightsDigest>> read_;  // of their tensors
};

/// The list and the digest of `model`, which is in memory. Each call reads all of its weights.
std::string digest_list(const StoredModel& model, linear::ThreadPool& pool);
WeightsDigest digest_of(const StoredModel& model, linear::ThreadPool& pool);

}  // namespace forge::model
