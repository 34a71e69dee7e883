#include "profile_report.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <utility>

namespace forge::apps {
namespace {

using model::Operation;
using model::OperationTotals;
using model::PassProfile;

std::string number(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string percent(double ratio) { return number(100 * ratio, 1) + '%'; }

double all_operations(const model::Work& work) {
  double sum = 0;
  for (const double count : work.operations) sum += count;
  return sum;
}

/// A rate, where there was something to count.
std::string rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? number(amount / seconds / 1e9, 1) : "-";
}

/// "0.81 (3) .. 0.90 (21)": milliseconds of a pass, and the layers.
std::string layers_text(const PassProfile& profile, Operation operation) {
  struct Layer {
    double seconds;
    int number;
  };
  std::vector<Layer> layers;
  for (int layer = 0; layer < profile.layers(); ++layer) {
    const OperationTotals totals = profile.totals(operation, layer);
    if (totals.calls > 0) layers.push_back({totals.seconds, layer});
  }
  if (layers.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(layers, {}, &Layer::seconds);
  const auto text = [&](const Layer& layer) {
    return number(layer.seconds * 1e3 / static_cast<double>(profile.passes()), 3) + " (" +
           std::to_string(layer.number) + ')';
  };
  return text(*least) + " .. " + text(*most);
}

class Table {
 public:
  explicit Table(std::ostream& out) : out_(out) {}

  void line(std::string_view name, std::initializer_list<std::string> cells) {
    out_ << std::left << std::setw(12) << name << std::right;
    for (const std::string& cell : cells) out_ << std::setw(10) << cell;
  }
  void end(const std::string& last = {}) { out_ << (last.empty() ? "" : "   ") << last << '\n'; }

 private:
  std::ostream& out_;
};

void print_limits(const linear::MachineLimits& limits, std::ostream& out) {
  out << "limits of the machine: reads " << number(limits.read_bytes_per_s / 1e9, 1) << " GB/s";
  for (std::size_t i = 0; i < limits.peaks.size(); ++i) {
    if (!limits.peaks[i]) continue;
    out << ", " << kNames<linear::Arithmetic>[i] << ' ' << number(*limits.peaks[i] / 1e9, 0)
        << " Gop/s";
  }
  out << '\n';
}

nlohmann::json to_json(Operation operation, std::optional<int> layer,
                       const OperationTotals& totals) {
  nlohmann::json operations = nlohmann::json::object();
  for (std::size_t i = 0; i < totals.work.operations.size(); ++i) {
    const double count = totals.work.operations[i];
    if (count > 0) operations[std::string(kNames<linear::Arithmetic>[i])] = count;
  }
  return {{"operation", name_of(operation)},
          {"layer", layer ? nlohmann::json(*layer) : nlohmann::json()},
          {"calls", totals.calls},
          {"seconds", totals.seconds},
          {"limit_seconds", totals.limit_seconds},
          {"bytes", totals.work.bytes},
          {"operations", std::move(operations)}};
}

constexpr int kPasses = 1;  // tracks of a process
constexpr int kOperations = 2;

/// Writes the events of a process.
class TimelineProcess {
 public:
  /// Borrows the separator, which is what stands before the next event.
  TimelineProcess(std::size_t number, std::string_view& separator, std::ostream& out)
      : number_(number), separator_(separator), out_(out) {}

  void name(const char* what, int track, const std::string& name) {
    write({{"ph", "M"}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}});
  }

  void add(int track, std::string_view name, double start_us, double us, nlohmann::json args) {
    write({{"ph", "X"},
           {"tid", track},
           {"name", name},
           {"ts", start_us},
           {"dur", us},
           {"args", std::move(args)}});
  }

 private:
  void write(nlohmann::json event) {
    event["pid"] = number_;
    out_ << std::exchange(separator_, ",\n") << event;
  }

  std::size_t number_;
  std::string_view& separator_;
  std::ostream& out_;
};

void write_process(const NamedProfile& named, PassProfile::Clock::time_point zero,
                   TimelineProcess out) {
  const std::vector<PassProfile::Span> spans = named.profile.spans();
  const auto us = [&](PassProfile::Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - zero).count();
  };
  out.name("process_name", 0, named.name);
  out.name("thread_name", kPasses, "passes");
  out.name("thread_name", kOperations, "operations");
  for (std::size_t i = 0; i < spans.size();) {
    const PassProfile::Span& first = spans[i];
    for (; i < spans.size() && spans[i].pass == first.pass; ++i) {
      const PassProfile::Span& span = spans[i];
      const double length = us(span.end) - us(span.start);
      nlohmann::json args = nlohmann::json::object();
      if (span.layer) args["layer"] = *span.layer;
      if (span.limit_seconds > 0 && length > 0) {
        args["of_limit_percent"] = 1e8 * span.limit_seconds / length;
      }
      out.add(kOperations, name_of(span.operation), us(span.start), length, std::move(args));
    }
    out.add(kPasses, "pass", us(first.start), us(spans[i - 1].end) - us(first.start),
            {{"pass", first.pass}});
  }
}

}  // namespace

