// Names that occur again in the other files here, and are not those of two classes of one program.
#pragma once

#include <cstddef>

namespace forge {

class Declared {};
template <class T>
struct Specialised {};
struct First {
  struct Part {};
};

}  // namespace forge
