// Classes of which the other files here define a second one each.
#pragma once

namespace forge::detail {

class alignas(64) Twin final {};

struct Outer {
  enum class Nested { one };
};

union KernelTwin {};
struct ProgramTwin {};

}  // namespace forge::detail
