#include "forge/kv_events/codec.h"

#include <optional>
#include <string_view>

#include "message_pack.h"

namespace forge::kv_events {
namespace {

constexpr std::string_view kMedium = "GPU";

/// Writes events; in the map form each value is behind its name.
class EventWriter {
 public:
  EventWriter(MessagePack& out, KvEventFormat format)
      : out_(out), is_map_(format == KvEventFormat::map) {}

  void operator()(const BlockStored& event) {
    begin("BlockStored", /*values=*/7, /*optional_values=*/4);
    hashes(event.hashes);
    name("parent_block_hash");
    if (event.parent) {
      out_.number(*event.parent);
    } else {
      out_.null();
    }
    name("token_ids");
    out_.array(event.tokens.size());
    for (const TokenId token : event.tokens) out_.number(token.value);
    name("block_size");
    out_.number(event.block_size);
    name("lora_id");
    out_.null();
    medium();
    name("lora_name");
    out_.null();
    end(/*optional_values=*/4);
  }

  void operator()(const BlockRemoved& event) {
    begin("BlockRemoved", /*values=*/2, /*optional_values=*/1);
    hashes(event.hashes);
    medium();
    end(/*optional_values=*/1);
  }

  void operator()(const AllBlocksCleared&) { begin("AllBlocksCleared", 0, 0); }

 private:
  void begin(std::string_view type, std::size_t values, std::size_t optional_values) {
    if (is_map_) {
      out_.map(1 + values);
      out_.text("type");
    } else {
      out_.array(1 + values + optional_values);
    }
    out_.text(type);
  }
  void name(std::string_view name) {
    if (is_map_) out_.text(name);
  }
  void hashes(const std::vector<std::uint64_t>& hashes) {
    name("block_hashes");
    out_.array(hashes.size());
    for (const std::uint64_t hash : hashes) out_.number(hash);
  }
  void medium() {
    name("medium");
    out_.text(kMedium);
  }
  /// Those that the map form leaves out.
  void end(std::size_t optional_values) {
    for (std::size_t i = 0; i < optional_values && !is_map_; ++i) out_.null();
  }

  MessagePack& out_;
  bool is_map_;
};

/// At least the bytes of `event`.
struct SizeMax {
  std::size_t operator()(const BlockStored& e) const {
    return 160 + 9 * e.hashes.size() + 5 * e.tokens.size();
  }
  std::size_t operator()(const BlockRemoved& e) const { return 64 + 9 * e.hashes.size(); }
  std::size_t operator()(const AllBlocksCleared&) const { return 32; }
};

}  // namespace

std::string encode(const KvEventBatch& batch, KvEventFormat format) {
  std::size_t size_max = 32;
  for (const KvEvent& event : batch.events) size_max += std::visit(SizeMax(), event);
  MessagePack out;
  out.reserve(size_max);
  out.array(3);
  out.real(batch.timestamp);
  out.array(batch.events.size());
  for (const KvEvent& event : batch.events) std::visit(EventWriter(out, format), event);
  out.number(0);
  return out.take();
}

}  // namespace forge::kv_events
