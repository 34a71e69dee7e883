// Compiles as it stands; with one of the macros defined it must not (tests/tidy/CMakeLists.txt).
#include "forge/core/ids.h"

namespace forge {

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