CLI::Option* add_profile(CLI::App& app, ProfileOptions& options) {
  const auto set = [&options](const std::string& file) {
    if (!file.empty() && !std::ofstream(file)) {
      throw CLI::ValidationError("--profile", "cannot write '" + file + "'");
    }
    options.on = true;
    options.timeline_file = file;
  };
  return app
      .add_option_function<std::string>(
          "--profile", set,
          "Measure each operation of the model's passes: a table of its time, bytes and share of "
          "the machine's limit at the end, and a timeline for ui.perfetto.dev in FILE, if given")
      ->type_name("[FILE]")
      ->expected(0, 1);
}

void print_profile(const NamedProfile& named, std::ostream& out) {
  const PassProfile& profile = named.profile;
  const double all = profile.seconds();
  out << "\nprofile of " << named.name << ": " << profile.passes() << " passes, " << profile.rows()
      << " rows, " << number(all * 1e3, 1) << " ms\n";
  if (profile.passes() == 0) return;
  print_limits(profile.limits(), out);
  Table table(out);
  table.line("operation", {"calls", "ms", "share", "GB/s", "Gop/s", "of limit"});
  table.end("ms of a pass, least and most (layer)");
  double measured = 0;
  for (std::size_t i = 0; i < kNames<Operation>.size(); ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationTotals totals = profile.totals(operation);
    if (totals.calls == 0) continue;
    measured += totals.seconds;
    const auto of_limit = totals.of_limit();
    table.line(
        name_of(operation),
        {std::to_string(totals.calls), number(totals.seconds * 1e3, 2),
         percent(totals.seconds / all), rate(totals.work.bytes, totals.seconds),
         rate(all_operations(totals.work), totals.seconds), of_limit ? percent(*of_limit) : "-"});
    table.end(layers_text(profile, operation));
  }
  table.line("between", {"", number((all - measured) * 1e3, 2), percent(1 - measured / all)});
  table.end();
}

nlohmann::json to_json(const NamedProfile& named) {
  const PassProfile& profile = named.profile;
  nlohmann::json operations = nlohmann::json::array();
  const auto add = [&](std::optional<int> layer) {
    for (std::size_t i = 0; i < kNames<Operation>.size(); ++i) {
      const auto operation = static_cast<Operation>(i);
      const OperationTotals totals = profile.totals(operation, layer);
      if (totals.calls > 0) operations.push_back(to_json(operation, layer, totals));
    }
  };
  add(std::nullopt);
  for (int layer = 0; layer < profile.layers(); ++layer) add(layer);
  return {{"name", named.name},
          {"passes", profile.passes()},
          {"rows", profile.rows()},
          {"seconds", profile.seconds()},
          {"operations", std::move(operations)}};
}

void write_timeline(std::span<const NamedProfile> profiles, std::ostream& out) {
  auto zero = PassProfile::Clock::time_point::max();
  for (const NamedProfile& named : profiles) {
    const auto spans = named.profile.spans();
    if (!spans.empty()) zero = std::min(zero, spans.front().start);
  }
  out << "{\"traceEvents\":[";
  std::string_view separator = "\n";
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    write_process(profiles[i], zero, TimelineProcess(i + 1, separator, out));
  }
  out << "\n]}\n";
}

std::string save_timeline(std::span<const NamedProfile> profiles, const std::string& file) {
  if (file.empty()) return {};
  std::ofstream out(file);
  write_timeline(profiles, out);
  if (out << std::flush) return {};
  return "--profile: cannot write '" + file + "'";
}

}  // namespace forge::apps
