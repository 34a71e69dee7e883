#include "gguf_parts.h"

namespace forge::formats {
namespace {

using detail::ByteReader;

/// Least bytes of a key and its value: length and one byte of the key, type, one byte of the value.
constexpr std::uint64_t kKeyBytesMin = 8 + 1 + 4 + 1;

std::uint32_t read_version(ByteReader& in) {
  if (in.take_text(4) != "GGUF") {
    in.fail(0, "not a GGUF file: it does not start with \"GGUF\"");
  }
  const std::uint64_t at = in.position();
  const auto version = in.number<std::uint32_t>();
  if (version == 2 || version == 3) return version;
  // A version in the other order of bytes has zeros where ours has its number.
  if (version != 0 && (version & 0xffff) == 0) {
    in.fail(at, "a big-endian file; little-endian files are read");
  }
  in.fail(at, "version " + std::to_string(version) + "; 2 and 3 are read");
  return 0;
}

/// A count of the header. Each of what it counts takes `bytes_min` bytes at least.
struct Count {
  const char* what;
  std::uint64_t max;
  std::uint64_t bytes_min;
};

std::uint64_t read_count(ByteReader& in, const Count& expected) {
  const std::uint64_t at = in.position();
  const auto count = in.number<std::uint64_t>();
  if (!in.ok()) return 0;
  if (count > expected.max) {
    in.fail(at, std::to_string(count) + " " + expected.what + "; accepted are 0 .. " +
                    std::to_string(expected.max));
  } else if (count > in.remaining() / expected.bytes_min) {
    in.fail(at, std::to_string(count) + " " + expected.what + " do not fit into the " +
                    std::to_string(in.remaining()) + " bytes that follow");
  }
  return count;
}

}  // namespace

tl::expected<GgufContents, FileError> parse_gguf(std::span<const std::byte> file,
                                                 const std::string& path) {
  ByteReader in(file, path);
  GgufContents contents;
  contents.version = read_version(in);
  const std::uint64_t tensors =
      read_count(in, {"tensors", Gguf::kTensorsMax, detail::kDescriptionBytesMin});
  const std::uint64_t keys = read_count(in, {"keys", Gguf::kKeysMax, kKeyBytesMin});
  if (in.ok()) detail::read_metadata(in, keys, contents.metadata);
  if (in.ok()) detail::read_tensors(in, tensors, file, contents);
  if (!in.ok()) return tl::unexpected(*in.error());
  return contents;
}

}  // namespace forge::formats
