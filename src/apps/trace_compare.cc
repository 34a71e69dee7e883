#include "trace_compare.h"

#include <iostream>

#include "forge/trace/replay.h"
#include "forge/trace/trace_bisect.h"
#include "forge/trace/trace_json.h"
#include "target_options.h"
#include "trace_file.h"

namespace forge {
namespace {

int report(const TraceComparison& comparison, const std::string& places) {
  if (comparison.header) std::cout << "headers differ: " << to_string(*comparison.header) << '\n';
  if (comparison.event) {
    std::cout << "step " << comparison.event->step.value << " (" << places
              << ") differs: " << to_string(comparison.event->difference) << '\n';
  }
  std::cout << comparison.equal_steps << " steps are equal\n";
  return comparison.equal() ? kEqual : kDifferent;
}

int unreadable(const ComparisonError& error, const InputTrace& left, const InputTrace& right) {
  return unusable((error.in_left ? left : right).error(error.error));
}

}  // namespace

int run_replay(const std::string& path) {
  InputTrace trace{path};
  if (const auto opened = trace.open(); !opened) return unusable(opened.error());
  const auto options = from_trace_header(trace.reader->header());
  if (!options) return unusable(path + ": line 1: " + options.error());
  const std::unique_ptr<Executor> executor = make_executor(*options);
  const auto vocabulary = static_cast<std::uint32_t>(options->executor.model.vocabulary_size);
  const auto report = replay(*trace.reader, *executor, vocabulary);
  if (!report) return unusable(trace.error(report.error()));
  if (!report->difference) {
    std::cout << report->steps << " steps replayed, all equal, digest "
              << digest_text(report->digest) << '\n';
    return kEqual;
  }
  const ReplayDifference& d = *report->difference;
  std::cout << "step " << d.step.value << " (line " << d.line
            << ") differs, recorded against replayed: " << to_string(d.difference) << '\n';
  if (!d.target_error.empty()) std::cout << "the target failed: " << d.target_error << '\n';
  std::cout << report->steps << " steps before it are equal, digest " << digest_text(report->digest)
            << '\n';
  return kDifferent;
}

int run_diff(const std::string& left_path, const std::string& right_path) {
  InputTrace left{left_path};
  InputTrace right{right_path};
  if (const auto opened = left.open(); !opened) return unusable(opened.error());
  if (const auto opened = right.open(); !opened) return unusable(opened.error());
  const auto comparison = compare(*left.reader, *right.reader);
  if (!comparison) return unreadable(comparison.error(), left, right);
  std::string places;
  if (comparison->event) {
    places = "lines " + std::to_string(comparison->event->left.line) + " and " +
             std::to_string(comparison->event->right.line);
  }
  return report(*comparison, places);
}

int run_bisect(const std::string& left_path, const std::string& right_path) {
  InputTrace left{left_path};
  InputTrace right{right_path};
  if (const auto opened = left.open_file(); !opened) return unusable(opened.error());
  if (const auto opened = right.open_file(); !opened) return unusable(opened.error());
  const auto found = bisect(left.file, right.file);
  if (!found) return unreadable(found.error(), left, right);
  std::string places;
  if (found->comparison.event) {
    places = "bytes " + std::to_string(found->comparison.event->left.byte) + " and " +
             std::to_string(found->comparison.event->right.byte);
  }
  const int status = report(found->comparison, places);
  std::cout << "read " << found->left.bytes_read << " of " << found->left.file_bytes
            << " bytes and " << found->right.bytes_read << " of " << found->right.file_bytes
            << '\n';
  return status;
}

}  // namespace forge
