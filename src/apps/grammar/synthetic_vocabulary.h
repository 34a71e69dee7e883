// A vocabulary that is made up, always the same, for measurements where no large one is at hand.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace forge::apps {

/// `size` different tokens with the lengths and kinds of large byte-level vocabularies: all bytes,
/// words with and without a space before them, numbers of up to three digits, white space, what
/// code and JSON are punctuated with, characters of two to four bytes and parts of them. The last
/// is the end of a text, and empty. Requires: at least 20,000.
std::vector<std::string> synthetic_vocabulary(std::size_t size);

}  // namespace forge::apps
