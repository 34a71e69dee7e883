// --profile: where the time of a model's passes goes (forge/model/pass_profile.h), as a table, as
// JSON and as a timeline.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "forge/model/pass_profile.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
class Option;
}  // namespace CLI

namespace forge::apps {

struct ProfileOptions {
  bool on = false;
  std::string timeline_file;  ///< empty: none is asked for
};

/// Adds --profile [FILE].
CLI::Option* add_profile(CLI::App& app, ProfileOptions& options);

/// The profile of a run, or of a part of it.
struct NamedProfile {
  std::string name;  ///< "decode 1"
  model::PassProfile profile;
};

/// A line for each operation that ran: its time, what it read and computed, its share of the limit,
/// and the layers in which it took least and most.
void print_profile(const NamedProfile& named, std::ostream& out);

/// {"name":"decode 1","passes":3,"rows":3,"seconds":...,"operations":[
///   {"operation":"qkv","layer":0,"calls":3,"seconds":...,"limit_seconds":...,"bytes":...,
///    "operations":{"int8":...}}, ...]}; the layer is null before the first and after the last one.
nlohmann::json to_json(const NamedProfile& named);

/// The last operations (PassProfile::kSpansMax) of each profile for the Perfetto UI
/// (https://ui.perfetto.dev): "Trace Event Format" (Google, 2016), a process each with a track of
/// passes and one of operations, in microseconds since the first.
void write_timeline(std::span<const NamedProfile> profiles, std::ostream& out);

/// write_timeline into `file`, if it is one. Returns: an empty text, or what is wrong.
std::string save_timeline(std::span<const NamedProfile> profiles, const std::string& file);

}  // namespace forge::apps
