#include "forge/trace/text_buffer.h"

namespace forge::trace {

// Out of line: rare, and kept out of every append's code.
void TextBuffer::grow(std::size_t bytes) { bytes_.resize(2 * bytes_.size() + bytes); }

}  // namespace forge::trace
