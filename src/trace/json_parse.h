// JSON values as the types of the trace format: the walk over fields.h that checks everything.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>

#include "fields.h"
#include "forge/core/quoted.h"
#include "forge/json/parse.h"

namespace forge::trace::detail {

using Json = nlohmann::json;

/// What went wrong and, put together on the way out, where.
class Fault {
 public:
  explicit Fault(std::string message) : message_(std::move(message)) {}
  Fault within(std::string_view key) && {
    path_ = std::string(key) + (path_.empty() || path_[0] == '[' ? "" : ".") + path_;
    return std::move(*this);
  }
  Fault at(std::size_t index) && {
    const std::string part = "[" + std::to_string(index) + "]";
    path_ = part + (path_.empty() || path_[0] == '[' ? "" : ".") + path_;
    return std::move(*this);
  }
  std::string text() const { return path_.empty() ? message_ : path_ + ": " + message_; }

 private:
  std::string path_;
  std::string message_;
};
using Parsed = tl::expected<void, Fault>;

using json::shown;

inline tl::unexpected<Fault> fault(std::string message) {
  return tl::unexpected(Fault(std::move(message)));
}

template <std::unsigned_integral T>
Parsed parse(const Json& value, T& out) {
  constexpr T kMax = std::numeric_limits<T>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMax) {
    return fault(shown(value) + " is not an integer in 0.." + std::to_string(kMax));
  }
  out = value.get<T>();
  return {};
}

inline Parsed parse(const Json& value, bool& out) {
  if (!value.is_boolean()) return fault(shown(value) + " is neither true nor false");
  out = value.get<bool>();
  return {};
}

inline Parsed parse(const Json& value, std::string& out) {
  if (!value.is_string()) return fault(shown(value) + " is not a text");
  out = value.get<std::string>();
  return {};
}

inline Parsed parse(const Json& value, float& out) {
  if (value.is_number()) out = static_cast<float>(value.get<double>());
  if (!value.is_number() || !std::isfinite(out)) {
    return fault(shown(value) + " is not a finite number");
  }
  return {};
}

template <AnyId T>
Parsed parse(const Json& value, T& out) {
  return parse(value, out.value);
}

template <Named T>
Parsed parse(const Json& value, T& out) {
  const std::string* text = value.get_ptr<const std::string*>();
  if (const auto found = text == nullptr ? std::nullopt : from_name<T>(*text)) {
    out = *found;
    return {};
  }
  std::string accepted;
  for (const std::string_view name : kNames<T>) {
    accepted += (accepted.empty() ? "" : ", ") + std::string(name);
  }
  return fault(shown(value) + " is none of " + accepted);
}

/// In traces of old, "force" was "auto", asked of a scheduler that has a prefix cache.
inline Parsed parse(const Json& value, PrefixCacheUse& out) {
  if (value != "force") return parse<PrefixCacheUse>(value, out);
  out = PrefixCacheUse::automatic;
  return {};
}

inline Parsed parse_digest(const Json& value, std::uint64_t& out) {
  const std::string* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->size() != 16 ||
      text->find_first_not_of("0123456789abcdef") != std::string::npos) {
    return fault(shown(value) + " is not a string of 16 lower-case hexadecimal digits");
  }
  out = std::stoull(*text, nullptr, 16);
  return {};
}

inline Parsed parse(const Json& value, CacheSalt& out) { return parse_digest(value, out.value); }
inline Parsed parse(const Json& value, ClientId& out) { return parse_digest(value, out.value); }
inline Parsed parse(const Json& value, UserId& out) { return parse_digest(value, out.value); }

template <class T>
Parsed parse(const Json& value, std::vector<T>& out);
template <Record T>
Parsed parse(const Json& value, T& out);

template <class T>
Parsed parse(const Json& value, std::optional<T>& out) {
  return parse(value, out.emplace());
}

template <Record T>
Parsed parse_row(const Json& value, T& out) {
  constexpr std::size_t kMost = kFieldCount<T>;
  std::size_t least = kMost;
  if constexpr (HasUsual<T>) {
    least = Fields<T>::kAlways;
    out = Fields<T>::usual();
  }
  if (!value.is_array() || value.size() < least || value.size() > kMost) {
    return fault(shown(value) + " is not a list of " +
                 (least < kMost ? std::to_string(least) + " to " : "") + std::to_string(kMost) +
                 " values");
  }
  Parsed result;
  std::size_t index = 0;
  for_each_field<T>([&](const auto& field) {
    if (index == value.size()) return false;
    result = parse(value[index++], field.of(out));
    if (!result) result = tl::unexpected(std::move(result.error()).within(field.name));
    return result.has_value();
  });
  return result;
}

template <Record T>
Parsed parse_object(const Json& value, T& out) {
  if (!value.is_object()) return fault(shown(value) + " is not an object");
  if constexpr (HasUsual<T>) out = Fields<T>::usual();
  Parsed result;
  std::size_t known = 0;
  std::size_t index = 0;
  for_each_field<T>([&](const auto& field) {
    auto& member = field.of(out);
    const bool required =
        !may_leave_out<T>(index++) && !Vector<std::remove_cvref_t<decltype(member)>>;
    const auto found = value.find(field.name);
    if (found != value.end()) {
      ++known;
      result = parse(*found, member);
      if (!result) result = tl::unexpected(std::move(result.error()).within(field.name));
    } else if (required) {
      result = fault("field '" + std::string(field.name) + "' is missing");
    }
    return result.has_value();
  });
  if (!result || known == value.size()) return result;
  for (const auto& item : value.items()) {
    bool is_known = false;
    for_each_field<T>([&](const auto& field) {
      is_known = is_known || field.name == item.key();
      return true;
    });
    if (!is_known) return fault("unknown field " + in_quotes(item.key()));
  }
  return result;
}

template <Record T>
Parsed parse(const Json& value, T& out) {
  if constexpr (Fields<T>::kIsRow) {
    return parse_row(value, out);
  } else {
    return parse_object(value, out);
  }
}

template <class T>
Parsed parse(const Json& value, std::vector<T>& out) {
  // Empty lists are left out, so that each value has one text.
  if (!value.is_array() || value.empty()) {
    return fault(shown(value) + " is not a list of at least 1 element");
  }
  out.resize(value.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    Parsed item;
    if constexpr (kIsDigestList<std::vector<T>>) {
      item = parse_digest(value[i], out[i]);
    } else {
      item = parse(value[i], out[i]);
    }
    if (!item) return tl::unexpected(std::move(item.error()).at(i));
  }
  return {};
}

template <class T>
Parsed parse_member(const Json& object, std::string_view key, T& out) {
  const auto found = object.find(key);
  if (found == object.end()) return fault("field '" + std::string(key) + "' is missing");
  Parsed result = parse(*found, out);
  if (!result) return tl::unexpected(std::move(result.error()).within(key));
  return result;
}

}  // namespace forge::trace::detail
