// Compiles as it stands; with one of the macros defined it must not (tests/tidy/CMakeLists.txt).
#include <cstdint>

#include "forge/core/ids.h"
#include "forge/core/names.h"

namespace forge {

enum class Fruit : std::uint8_t {
  apple,
  pear,
#if defined(ENUMERATOR_WITHOUT_NAME)
  plum,
#endif
};
constexpr Names<Fruit> names_of(Fruit) { return {"apple", "pear"}; }
static_assert(name_of(Fruit::pear) == "pear");

void free_sequence(SeqId) {}

bool use() {
  free_sequence(SeqId(7));
#if defined(BLOCK_FOR_SEQUENCE)
  free_sequence(BlockId(7));
#elif defined(NUMBER_FOR_SEQUENCE)
  free_sequence(7);
#elif defined(SUM_OF_IDS)
  free_sequence(SeqId(7) + SeqId(1));
#elif defined(COMPARISON_ACROSS_IDS)
  return SeqId(7) == StepId(7);
#endif
  return SeqId(7) < SeqId(8);
}

}  // namespace forge
