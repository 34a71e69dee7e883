// Names of enumerators, beside their enum: what traces, HTTP, flags and messages call them.
//
// An enum has names where names_of() stands beneath it, in its own namespace, and lists one for
// each enumerator. Enumerators count from 0; one without a name does not compile, nor do two of
// one name. Beneath an enum class Priority of low, normal and high stands:
//
//   constexpr Names<Priority> names_of(Priority) { return {"low", "normal", "high"}; }
//
// Then name_of(Priority::high) is "high", and from_name<Priority>("low") is Priority::low.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace forge {
namespace detail {

/// Compilers spell a value that is no enumerator as a number: "(Color)2".
template <class E, E kValue>
consteval bool is_enumerator() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const char after = text[text.rfind(')') + 1];
  return after < '0' || after > '9';
}

template <class E, std::size_t kCount = 0>
consteval std::size_t enumerator_count() {
  if constexpr (is_enumerator<E, static_cast<E>(kCount)>()) {
    return enumerator_count<E, kCount + 1>();
  } else {
    return kCount;
  }
}

}  // namespace detail

template <class E>
struct Names {
  static constexpr std::size_t kCount = detail::enumerator_count<E>();

  template <class... Texts>
  consteval Names(Texts... texts) : all{texts...} {  // NOLINT: names_of() returns a list of texts
    static_assert(sizeof...(texts) == kCount, "each enumerator has a name, and only they have");
    for (std::size_t i = 0; i < kCount; ++i) {
      for (std::size_t other = 0; other < i; ++other) {
        if (all[i] == all[other]) throw "two enumerators have one name";  // does not compile
      }
    }
  }

  std::array<std::string_view, kCount> all;  ///< at the values of their enumerators
};

template <class E>
concept Named = requires(E e) {
  names_of(e);
};

/// The names of all enumerators of E.
template <Named E>
inline constexpr auto kNames = names_of(E{}).all;

template <Named E>
constexpr std::string_view name_of(E value) {
  return kNames<E>[static_cast<std::size_t>(value)];
}

/// The enumerator of that name; nullopt if there is none.
template <Named E>
constexpr std::optional<E> from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames<E>.size(); ++i) {
    if (kNames<E>[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace forge
