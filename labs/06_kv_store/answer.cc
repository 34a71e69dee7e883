// Tokens of a pool: where their numbers lie, what attention is told of them, what a copy has.
#include <cmath>
#include <stdexcept>

#include "answering.h"
#include "forge/model/kv_pool.h"

namespace forge::labs {
namespace {

using model::KvLayout;
using model::KvPlane;
using model::KvPool;
using numerics::KvType;
using Blocks = std::vector<std::uint32_t>;

/// Blocks that a table does not name, beyond the largest that it does.
constexpr std::uint32_t kSpareBlocks = 3;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

KvType type_of(const Json& input) {
  const std::string name = input.value("type", "f32");
  for (const KvType type : {KvType::f32, KvType::bf16, KvType::f16}) {
    if (name_of(type) == name) return type;
  }
  throw std::invalid_argument("no such type");
}

std::uint32_t small(const Json& input, const char* name) {
  const auto number = input.at(name).get<std::uint32_t>();
  require(number >= 1 && number <= 64, name);
  return number;
}

/// A pool of the shape of a case.
KvPool make_pool(const Json& input, std::uint32_t num_blocks, KvLayout layout) {
  const model::KvShape shape{.layers = static_cast<int>(small(input, "layers")),
                             .heads = static_cast<int>(input.value("heads", 1U)),
                             .head_size = static_cast<int>(small(input, "head_size")),
                             .layout = layout};
  require(shape.heads >= 1 && shape.heads <= 64, "heads");
  return {shape, num_blocks, small(input, "block_size"), type_of(input)};
}

std::uint32_t blocks_of(const Blocks& table) {
  std::uint32_t largest = 0;
  for (const std::uint32_t block : table) largest = std::max(largest, block);
  require(largest <= 64, "a table of large ids");
  return largest + 1 + kSpareBlocks;
}

KvPlane plane_of(const Json& input, const KvPool& pool) {
  const KvPlane plane{input.at("layer").get<int>(), input.at("head").get<int>()};
  require(plane.layer >= 0 && plane.layer < pool.shape().layers, "layer");
  require(plane.head >= 0 && plane.head < pool.shape().heads, "head");
  return plane;
}

/// All numbers of a pool, in the order in which they lie.
std::vector<float> numbers_of(const KvPool& pool) {
  const std::size_t size = bytes_of(pool.type());
  std::vector<float> numbers;
  for (std::size_t at = 0; at < pool.bytes().size(); at += size) {
    const std::byte* from = pool.bytes().data() + at;
    numbers.push_back(pool.type() == KvType::f32 ? *reinterpret_cast<const float*>(from)
                      : pool.type() == KvType::f16
                          ? to_float(*reinterpret_cast<const numerics::F16*>(from))
                          : to_float(*reinterpret_cast<const numerics::BF16*>(from)));
  }
  return numbers;
}

std::string name_of_plane(KvPlane plane) {
  return "layer " + std::to_string(plane.layer) + ", head " + std::to_string(plane.head);
}

/// A shape -> where the keys of each plane of block 0 begin, as a view has them.
Json first_of(const Json& input) {
  const KvPool pool = make_pool(input, 1, KvLayout::key_and_value);
  const Blocks table = {0};
  Json answer = Json::array();
  for (int layer = 0; layer < pool.shape().layers; ++layer) {
    for (int head = 0; head < pool.shape().heads; ++head) {
      const auto* keys = static_cast<const std::byte*>(pool.view({layer, head}, table, 1).keys);
      const auto bytes = keys - pool.bytes().data();
      answer.push_back(name_of_plane({layer, head}) + ": from number " +
                       std::to_string(bytes / static_cast<long>(bytes_of(pool.type()))));
    }
  }
  return answer;
}

constexpr std::size_t kHeadSizeMax = 8;

/// What number `d` of the key or the value of the token that is stored as number `index` is.
float mark(std::size_t index, bool is_value, std::size_t d) {
  return static_cast<float>((2 * index + (is_value ? 1 : 0)) * kHeadSizeMax + d);
}

/// Of each number that has come to be another one: what it is and where.
std::string changes(const std::vector<float>& before, const std::vector<float>& after,
                    std::size_t index, std::size_t head_size) {
  std::string line;
  for (std::size_t at = 0; at < after.size(); ++at) {
    if (before[at] == after[at] || (std::isnan(before[at]) && std::isnan(after[at]))) continue;
    std::string what = std::to_string(after[at]);
    for (std::size_t d = 0; d < head_size; ++d) {
      if (after[at] == mark(index, false, d)) what = "key " + std::to_string(d);
      if (after[at] == mark(index, true, d)) what = "value " + std::to_string(d);
    }
    line += (line.empty() ? "" : ", ") + what + " at " + std::to_string(at);
  }
  return line.empty() ? "nothing" : line;
}

/// A shape, a table and tokens -> which numbers of the pool each of them became.
Json store(const Json& input) {
  const auto table = input.at("blocks").get<Blocks>();
  KvPool pool = make_pool(input, blocks_of(table), KvLayout::key_and_value);
  const auto D = static_cast<std::size_t>(pool.shape().head_size);
  require(D <= kHeadSizeMax && input.at("tokens").size() <= 8, "marks that are not exact");
  Json answer = Json::array();
  std::size_t index = 0;
  for (const Json& token : input.at("tokens")) {
    const KvPlane plane = plane_of(token, pool);
    const auto position = token.at("position").get<std::uint32_t>();
    require(position < table.size() * pool.block_size(), "a position beyond the table");
    std::vector<float> key;
    std::vector<float> value;
    for (std::size_t d = 0; d < D; ++d) {
      key.push_back(mark(index, false, d));
      value.push_back(mark(index, true, d));
    }
    const std::vector<float> before = numbers_of(pool);
    pool.store(plane, table, position, key.data(), value.data());
    answer.push_back(name_of_plane(plane) + ", position " + std::to_string(position) + ": " +
                     changes(before, numbers_of(pool), index++, D));
  }
  return answer;
}

/// A shape, a table and a plane -> what the view says.
Json view(const Json& input) {
  const auto table = input.at("blocks").get<Blocks>();
  const KvPool pool = make_pool(input, blocks_of(table), KvLayout::key_and_value);
  const auto length = input.at("length").get<std::uint32_t>();
  require(length >= 1 && length <= table.size() * pool.block_size(), "length");
  const numerics::PagedKV kv = pool.view(plane_of(input, pool), table, length);
  const auto byte = [&](const void* at) {
    return std::to_string(static_cast<const std::byte*>(at) - pool.bytes().data());
  };
  std::string blocks;
  for (const std::uint32_t block : kv.blocks) blocks += " " + std::to_string(block);
  return {"keys from byte " + byte(kv.keys),
          "values from byte " + byte(kv.values),
          "from a block to the next: " + std::to_string(kv.block_stride) + " numbers",
          "block_size: " + std::to_string(kv.block_size),
          "head_size: " + std::to_string(kv.head_size),
          "blocks:" + blocks,
          "length: " + std::to_string(kv.length),
          "first: " + std::to_string(kv.first),
          "type: " + std::string(name_of(kv.type))};
}

/// Writes all blocks of a pool of latents: from `begin` on, position by position, layer by layer.
void fill(KvPool& pool, float begin) {
  Blocks table;
  for (std::uint32_t block = 0; block < pool.num_blocks(); ++block) table.push_back(block);
  std::vector<float> row(static_cast<std::size_t>(pool.shape().head_size));
  for (std::uint32_t position = 0; position < pool.num_blocks() * pool.block_size(); ++position) {
    for (int layer = 0; layer < pool.shape().layers; ++layer) {
      for (float& x : row) x = begin++;
      pool.store_latent(layer, table, position, row.data());
    }
  }
}

/// A shape, two pools and copies from one to the other -> what the other has, block by block. It
/// begins with numbers from 1 on in the first pool and from 129 on in the second, where that is to
/// be full.
Json copy(const Json& input) {
  KvPool source = make_pool(input, small(input, "device_blocks"), KvLayout::latent);
  KvPool target = make_pool(input, small(input, "host_blocks"), KvLayout::latent);
  require(source.bytes().size() / bytes_of(source.type()) <= 128, "numbers that are not exact");
  require(target.bytes().size() / bytes_of(target.type()) <= 128, "numbers that are not exact");
  fill(source, 1);
  if (input.value("host_is_full", false)) fill(target, 129);
  Json answer = Json::array();
  for (const Json& copied : input.at("copies")) {
    const auto from = copied.at("from").get<std::uint32_t>();
    const auto to = copied.at("to").get<std::uint32_t>();
    require(from < source.num_blocks() && to < target.num_blocks(), "a block beyond its pool");
    target.copy(source, from, to);
  }
  const std::vector<float> numbers = numbers_of(target);
  for (std::uint32_t block = 0; block < target.num_blocks(); ++block) {
    const std::size_t count = numbers.size() / target.num_blocks();
    std::string line = "block " + std::to_string(block) + " of the host:";
    for (std::size_t i = block * count; i < (block + 1) * count; ++i) {
      const float x = numbers[i];
      line += std::isnan(x) ? " -" : " " + std::to_string(static_cast<int>(x));
    }
    answer.push_back(line);
  }
  return answer;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"first_of", first_of}, {"store", store}, {"view", view}, {"copy", copy}};
}

}  // namespace forge::labs
