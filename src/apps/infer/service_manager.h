// ServiceManager: what systemd is told of this program, where it started it as Type=notify.
//
// The protocol is a datagram of text to the socket that an environment variable names; without one,
// nobody is told. Source: sd_notify(3), "Notes", and sd_watchdog_enabled(3) of systemd.
//
// Thread contract: any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace forge::apps {

class ServiceManager {
 public:
  /// From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static ServiceManager from_environment();

  void tell_ready() const { tell("READY=1"); }
  void tell_stopping() const { tell("STOPPING=1"); }
  /// This process is well: it will not be ended for as long as the manager waits for that.
  void tell_alive() const { tell("WATCHDOG=1"); }

  /// How often to tell that: twice in the time after which the manager ends the process. Nothing:
  /// it does not watch.
  std::optional<std::chrono::microseconds> watchdog_period() const { return watchdog_period_; }

 private:
  void tell(std::string_view state) const;

  std::string socket_;  // a path, or '@' and an abstract name; empty: nobody is told
  std::optional<std::chrono::microseconds> watchdog_period_;
};

}  // namespace forge::apps
