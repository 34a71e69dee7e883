// DecodeGraphs: the graphs of decode steps, one for each bucket of batch sizes, for each use of
// their logits (step_input.h), and, where contexts are split among thread blocks, of their lengths.
//
// A graph's launches cover the whole bucket; its kernels read from the step how many rows there
// really are. So all steps of a bucket have the same commands, addresses and sizes included.
// Buckets are close enough that a step does little for rows that are not there, and few enough to
// be captured in the first seconds of a run:
//
//   rows      1  2  4  8  16  24  32  48  64  96  128  192  256
//   segments  1  2  4  8  16  ...      of the longest context, if split
//
// There are none for more rows, whose kernels take longer than their launches.
//
// Owns the graphs. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capacity.h"
#include "device_model.h"
#include "forge/gpu/device.h"
#include "step_input.h"

namespace forge::gpu {

class DecodeGraphs {
 public:
  /// A graph once it has been captured, and how many kernels it launches.
  struct Entry {
    std::unique_ptr<Graph> graph;
    std::uint64_t launches = 0;
  };

  /// What a step's graph covers, and where it is kept.
  struct Bucket {
    SlabShape shape;
    StepSizes sizes;
    std::size_t entry = 0;
  };

  explicit DecodeGraphs(const Capacity& capacity);

  /// The bucket of a step; none if a graph does not serve it. That is a step with more than one row
  /// in a slice, with passes that propose drafts or run a draft model, with copies of blocks, with
  /// logits of single tokens that change, with masks, with logits that the host wants, with more
  /// table writes than rows, or with more rows than any bucket has.
  std::optional<Bucket> bucket_of(const StepInput& input) const;

  Entry& entry(const Bucket& bucket) { return entries_[bucket.entry]; }

 private:
  const Capacity& capacity_;
  std::size_t length_buckets_;
  std::vector<Entry> entries_;  // [buckets of rows][uses of logits][buckets of lengths]
};

}  // namespace forge::gpu
