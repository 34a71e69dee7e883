#include "model_commands.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "forge/linear/thread_pool.h"
#include "interrupts.h"

namespace forge::apps {

int unusable_model(const std::string& message) {
  const bool stopped = was_interrupted();
  std::cerr << "forge-model: " << (stopped ? kInterrupted : message) << '\n';
  return stopped ? kModelInterrupted : kModelUnusable;
}

int thread_count(int threads) {
  if (threads > 0) return threads;
  constexpr unsigned kMost = linear::ThreadPool::kThreadsMax;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMost));
}

}  // namespace forge::apps
