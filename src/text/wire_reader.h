// WireReader: the fields of a protocol buffer's message, in which SentencePiece writes its models.
//
//   tag: number * 8 + type   type 0: a number of up to 10 bytes, 7 bits each
//                            type 1: 8 bytes
//                            type 2: a length, then so many bytes: a text, or a message within
//                            type 5: 4 bytes
//
// Nothing is allocated: texts borrow from the bytes. Source:
// https://protobuf.dev/programming-guides/encoding. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace forge::text::detail {

class WireReader {
 public:
  enum class Type : std::uint8_t { number = 0, eight_bytes = 1, text = 2, four_bytes = 5 };

  struct Field {
    std::uint64_t number = 0;  ///< which field it is
    Type type = Type::number;
    std::uint64_t value = 0;  ///< of a number, or of its bytes, lowest first
    std::string_view text;
  };

  explicit WireReader(std::string_view message) : rest_(message) {}

  /// The next field; none at the end, or where the bytes are no field.
  std::optional<Field> next();

  /// Whether the bytes were fields and nothing else. After next() has returned none.
  bool ended_well() const { return rest_.empty() && !failed_; }

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::uint64_t> fixed(std::size_t bytes);

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace forge::text::detail
