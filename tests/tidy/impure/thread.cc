#include <thread>

void impure() {
  std::thread([] {}).join();
}
