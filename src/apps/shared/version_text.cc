#include "version_text.h"

#include "forge/cuda/cuda_device.h"
#include "forge/sim/open_device.h"

namespace forge::apps {

std::string version_text(const std::string& program) {
  std::string targets = "cpu";
  if (sim::built_with_sim()) targets += ", sim";
  if (cuda::built_with_cuda()) targets += ", cuda";
  return program + " " FORGE_VERSION " (" FORGE_BUILD "; targets " + targets + ", null)";
}

}  // namespace forge::apps
