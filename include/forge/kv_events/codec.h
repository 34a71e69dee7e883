// The bytes of a batch of events: MessagePack, in the two forms that followers read.
//
//   batch   [timestamp, [event, ...], 0]                             in both; 0 is the rank
//   map     {"type": "BlockStored", "block_hashes": [...], ...}      vLLM since June 2026, Dynamo
//   array   ["BlockStored", [...], parent, [...], ...]               before; llm-d-kv-cache 7be76e1
//
// What vLLM tells and Forge has not is null (adapters, kinds of layers); the map leaves out what it
// may. The medium is "GPU" on every target: it is the followers' word for the memory of the engine.
//
// Source: the specification of MessagePack, https://github.com/msgpack/msgpack, spec.md. A number
// takes the shortest form that has it, the timestamp is always a double: byte for byte what
// msgspec, vLLM's encoder, makes of the same values. JSON libraries write a double as a float where
// that is exact.
#pragma once

#include <cstdint>
#include <string>

#include "forge/core/names.h"
#include "forge/kv_events/kv_event.h"

namespace forge::kv_events {

enum class KvEventFormat : std::uint8_t { map, array };
constexpr Names<KvEventFormat> names_of(KvEventFormat) { return {"map", "array"}; }

/// The bytes of `batch`. O(its size).
std::string encode(const KvEventBatch& batch, KvEventFormat format);

}  // namespace forge::kv_events
