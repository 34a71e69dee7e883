// Choices: what a test does, read from bytes: those of a fuzzer, which keeps the bytes that lead
// somewhere new, or those of a random generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace forge::testing {

class Choices {
 public:
  /// Borrows the bytes.
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// Whether bytes are left. Without any, every choice is 0.
  bool more() const { return !bytes_.empty(); }

  /// A number below `limit`, by two bytes. Requires: 1 <= limit <= 65536.
  std::size_t below(std::size_t limit) {
    std::size_t number = 0;
    for (int i = 0; i < 2 && more(); ++i) {
      number = number << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return number % limit;
  }

  /// One of the elements. Requires: there are 1 .. 65536.
  template <class Range>
  auto one_of(Range&& range) {
    const auto index = static_cast<std::ptrdiff_t>(below(std::size(range)));
    return std::next(std::begin(range), index);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace forge::testing
