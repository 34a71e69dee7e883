#include "forge/model/pass_profile.h"

#include <algorithm>

namespace forge::model {
namespace {

double seconds_between(PassProfile::Clock::time_point start, PassProfile::Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  bytes += other.bytes;
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i] += other.operations[i];
  return *this;
}

Work product_work(int rows, const linear::LinearWeights& w) {
  Work work{.bytes = static_cast<double>(w.bytes())};
  for (const linear::Section& section : w.sections()) {
    const auto arithmetic = linear::arithmetic_of(section.kind, w.numerics());
    work.operations[static_cast<std::size_t>(arithmetic)] +=
        2.0 * rows * w.inputs() * section.outputs;
  }
  return work;
}

OperationTotals& OperationTotals::operator+=(const OperationTotals& other) {
  calls += other.calls;
  seconds += other.seconds;
  limit_seconds += other.limit_seconds;
  work += other.work;
  return *this;
}

std::optional<double> OperationTotals::of_limit() const {
  if (limit_seconds == 0 || seconds == 0) return std::nullopt;
  return limit_seconds / seconds;
}

void PassProfile::begin_pass(int rows) {
  rows_ += static_cast<std::uint64_t>(rows);
  layer_.reset();
  pass_start_ = Clock::now();
}

void PassProfile::add(Operation operation, Clock::time_point start, const Work& work) {
  const Clock::time_point end = Clock::now();
  const auto place = static_cast<std::size_t>(layer_ ? *layer_ + 1 : 0);
  if (place >= totals_.size()) totals_.resize(place + 1);
  const double limit = limit_seconds(work);
  totals_[place][static_cast<std::size_t>(operation)] +=
      {.calls = 1, .seconds = seconds_between(start, end), .limit_seconds = limit, .work = work};
  const Span span{passes_, layer_, operation, start, end, limit};
  if (ring_.size() < kSpansMax) {
    ring_.push_back(span);
  } else {
    ring_[oldest_] = span;
    oldest_ = (oldest_ + 1) % kSpansMax;
  }
}

void PassProfile::end_pass() {
  seconds_ += seconds_between(pass_start_, Clock::now());
  ++passes_;
}

OperationTotals PassProfile::totals(Operation operation) const {
  OperationTotals sum;
  for (const OfOperations& layer : totals_) sum += layer[static_cast<std::size_t>(operation)];
  return sum;
}

OperationTotals PassProfile::totals(Operation operation, std::optional<int> layer) const {
  const auto place = static_cast<std::size_t>(layer ? *layer + 1 : 0);
  if (place >= totals_.size()) return {};
  return totals_[place][static_cast<std::size_t>(operation)];
}

std::vector<PassProfile::Span> PassProfile::spans() const {
  std::vector<Span> spans = ring_;
  std::rotate(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(oldest_), spans.end());
  return spans;
}

double PassProfile::limit_seconds(const Work& work) const {
  if (limits_.read_bytes_per_s == 0) return 0;
  double arithmetic = 0;
  for (std::size_t i = 0; i < work.operations.size(); ++i) {
    const auto peak = limits_.peak(static_cast<linear::Arithmetic>(i));
    if (peak) arithmetic += work.operations[i] / *peak;
  }
  return std::max(arithmetic, work.bytes / limits_.read_bytes_per_s);
}

}  // namespace forge::model
