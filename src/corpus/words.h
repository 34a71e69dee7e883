// The words of the world. In a list no two begin with the same letter: one byte tells them apart.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "forge/corpus/choices.h"

namespace forge::corpus {

inline constexpr std::array<std::string_view, 8> kNames = {"Ada", "Ben",  "Cleo", "Dov",
                                                           "Eva", "Finn", "Gus",  "Hana"};
inline constexpr std::array<std::string_view, 8> kPlaces = {"barn", "dock", "forge", "garden",
                                                            "inn",  "mill", "tower", "well"};
inline constexpr std::array<std::string_view, 8> kThings = {"axe",  "cup", "drum", "key",
                                                            "lamp", "map", "rope", "saw"};
inline constexpr std::array<std::string_view, 4> kColors = {"red", "blue", "green", "yellow"};

/// Any of `list`, which stays as it is.
template <class Element>
const Element& any_of(Choices& choices, std::span<const Element> list) {
  return list[choices.below(static_cast<std::uint32_t>(list.size()))];
}

}  // namespace forge::corpus
