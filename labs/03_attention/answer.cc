// One token's attention over a small paged KV cache, as a whole and by single segments.
//
// A case has rows of keys and values that repeat, so that a long context is a short case: position
// j has row j % rows of each. The keys of a segment are multiplied by its factor, if it has one.
// Numbers that a row does not give are 0, and blocks that a table does not name follow its largest.
// With "value_size" the keys are latents, whose first numbers are values: those of "values" are not
// read.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "answering.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/latent_attention.h"

namespace forge::labs {
namespace {

using numerics::KvType;
using numerics::PagedKV;
using numerics::PagedLatent;
using numerics::QueryGroup;
using Row = std::vector<float>;

constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();
/// Numbers beyond both ends of the pool, so that a wrong index reads one of them.
constexpr std::size_t kMargin = 4096;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/// "0.3333333 (3eaaaaab)".
std::string shown(float x) {
  if (std::isnan(x)) return "nan";
  char text[48];
  std::snprintf(text, sizeof text, "%.7g (%08x)", static_cast<double>(x), numerics::bits_of(x));
  return text;
}

float number_of(const Row& row, std::size_t index) {
  return index < row.size() ? row[index] : 0.0f;
}

/// Numbers of one type, with kMargin NaN before and behind them.
class Memory {
 public:
  Memory(KvType type, std::size_t count)
      : type_(type), count_(count), bytes_((count + 2 * kMargin) * bytes_of(type)) {
    for (std::size_t i = 0; i < count + 2 * kMargin; ++i) write(i, kUnwritten);
  }

  const void* at(std::size_t index) const { return bytes_.data() + (kMargin + index) * size(); }
  void set(std::size_t index, float x) {
    require(index < count_, "a number beyond the pool");
    write(kMargin + index, x);
  }

 private:
  std::size_t size() const { return bytes_of(type_); }
  void write(std::size_t index, float x) {
    std::byte* to = bytes_.data() + index * size();
    if (type_ == KvType::f32) *reinterpret_cast<float*>(to) = x;
    if (type_ == KvType::f16) *reinterpret_cast<numerics::F16*>(to) = numerics::to_f16(x);
    if (type_ == KvType::bf16) *reinterpret_cast<numerics::BF16*>(to) = numerics::to_bf16(x);
  }

  KvType type_;
  std::size_t count_;
  std::vector<std::byte> bytes_;
};

/// Blocks of one KV head: keys [block_size] [D], in the order of their type, then values.
class Pool {
 public:
  Pool(const Json& input, int head_size, int length)
      : type_(type_of(input)),
        block_size_(input.value("block_size", 1)),
        head_size_(head_size),
        length_(length),
        table_(input.value("blocks", std::vector<std::uint32_t>{})),
        memory_(type_, blocks() * stride()) {}

  PagedKV view() const {
    return {.keys = memory_.at(0),
            .values = memory_.at(stride() / 2),
            .block_stride = static_cast<std::ptrdiff_t>(stride()),
            .block_size = block_size_,
            .head_size = head_size_,
            .blocks = table_,
            .length = length_,
            .type = type_};
  }

  /// Number i is i.
  void number() {
    for (std::size_t i = 0; i < blocks_ * stride(); ++i) memory_.set(i, static_cast<float>(i));
  }

  void store(int position, const Row& key, const Row& value) {
    const auto slot = static_cast<std::size_t>(position % block_size_);
    const auto size = static_cast<std::size_t>(block_size_);
    const auto D = static_cast<std::size_t>(head_size_);
    const std::size_t begin = table_[static_cast<std::size_t>(position / block_size_)] * stride();
    for (std::size_t d = 0; d < D; ++d) {
      const std::size_t at = has_transposed_keys(type_) ? d * size + slot : slot * D + d;
      memory_.set(begin + at, number_of(key, d));
      memory_.set(begin + stride() / 2 + slot * D + d, number_of(value, d));
    }
  }

 private:
  static KvType type_of(const Json& input) {
    const std::string name = input.value("type", "f32");
    for (const KvType type : {KvType::f32, KvType::bf16, KvType::f16}) {
      if (name_of(type) == name) return type;
    }
    throw std::invalid_argument("no such type");
  }

  std::size_t stride() const { return static_cast<std::size_t>(2 * block_size_ * head_size_); }

  /// Completes the table; the number of blocks.
  std::size_t blocks() {
    require(block_size_ >= 1 && head_size_ >= 1 && length_ >= 1, "nothing to attend to");
    require(block_size_ <= 64 && head_size_ <= 64 && length_ <= 4096, "too large");
    const auto needed = static_cast<std::size_t>((length_ + block_size_ - 1) / block_size_);
    std::uint32_t largest = 0;
    for (const std::uint32_t block : table_) largest = std::max(largest, block + 1);
    while (table_.size() < needed) table_.push_back(largest++);
    require(largest <= 4096, "too large");
    blocks_ = largest;
    return blocks_;
  }

