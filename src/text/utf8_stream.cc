#include "forge/text/utf8_stream.h"

namespace forge::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

void Utf8Stream::push(unsigned char byte, std::string& out) {
  if (needed_ == 0) {
    start(byte, out);
    return;
  }
  if (byte < lowest_ || byte > highest_) {
    finish(out);
    start(byte, out);
    return;
  }
  pending_.push_back(static_cast<char>(byte));
  lowest_ = 0x80;
  highest_ = 0xBF;
  if (--needed_ == 0) {
    out += pending_;
    pending_.clear();
  }
}

void Utf8Stream::finish(std::string& out) {
  if (needed_ == 0) return;
  out += kReplacement;
  pending_.clear();
  needed_ = 0;
}

void Utf8Stream::start(unsigned char byte, std::string& out) {
  if (byte <= 0x7F) {
    out.push_back(static_cast<char>(byte));
  } else if (byte >= 0xC2 && byte <= 0xDF) {
    expect(byte, 1, 0x80, 0xBF);
  } else if (byte >= 0xE0 && byte <= 0xEF) {
    expect(byte, 2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF);
  } else if (byte >= 0xF0 && byte <= 0xF4) {
    expect(byte, 3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF);
  } else {
    out += kReplacement;
  }
}

void Utf8Stream::expect(unsigned char lead, int continuations, unsigned char lowest,
                        unsigned char highest) {
  pending_.assign(1, static_cast<char>(lead));
  needed_ = continuations;
  lowest_ = lowest;
  highest_ = highest;
}

std::string to_valid_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) stream.push(static_cast<unsigned char>(c), text);
  stream.finish(text);
  return text;
}

}  // namespace forge::text
