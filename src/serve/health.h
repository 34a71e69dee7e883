// Health: whether a server should be asked, and whether it should be ended.
//
//   health         live (GET /health/live)   ready (GET /health/ready, /health, /healthz)
//   ok             yes                       yes
//   loading        yes                       no: the model is not there yet
//   shutting_down  yes                       no: what is in flight is still answered
//   stalled        no                        no: there is work, and it does not get on
//   target_lost    no                        no: no step can succeed any more
//
// A router asks whether it is ready, and sends requests elsewhere while it is not; who keeps it
// running (a kubelet, systemd's watchdog) asks whether it is live, and starts it anew when it is
// not.
//
// Thread contract: the I/O thread.
#pragma once

#include "forge/core/names.h"

namespace forge::serve {

struct ServerState;

enum class Health { ok, loading, shutting_down, stalled, target_lost };
constexpr Names<Health> names_of(Health) {
  return {"ok", "loading", "shutting_down", "stalled", "target_lost"};
}

/// The worst that holds.
Health health_of(const ServerState& state);

constexpr bool is_live(Health health) { return health < Health::stalled; }
constexpr bool is_ready(Health health) { return health == Health::ok; }

}  // namespace forge::serve
