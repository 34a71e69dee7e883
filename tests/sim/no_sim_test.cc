// What programs say in a build without the simulator: no_sim.cc is linked in place of the layer.
#include <gtest/gtest.h>

#include "forge/sim/open_device.h"

namespace forge::sim {
namespace {

TEST(WithoutSimulator, a_device_is_refused_by_name) {
  EXPECT_FALSE(built_with_sim());
  EXPECT_TRUE(known_device_names().empty());
  const auto device = open_device({.device = "h200"});
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error(),
            "simulating 'h200': this program was built without the simulated GPU (CMake's "
            "FORGE_SIM)");
}

}  // namespace
}  // namespace forge::sim
