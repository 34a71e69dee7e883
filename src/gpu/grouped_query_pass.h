// GroupedQueryPass: grouped-query attention of one layer on the device, and its intermediate
// results. The same operations in the same order as model/grouped_query.h:
//
//   project(qkv) with its bias -> rms_norm of queries and keys, where the model has them
//   -> rotate_and_store -> attend -> project(output)
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "kv_layers.h"

namespace forge::gpu {

class GroupedQueryPass {
 public:
  GroupedQueryPass(const model::ModelConfig& model, const Capacity& capacity, Allocator& allocator);

  /// to = attention of x [rows][d], in layer `layer` of the pool.
  void run(const DevicePass& pass, const DeviceGroupedQuery& weights, int layer, const float* x,
           const Output& to) const;

 private:
  void norm(const DevicePass& pass, const DeviceGroupedQuery& weights) const;
  void attend(const DevicePass& pass, const DeviceGroupedQuery& weights, int layer) const;

  model::ModelConfig model_;
  model::GroupedQueryConfig config_;
  KvLayers kv_layers_;
  std::uint32_t split_rows_;

  // [rows][...]
  Buffer qkv_;       // [(H + 2 Hkv) D]
  Buffer attended_;  // [H D]
  Buffer partial_;   // [split rows][H][key segments][D + 2]
};

}  // namespace forge::gpu
