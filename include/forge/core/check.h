// FORGE_CHECK: programmer errors abort, in every build, with the values at hand.
//
// Expected failures (no blocks left, a bad request) are values, see the
// `expected` types of each header. A failed check means that the program itself
// is wrong; going on would turn one bug into another's symptom.
//
// Example, given `int first` and `int count`:
//
//   FORGE_CHECK(first <= count, "first=", first, " count=", count);
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace forge::detail {

inline void append_to(std::string& out, std::string_view text) { out += text; }
template <class T>
requires std::integral<T> || std::floating_point<T>
void append_to(std::string& out, T number) { out += std::to_string(number); }

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append_to(out, parts), ...);
  return out;
}

/// Prints `file:line: check failed: condition (details)` and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& details);

}  // namespace forge::detail

#define FORGE_CHECK(condition, ...)                                        \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::forge::detail::check_failed(__FILE__, __LINE__, #condition,        \
                                    ::forge::detail::concat(__VA_ARGS__)); \
    }                                                                      \
  } while (false)
