#include "step_recording.h"

#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "forge/json/fields.h"

namespace forge::apps {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr IntegerRange kCounts{0, std::int64_t{1} << 48};
constexpr IntegerRange kRequestCounts{1, std::int64_t{1} << 24};
constexpr IntegerRange kThreadCounts{1, 1 << 20};
constexpr NumberRange kMicroseconds{0, 1e12};

/// A count of StepWork, by its name in a line.
struct WorkField {
  const char* name;
  std::uint64_t StepWork::*count;
};
constexpr WorkField kWorkFields[] = {{"decodes", &StepWork::decodes},
                                     {"drafts", &StepWork::drafts},
                                     {"prompt_rows", &StepWork::prompt_rows},
                                     {"decode_keys", &StepWork::decode_keys},
                                     {"prompt_keys", &StepWork::prompt_keys},
                                     {"logit_rows", &StepWork::logit_rows},
                                     {"blocks_copied", &StepWork::blocks_copied}};

double in_whole_nanoseconds(double us) { return std::round(us * 1e3) / 1e3; }

nlohmann::ordered_json step_json(const RecordedStep& step) {
  nlohmann::ordered_json json = {{"step", step.step},
                                 {"execute_us", in_whole_nanoseconds(step.execute_us)},
                                 {"policy_us", in_whole_nanoseconds(step.policy_us)}};
  for (const WorkField& field : kWorkFields) {
    const std::uint64_t count = step.work.*field.count;
    if (count > 0) json[field.name] = count;
  }
  if (!step.arrived.empty()) json["arrived"] = step.arrived;
  if (!step.tokens.empty()) json["tokens"] = step.tokens;
  return json;
}

void read_header(const json::Fields& fields, StepRecording& recording) {
  fields.integer("forge_step_times", {kFormat, kFormat});
  recording.target = {.kind = std::string(fields.one_of("target", {"cpu", "sim", "cuda"})),
                      .device = fields.text("device"),
                      .instructions = fields.text("instructions", ""),
                      .numerics = fields.text("numerics"),
                      .model = fields.text("model"),
                      .config = fields.text("config"),
                      .kv = fields.text("kv"),
                      .threads = fields.integer("threads", kThreadCounts)};
  recording.workload = {
      .mode = fields.text("mode"),
      .name = fields.text("workload"),
      .requests = fields.integer<std::uint64_t>("requests", kRequestCounts),
      .max_batch_size = fields.integer<std::uint64_t>("max_batch_size", kCounts),
      .max_batch_tokens = fields.integer<std::uint64_t>("max_batch_tokens", kCounts),
      .drafts = fields.integer<std::uint64_t>("drafts", kCounts)};
  fields.finish();
}

/// Reads the lines of steps, and holds them to what read_recording() promises.
class StepReader {
 public:
  explicit StepReader(std::uint64_t requests) : arrived_(requests) {}

  RecordedStep read(const json::Fields& fields) {
    RecordedStep step{.step = fields.natural("step"),
                      .execute_us = fields.number("execute_us", kMicroseconds),
                      .policy_us = fields.number("policy_us", kMicroseconds)};
    for (const WorkField& field : kWorkFields) {
      step.work.*field.count = fields.integer<std::uint64_t>(field.name, kCounts, 0);
    }
    if (step.us() <= 0) fields.fail("execute_us", "a number above 0");
    if (step.work.decodes + step.work.prompt_rows == 0)
      fields.fail("decodes", "an integer above 0");
    read_arrived(fields, step);
    read_tokens(fields, step);
    fields.finish();
    return step;
  }

 private:
  void read_arrived(const json::Fields& fields, RecordedStep& step) {
    for (const std::uint32_t request : requests(fields, "arrived")) {
      if (arrived_[request]) fields.refuse("arrived", "has request " + text(request) + " again");
      arrived_[request] = true;
      step.arrived.push_back(request);
    }
  }

  void read_tokens(const json::Fields& fields, RecordedStep& step) {
    for (const std::uint32_t request : requests(fields, "tokens")) {
      if (!arrived_[request]) {
        fields.refuse("tokens", "has request " + text(request) + ", which has not arrived");
      }
      step.tokens.push_back(request);
    }
  }

  std::vector<std::uint32_t> requests(const json::Fields& fields, std::string_view key) const {
    const auto last = static_cast<std::int64_t>(arrived_.size()) - 1;
    const std::vector<std::int64_t> found = fields.integers(key, {0, last});
    return {found.begin(), found.end()};
  }

  static std::string text(std::uint32_t request) { return std::to_string(request); }

  std::vector<bool> arrived_;
};

/// The fields of a line, read by `read`. Errors: what is wrong with them.
template <class Read>
tl::expected<void, std::string> read_line_of(const std::string& line, const Read& read) {
  const auto object = json::parse_object(line);
  if (!object) return tl::unexpected(to_string(object.error()));
  json::Fault fault;
  read(json::Fields(*object, "", fault));
  if (fault.is_set()) return tl::unexpected(std::move(fault.message));
  return {};
}

}  // namespace

nlohmann::ordered_json to_json(const RecordedTarget& target) {
  return {{"target", target.kind},
          {"device", target.device},
          {"instructions", target.instructions},
          {"numerics", target.numerics},
          {"model", target.model},
          {"config", target.config},
          {"kv", target.kv},
          {"threads", target.threads}};
}

nlohmann::ordered_json to_json(const RecordedWorkload& workload) {
  return {{"mode", workload.mode},
          {"workload", workload.name},
          {"requests", workload.requests},
          {"max_batch_size", workload.max_batch_size},
          {"max_batch_tokens", workload.max_batch_tokens},
          {"drafts", workload.drafts}};
}

void write_recording(const StepRecording& recording, std::ostream& out) {
  nlohmann::ordered_json header = {{"forge_step_times", kFormat}};
  header.update(to_json(recording.target));
  header.update(to_json(recording.workload));
  out << header.dump() << '\n';
  for (const RecordedStep& step : recording.steps) out << step_json(step).dump() << '\n';
}

tl::expected<StepRecording, std::string> read_recording(std::istream& in) {
  StepRecording recording;
  std::string line;
  std::getline(in, line);
  auto read = read_line_of(line, [&](const json::Fields& f) { read_header(f, recording); });
  StepReader steps(recording.workload.requests);
  for (std::size_t number = 1; read; ++number) {
    if (!std::getline(in, line)) break;
    read = read_line_of(
        line, [&](const json::Fields& fields) { recording.steps.push_back(steps.read(fields)); });
    if (!read) return tl::unexpected("line " + std::to_string(number + 1) + ": " + read.error());
  }
  if (!read) return tl::unexpected("no recording of step times: line 1: " + read.error());
  if (recording.steps.empty()) return tl::unexpected(std::string("has no steps"));
  return recording;
}

}  // namespace forge::apps
