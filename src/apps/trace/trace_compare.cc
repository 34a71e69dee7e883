#include "trace_compare.h"

#include <iostream>

#include "forge/trace/trace_bisect.h"

namespace forge::apps {
namespace {

int report(const trace::TraceComparison& comparison, const std::string& places) {
  if (comparison.header) std::cout << "headers differ: " << to_string(*comparison.header) << '\n';
  if (comparison.event) {
    std::cout << "step " << comparison.event->step.value << " (" << places
              << ") differs: " << to_string(comparison.event->difference) << '\n';
  }
  std::cout << comparison.equal_steps << " steps are equal\n";
  return comparison.equal() ? kEqual : kDifferent;
}

int unreadable(const trace::ComparisonError& error, const InputTrace& left,
               const InputTrace& right) {
  return unusable((error.in_left ? left : right).error(error.error));
}

}  // namespace

int run_diff(const TraceArgument& left_file, const TraceArgument& right_file) {
  InputTrace left(left_file);
  InputTrace right(right_file);
  if (const auto opened = left.open(); !opened) return unusable(opened.error());
  if (const auto opened = right.open(); !opened) return unusable(opened.error());
  const auto comparison = compare(left.reader(), right.reader());
  if (!comparison) return unreadable(comparison.error(), left, right);
  std::string places;
  if (comparison->event) {
    places = "lines " + std::to_string(comparison->event->left.line) + " and " +
             std::to_string(comparison->event->right.line);
  }
  return report(*comparison, places);
}

int run_bisect(const TraceArgument& left_file, const TraceArgument& right_file) {
  InputTrace left(left_file);
  InputTrace right(right_file);
  if (const auto opened = left.open_file(); !opened) return unusable(opened.error());
  if (const auto opened = right.open_file(); !opened) return unusable(opened.error());
  const auto found = trace::bisect(left.stream(), right.stream());
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

}  // namespace forge::apps