  KvType type_;
  int block_size_;
  int head_size_;
  int length_;
  std::vector<std::uint32_t> table_;
  std::size_t blocks_ = 0;
  Memory memory_;
};

/// What a case says of the keys, the values and the queries.
struct Context {
  explicit Context(const Json& input)
      : queries(input.at("q").get<std::vector<Row>>()),
        length(input.at("length").get<int>()),
        first(input.value("first", 0)),
        D(queries.empty() ? 0 : static_cast<int>(queries[0].size())),
        pool(input, D, length) {
    require(first >= 0 && first < length, "no position is seen");
    const auto keys = input.at("keys").get<std::vector<Row>>();
    const auto values = input.at("values").get<std::vector<Row>>();
    const Row factors = input.value("factors", Row{});
    require(!keys.empty() && !values.empty(), "no keys or no values");
    for (int j = 0; j < length; ++j) {
      const auto position = static_cast<std::size_t>(j);
      Row key = keys[position % keys.size()];
      const auto segment = static_cast<std::size_t>(j / numerics::kKeySegment);
      for (float& x : key) x *= segment < factors.size() ? factors[segment] : 1.0f;
      pool.store(j, key, values[position % values.size()]);
    }
    for (const Row& query : queries) {
      for (int d = 0; d < D; ++d) q.push_back(number_of(query, static_cast<std::size_t>(d)));
    }
    sinks = input.value("sinks", Row{});
    require(sinks.empty() || sinks.size() >= queries.size(), "a head has no sink");
    group = {.q = q.data(),
             .heads = static_cast<int>(queries.size()),
             .scale = input.value("scale", 1.0f),
             .score_cap = input.value("cap", 0.0f),
             .sinks = sinks.empty() ? nullptr : sinks.data()};
    require(group.score_cap >= 0, "a cap below 0");
    value_size = input.value("value_size", 0);
    require(value_size >= 0 && value_size <= D, "more values than keys have numbers");
  }

  bool is_latent() const { return value_size > 0; }

  PagedKV view() const {
    PagedKV kv = pool.view();
    kv.first = first;
    return kv;
  }

  PagedLatent latents() const {
    const PagedKV kv = pool.view();
    require(!has_transposed_keys(kv.type), "latents are rows");
    require(first == 0 && sinks.empty() && group.score_cap == 0, "latents know none of that");
    return {.rows = kv.keys,
            .block_stride = kv.block_stride,
            .block_size = kv.block_size,
            .key_size = D,
            .value_size = value_size,
            .blocks = kv.blocks,
            .length = length,
            .type = kv.type};
  }

  std::vector<Row> queries;
  int length;
  int first;
  int D;
  int value_size = 0;
  Pool pool;
  std::vector<float> q;
  std::vector<float> sinks;
  QueryGroup group;
};

/// {"type", "block_size", "head_size", "blocks", "length"} -> of each number of each key, which
/// number of the pool it is. A key alone is seen by a query that has 1 at one number: its score.
Json key(const Json& input) {
  const int D = input.at("head_size").get<int>();
  const int length = input.at("length").get<int>();
  Pool pool(input, D, length);
  pool.number();
  Json read = Json::array();
  for (int position = 0; position < length; ++position) {
    PagedKV kv = pool.view();
    kv.first = position;
    kv.length = position + 1;
    for (int d = 0; d < D; ++d) {
      Row q(static_cast<std::size_t>(D), 0.0f);
      q[static_cast<std::size_t>(d)] = 1.0f;
      const float m = attend_segment_reference({q.data(), 1, 1.0f}, kv, 0).m;
      const std::string at =
          std::isnan(m) ? "outside of the pool"
                        : "number " + std::to_string(static_cast<long>(m)) + " of the pool";
      read.push_back("position " + std::to_string(position) + ", number " + std::to_string(d) +
                     ": " + at);
    }
  }
  return read;
}

/// A context and "segment" -> m, l and a of that segment.
Json segment_of(const Json& input) {
  const Context context(input);
  const int index = input.at("segment").get<int>();
  require(context.queries.size() == 1 && index >= 0, "not one segment of one head");
  require(index * numerics::kKeySegment < context.length &&
              (index + 1) * numerics::kKeySegment > context.first,
          "nothing of the segment is seen");
  const auto segment = context.is_latent()
                           ? attend_segment_reference(context.q.data(), context.group.scale,
                                                      context.latents(), index)
                           : attend_segment_reference(context.group, context.view(), index);
  Json answer = {"m: " + shown(segment.m), "l: " + shown(segment.l)};
  for (std::size_t d = 0; d < segment.a.size(); ++d) {
    answer.push_back("a[" + std::to_string(d) + "]: " + shown(segment.a[d]));
  }
  return answer;
}

/// A context -> what each head reads.
Json attend(const Json& input) {
  const Context context(input);
  const auto D = static_cast<std::size_t>(context.is_latent() ? context.value_size : context.D);
  std::vector<float> out(context.queries.size() * D);
  if (context.is_latent()) {
    attend_reference(context.group, context.latents(), out.data());
  } else {
    attend_reference(context.group, context.view(), out.data());
  }
  Json answer = Json::array();
  for (std::size_t i = 0; i < out.size(); ++i) {
    answer.push_back("head " + std::to_string(i / D) + ", out[" + std::to_string(i % D) +
                     "]: " + shown(out[i]));
  }
  return answer;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"key", key}, {"segment_of", segment_of}, {"merge", attend}, {"attend_all", attend}};
}

}  // namespace forge::labs
