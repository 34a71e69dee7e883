// The command line of a target (target_options.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/engine/draft_watch.h"
#include "forge/runtime/target_options.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
class Option;
}  // namespace CLI

namespace forge::apps {

/// Adds the flags of scheduler, model and speculation to `app`; the values in `options` are their
/// defaults. Once app.parse() has returned, `options` is valid; what flags cannot check one by one
/// is a CLI::ValidationError. `options` must outlive `app`.
void add_target_options(CLI::App& app, runtime::TargetOptions& options);

/// Adds the flags of the scheduler alone; the same holds.
void add_scheduler_options(CLI::App& app, SchedulerConfig& config);

/// Adds --draft-alarm.
CLI::Option* add_acceptance_band(CLI::App& app, engine::AcceptanceBand& band);

/// Adds --chat-template.
CLI::Option* add_chat_template(CLI::App& app, runtime::ModelSource& source);

/// Adds --target, which takes one of `kinds`.
void add_target_choice(CLI::App& app, runtime::TargetKind& kind, const char* help,
                       std::span<const runtime::TargetKind> kinds);

/// Adds the flags of DeviceOptions.
void add_device_options(CLI::App& app, runtime::DeviceOptions& options);

/// A flag that only some targets have a use for.
struct FlagUse {
  std::string_view flag;
  std::vector<runtime::TargetKind> targets;
};

/// Flags without a use are refused, not ignored: names the first one given to `app`, of those above
/// and of `more`. Returns: an empty text, or what is wrong.
std::string misplaced_flag(const CLI::App& app, runtime::TargetKind kind,
                           std::span<const FlagUse> more = {});

}  // namespace forge::apps
