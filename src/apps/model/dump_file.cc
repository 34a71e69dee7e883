#include "dump_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "forge/formats/safetensors.h"
#include "forge/formats/tensor_writer.h"

namespace forge::apps {
namespace {

using formats::ElementType;
using formats::SafeTensors;
using formats::TensorWriter;

constexpr const char* kTokens = "tokens";

template <class T>
std::vector<T> copy_of(std::span<const std::byte> bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace

tl::expected<void, std::string> write_dump(const std::string& path, const Dump& dump) {
  std::vector<formats::TensorSpec> specs = {{kTokens, ElementType::i64, {dump.tokens.size()}}};
  std::map<std::string, std::string> order;  // SafeTensors sorts by name; the pass has an order
  for (const DumpedPoint& point : dump.points) {
    order[point.name] = std::to_string(specs.size());
    specs.push_back({point.name, ElementType::f32, {point.rows, point.width}});
  }
  auto writer = TensorWriter::safetensors(path, specs, order);
  if (!writer) return tl::unexpected(to_string(writer.error()));
  const std::vector<std::int64_t> tokens(dump.tokens.begin(), dump.tokens.end());
  auto done = writer->write(std::as_bytes(std::span(tokens)));
  for (auto point = dump.points.begin(); done && point != dump.points.end(); ++point) {
    done = writer->write(std::as_bytes(std::span(point->values)));
  }
  if (done) done = writer->finish();
  if (!done) return tl::unexpected(to_string(done.error()));
  return {};
}

tl::expected<Dump, std::string> read_dump(const std::string& path) {
  const auto file = SafeTensors::open(path);
  if (!file) return tl::unexpected(to_string(file.error()));
  const formats::Tensor* const tokens = file->find(kTokens);
  if (tokens == nullptr || tokens->type != ElementType::i64) {
    return tl::unexpected(path + ": has no tensor 'tokens' of I64, as dump --out writes");
  }
  Dump dump;
  for (const std::int64_t token : copy_of<std::int64_t>(tokens->bytes)) {
    dump.tokens.push_back(static_cast<std::uint32_t>(token));
  }
  for (const formats::Tensor& tensor : file->tensors()) {
    if (tensor.type != ElementType::f32 || tensor.shape.size() != 2) continue;
    dump.points.push_back(
        {tensor.name, tensor.shape[0], tensor.shape[1], copy_of<float>(tensor.bytes)});
  }
  return dump;
}

PointDifference difference(const DumpedPoint& a, const DumpedPoint& b) {
  PointDifference out{.name = a.name};
  bool comparable = true;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double distance = std::abs(double{a.values[i]} - double{b.values[i]});
    if (comparable && !std::isfinite(distance) && a.values[i] != b.values[i]) comparable = false;
    if (distance <= out.largest && comparable) continue;
    out.largest = distance;
    out.row = i / a.width;
    out.column = i % a.width;
    if (!comparable) break;
  }
  const double rms = spread_of(b.values).rms;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  out.relative = !comparable ? kInfinity : out.largest == 0 ? 0 : out.largest / rms;
  return out;
}

Spread spread_of(std::span<const float> values) {
  Spread out;
  double squares = 0;
  std::size_t count = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    out.least = count == 0 ? value : std::min(out.least, value);
    out.largest = count == 0 ? value : std::max(out.largest, value);
    squares += double{value} * double{value};
    ++count;
  }
  out.rms = count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
  return out;
}

}  // namespace forge::apps
