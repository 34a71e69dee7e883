#include "forge/trace/trace_bisect.h"

#include <algorithm>

#include "forge/trace/step_index.h"

namespace forge::trace {
namespace {

template <class T>
using Outcome = tl::expected<T, ComparisonError>;

template <class T>
Outcome<T> of_side(bool left, tl::expected<T, TraceError> value) {
  if (!value) return tl::unexpected(ComparisonError{left, value.error()});
  return *std::move(value);
}

class Bisector {
 public:
  Bisector(std::istream& left_in, StepIndex left, std::istream& right_in, StepIndex right)
      : left_in_(left_in), right_in_(right_in), left_(std::move(left)), right_(std::move(right)) {}

  Outcome<Bisection> run() {
    if (left_.first() != right_.first()) return compare_from(left_.first());  // they begin apart
    const auto step = first_different();
    if (!step) return tl::unexpected(step.error());
    return compare_from(*step);
  }

 private:
  Outcome<bool> differ_at(std::uint64_t step) {
    const auto left = of_side(true, left_.find(StepId{step}));
    if (!left) return tl::unexpected(left.error());
    const auto right = of_side(false, right_.find(StepId{step}));
    if (!right) return tl::unexpected(right.error());
    return left->link != right->link;
  }

  /// The first step whose links differ; the number of steps that both have if there is none.
  Outcome<std::uint64_t> first_different() {
    std::uint64_t equal = left_.first();  // steps below are equal
    std::uint64_t end = std::min(left_.end(), right_.end());
    // Mostly one run is as long as the other, and whether they part at all is in the last link.
    for (std::uint64_t probe = end - 1; equal < end; probe = equal + (end - equal) / 2) {
      const auto differ = differ_at(probe);
      if (!differ) return tl::unexpected(differ.error());
      (*differ ? end : equal) = *differ ? probe : probe + 1;
    }
    return equal;
  }

  Outcome<Bisection> compare_from(std::uint64_t step) {
    const auto before = step == left_.first() ? std::nullopt : std::optional(StepId{step - 1});
    const auto left_byte = of_side(true, left_.end_of(before));
    if (!left_byte) return tl::unexpected(left_byte.error());
    const auto right_byte = of_side(false, right_.end_of(before));
    if (!right_byte) return tl::unexpected(right_byte.error());
    auto left = TraceReader::resume(left_in_, left_.header(), {1, *left_byte});
    auto right = TraceReader::resume(right_in_, right_.header(), {1, *right_byte});
    auto comparison = compare(left, right, StepId{step});
    if (!comparison) {
      ComparisonError error = comparison.error();
      StepIndex& side = error.in_left ? left_ : right_;
      error.error = side.with_line_number(error.error);
      return tl::unexpected(error);
    }
    return Bisection{
        .comparison = *std::move(comparison),
        .left = {left_.file_bytes(), left_.bytes_read() + left.place().byte - *left_byte},
        .right = {right_.file_bytes(), right_.bytes_read() + right.place().byte - *right_byte}};
  }

  std::istream& left_in_;
  std::istream& right_in_;
  StepIndex left_;
  StepIndex right_;
};

}  // namespace

tl::expected<Bisection, ComparisonError> bisect(std::istream& left, std::istream& right) {
  auto left_index = of_side(true, StepIndex::open(left));
  if (!left_index) return tl::unexpected(left_index.error());
  auto right_index = of_side(false, StepIndex::open(right));
  if (!right_index) return tl::unexpected(right_index.error());
  return Bisector(left, *std::move(left_index), right, *std::move(right_index)).run();
}

}  // namespace forge::trace
