// Utf8Stream: bytes in, whole UTF-8 characters out.
//
// A model that emits bytes emits broken ones too, and a character can end in a later
// step than it began. The stream gives out what is certain: complete characters, and
// U+FFFD for each ill-formed part, as soon as it is known to be ill-formed.
//
// An ill-formed part is a maximal subpart: the longest start of a well-formed character,
// or else one byte. Source: The Unicode Standard 15.0, section 3.9, table 3-7 and
// "U+FFFD Substitution of Maximal Subparts", which is also the W3C/WHATWG decoder.
//
//   bytes   61 F1 80 80 E1 80 C2 62        text   a U+FFFD U+FFFD U+FFFD b
//
// What comes out depends on the bytes alone, never on how they were grouped.
// Owns at most three pending bytes. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace forge::text {

class Utf8Stream {
 public:
  /// Appends to `out` the characters that `byte` makes certain.
  void push(unsigned char byte, std::string& out);

  /// Ends the text: an unfinished character is ill-formed. After it the stream is as new.
  void finish(std::string& out);

 private:
  void start(unsigned char byte, std::string& out);
  void expect(unsigned char lead, int continuations, unsigned char lowest, unsigned char highest);

  std::string pending_;           // start of a character, each byte checked
  int needed_ = 0;                // continuation bytes still to come
  unsigned char lowest_ = 0x80;   // range of the next one: narrower after E0, ED, F0
  unsigned char highest_ = 0xBF;  // and F4, which rules out overlong forms and surrogates
};

/// The characters of a whole text at once.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace forge::text
