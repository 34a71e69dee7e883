#include "forge/formats/gguf_keys.h"

#include <span>
#include <utility>

#include "forge/core/check.h"

namespace forge::formats {

void GgufKeys::set(const std::string& key, GgufValue value) {
  metadata_.insert_or_assign(key, std::move(value));
}

void GgufKeys::set_text(const std::string& key, std::string value) {
  texts_.push_back(std::move(value));
  set(key, std::string_view(texts_.back()));
}

void GgufKeys::set_u32(const std::string& key, std::uint64_t value) {
  FORGE_CHECK(value <= UINT32_MAX, key, "=", value);
  set(key, static_cast<std::uint32_t>(value));
}

void GgufKeys::set_f32(const std::string& key, double value) {
  set(key, static_cast<float>(value));
}

void GgufKeys::set_texts(const std::string& key, std::vector<std::string> values) {
  GgufTexts views;
  for (std::string& value : values) {
    texts_.push_back(std::move(value));
    views.push_back(texts_.back());
  }
  set(key, GgufArray(std::move(views)));
}

void GgufKeys::set_f32s(const std::string& key, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  numbers_.emplace_back(bytes.begin(), bytes.end());
  set(key, GgufArray(GgufNumbers(GgufType::f32, numbers_.back())));
}

void GgufKeys::set_i32s(const std::string& key, const std::vector<std::int32_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  numbers_.emplace_back(bytes.begin(), bytes.end());
  set(key, GgufArray(GgufNumbers(GgufType::i32, numbers_.back())));
}

}  // namespace forge::formats
