#include "interrupts.h"

#include <array>
#include <csignal>

namespace forge::apps {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void remember(int) { interrupted = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : std::array{SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace forge::apps
