// EvenRouting: what choose_experts and plan_experts leave in memory, where no kernel runs and only
// costs are counted (counting_device.h): each row chooses its experts at random, all sets of them
// equally often. So an expert gets about as many rows as another, and of few rows most meet experts
// of their own.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <random>

#include "forge/gpu/kernels.h"

namespace forge {

class EvenRouting {
 public:
  /// Writes what the launch would, if it is one of the two.
  void run(const gpu::KernelLaunch& launch);

 private:
  void choose(const gpu::ChooseExpertsArgs& args);

  std::mt19937 random_{1};
};

}  // namespace forge
