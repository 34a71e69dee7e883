// PassProfile: where the time of forward passes goes, by operation and layer.
//
// Each operation of a pass (workers.h) is measured from its start to the return of its last thread,
// and held against the least time that it could take: of its bytes at the rate at which the machine
// reads memory and its arithmetic at the peak of the instruction used, the longer one ("roofline",
// Williams, Waterman, Patterson 2009). A share of the limit near 1 means that only less work would
// be faster; more than 1, that the bytes came from a cache.
//
//   bytes       weights, and KV once for each sequence; rows of activations are in caches
//   operations  a multiplication and its addition are two
//
// What lies between operations (moving rows of experts to and fro, waking threads) is the rest of
// the time of a pass.
//
// Workers::set_profile() turns it on; then totals(Operation::attention) says what attention took.
//
// Thread contract: one thread at a time, the one that runs the passes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forge/core/names.h"
#include "forge/linear/linear_weights.h"
#include "forge/linear/machine_limits.h"

namespace forge::model {

/// What a forward pass does, in its order.
enum class Operation : std::uint8_t {
  embedding,   ///< rows of the embedding
  norm,        ///< before or after attention, MLP and head
  qkv,         ///< product: queries, keys and values of grouped_query.h
  query,       ///< products: queries of latent_attention.h
  kv_down,     ///< product: latents of keys and values
  rotation,    ///< biases, norms of heads, RoPE, writing of KV
  absorb,      ///< products: queries into the space of latents
  attention,   ///< scores and sums over the context
  value_up,    ///< products: sums of latents to values
  output,      ///< product: attention's output
  router,      ///< product and choice of experts
  gate_up,     ///< product: gate and up, of the MLP or of experts
  activation,  ///< of the MLP
  down,        ///< product: down
  residual,    ///< what a sub-layer adds
  head,        ///< product: logits
};
constexpr Names<Operation> names_of(Operation) {
  return {"embedding",  "norm",      "qkv",      "query",  "kv_down", "rotation",
          "absorb",     "attention", "value_up", "output", "router",  "gate_up",
          "activation", "down",      "residual", "head"};
}

/// What an operation cannot do without.
struct Work {
  double bytes = 0;                                                    ///< read from memory
  std::array<double, kNames<linear::Arithmetic>.size()> operations{};  ///< [Arithmetic]

  Work& operator+=(const Work& other);
};

/// Of `rows` rows against `w`: all its panels, and two operations for each weight and row.
Work product_work(int rows, const linear::LinearWeights& w);

/// Several runs of an operation.
struct OperationTotals {
  std::uint64_t calls = 0;
  double seconds = 0;
  double limit_seconds = 0;  ///< the least they could take; 0 where no work was counted
  Work work;

  OperationTotals& operator+=(const OperationTotals& other);

  /// Of the limit; none where no work was counted.
  std::optional<double> of_limit() const;
};

class PassProfile {
 public:
  using Clock = std::chrono::steady_clock;

  /// The last so many operations are kept one by one (spans()); totals are of all.
  static constexpr std::size_t kSpansMax = std::size_t{1} << 16;

  struct Span {
    std::uint64_t pass = 0;    ///< 0, 1, ...
    std::optional<int> layer;  ///< none before the first layer and after the last one
    Operation operation = Operation::embedding;
    Clock::time_point start;
    Clock::time_point end;
    double limit_seconds = 0;
  };

  /// Without limits, nothing is held against them.
  explicit PassProfile(const linear::MachineLimits& limits = {}) : limits_(limits) {}

  /// For the passes from now on.
  void set_limits(const linear::MachineLimits& limits) { limits_ = limits; }

  void begin_pass(int rows);
  void enter(std::optional<int> layer) { layer_ = layer; }
  void add(Operation operation, Clock::time_point start, const Work& work);
  void end_pass();

  const linear::MachineLimits& limits() const { return limits_; }
  std::uint64_t passes() const { return passes_; }
  std::uint64_t rows() const { return rows_; }
  double seconds() const { return seconds_; }  ///< of all passes, with what lies between operations
  int layers() const { return static_cast<int>(totals_.size()) - 1; }  ///< seen so far, at least 0

  OperationTotals totals(Operation operation) const;  ///< of all layers
  OperationTotals totals(Operation operation,
                         std::optional<int> layer) const;  ///< of one, or of none

  /// In the order in which they ran.
  std::vector<Span> spans() const;

 private:
  using OfOperations = std::array<OperationTotals, kNames<Operation>.size()>;

  /// The least that `work` takes.
  double limit_seconds(const Work& work) const;

  linear::MachineLimits limits_;
  std::uint64_t passes_ = 0;
  std::uint64_t rows_ = 0;
  double seconds_ = 0;
  Clock::time_point pass_start_;
  std::optional<int> layer_;
  std::vector<OfOperations> totals_ = std::vector<OfOperations>(1);  // [1 + layer], 0: of none
  std::vector<Span> ring_;                                           // of the last kSpansMax
  std::size_t oldest_ = 0;                                           // in the ring, once it is full
};

}  // namespace forge::model
