#pragma once

namespace forge::detail {

struct KernelTwin {};

}  // namespace forge::detail
