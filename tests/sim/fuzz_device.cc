// Any bytes: parse_device refuses them with words, or returns a description that can be used.
#include <cstddef>
#include <cstdint>

#include "forge/core/check.h"
#include "forge/sim/kernel_time.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto device = forge::sim::parse_device(text);
  if (!device) {
    FORGE_CHECK(!device.error().empty(), "an error without words");
    return 0;
  }
  const auto fit = forge::sim::occupancy(*device, 256, {.shared_bytes = 4096, .registers = 64});
  FORGE_CHECK(fit.blocks >= 0 && fit.fraction <= 1, "blocks=", fit.blocks);
  FORGE_CHECK(forge::sim::copy_us(*device, 1 << 20) > 0, "a copy takes time");
  return 0;
}
