#include "forge/corpus/glossary.h"

namespace forge::corpus {

std::span<const GlossaryEntry> glossary() {
  static constexpr GlossaryEntry kEntries[] = {
#include "glossary.inc"
  };
  return kEntries;
}

}  // namespace forge::corpus
