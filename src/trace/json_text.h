// Values of the trace format as text, appended to a buffer.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fields.h"
#include "forge/core/check.h"
#include "forge/trace/text_buffer.h"

namespace forge::trace::detail {

template <std::unsigned_integral T>
void append_json(TextBuffer& out, T number) {
  out.append(number);
}
inline void append_json(TextBuffer& out, bool value) {
  out.append(value ? std::string_view("true") : std::string_view("false"));
}
template <AnyId T>
void append_json(TextBuffer& out, T id) {
  out.append(id.value);
}
inline void append_json_digest(TextBuffer& out, std::uint64_t digest) {
  out.append('"');
  out.append_hex(digest);
  out.append('"');
}
inline void append_json(TextBuffer& out, CacheSalt salt) { append_json_digest(out, salt.value); }
inline void append_json(TextBuffer& out, ClientId client) { append_json_digest(out, client.value); }
inline void append_json(TextBuffer& out, UserId user) { append_json_digest(out, user.value); }
template <Named T>
void append_json(TextBuffer& out, T value) {
  out.append('"');
  out.append(forge::name_of(value));
  out.append('"');
}

/// Requires: UTF-8, as texts from JSON are.
inline void append_json(TextBuffer& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.append('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out.append(std::string_view("\\u00"));
      out.append(kDigits[byte >> 4U]);
      out.append(kDigits[byte & 15U]);
      continue;
    }
    if (c == '"' || c == '\\') out.append('\\');
    out.append(c);
  }
  out.append('"');
}

/// The shortest decimal that a reader of doubles, too, rounds to the same float.
inline void append_json(TextBuffer& out, float value) {
  FORGE_CHECK(std::isfinite(value), "sampling parameter ", value);
  char text[32];
  char* end = std::to_chars(text, text + sizeof text, value).ptr;
  double as_double = 0;
  std::from_chars(text, end, as_double);
  if (static_cast<float>(as_double) != value) {
    end = std::to_chars(text, text + sizeof text, static_cast<double>(value)).ptr;
  }
  out.append(std::string_view(text, static_cast<std::size_t>(end - text)));
}

template <class T>
void append_json(TextBuffer& out, const std::vector<T>& list);
template <Record T>
void append_json(TextBuffer& out, const T& record);

template <class T>
void append_json(TextBuffer& out, const std::optional<T>& value) {
  append_json(out, value.value());
}

/// The number of values that a row shows: those after are the usual ones.
template <Record T>
std::size_t shown_values(const T& record) {
  if constexpr (!HasUsual<T>) return kFieldCount<T>;
  std::size_t shown = 0;
  std::size_t index = 0;
  for_each_field<T>([&](const auto& field) {
    const bool left_out = may_leave_out<T>(index) && is_usual(record, field);
    ++index;
    if (!left_out) shown = index;
    return true;
  });
  return shown;
}

template <Record T>
void append_row(TextBuffer& out, const T& record) {
  out.append('[');
  const std::size_t shown = shown_values(record);
  std::size_t index = 0;
  for_each_field<T>([&](const auto& field) {
    if (index > 0) out.append(',');
    append_json(out, field.of(record));
    return ++index < shown;
  });
  out.append(']');
}

template <Record T>
void append_object(TextBuffer& out, const T& record) {
  out.append('{');
  bool first = true;
  std::size_t index = 0;
  for_each_field<T>([&](const auto& field) {
    const auto& value = field.of(record);
    if (may_leave_out<T>(index++) && is_usual(record, field)) return true;
    if constexpr (Vector<std::remove_cvref_t<decltype(value)>>) {
      if (value.empty()) return true;
    }
    if (!first) out.append(',');
    first = false;
    out.append('"');
    out.append(field.name);
    out.append(std::string_view("\":"));
    append_json(out, value);
    return true;
  });
  out.append('}');
}

template <Record T>
void append_json(TextBuffer& out, const T& record) {
  if constexpr (Fields<T>::kIsRow) {
    append_row(out, record);
  } else {
    append_object(out, record);
  }
}

template <class T>
void append_json(TextBuffer& out, const std::vector<T>& list) {
  out.append('[');
  bool first = true;
  for (const T& item : list) {
    if (!first) out.append(',');
    first = false;
    if constexpr (kIsDigestList<std::vector<T>>) {
      append_json_digest(out, item);
    } else {
      append_json(out, item);
    }
  }
  out.append(']');
}

}  // namespace forge::trace::detail
