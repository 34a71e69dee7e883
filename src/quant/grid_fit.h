// Fitting a grid of evenly spaced numbers to the weights of one group: the search inside
// quantize().
//
// A grid stores x as the code q, a whole number of a range, that brings step * q - offset nearest
// to x. Every choice minimises the same thing, the sum of squared errors. For an output, which is
// the inner product of a row with activations, that is the expected squared error if activations
// are alike in size and independent. Where their sizes are known, each error counts by the mean
// square of its activation, its importance.
//
// One round of the search takes a trial grid, chooses codes by it, and then fits step and offset to
// these codes by least squares. The trials are ranges: the group's own, and shorter ones, whose
// finer steps may be worth the few numbers that they cut off. Lloyd, "Least squares quantization in
// PCM", IEEE Trans. Information Theory 28(2), 1982, alternates the two halves of the round.
//
// Sums are taken in four lanes and then pairwise, by definition: the bits are the same on every
// machine. Numbers must be below 2^40 in magnitude, so that squares stay in range; a group whose
// range is below 2^-60 counts as constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forge::quant {

/// The numbers of one group, a multiple of four, and how much the error of each counts. Borrowed.
class Group {
 public:
  Group(const float* x, std::size_t count, const float* importance = nullptr)
      : x_(x, count), importance_(importance) {}
  template <std::size_t kCount>
  explicit Group(const float (&x)[kCount]) : Group(x, kCount) {}
  template <std::size_t kCount>
  Group(const float (&x)[kCount], const float* importance) : Group(x, kCount, importance) {}

  const float* data() const { return x_.data(); }
  std::size_t size() const { return x_.size(); }
  const float& operator[](std::size_t i) const { return x_[i]; }
  auto begin() const { return x_.begin(); }
  auto end() const { return x_.end(); }

  /// Null: all count the same, 1.
  const float* importance() const { return importance_; }
  float importance(std::size_t i) const { return importance_ == nullptr ? 1.0F : importance_[i]; }

 private:
  std::span<const float> x_;
  const float* importance_;
};

/// Codes low .. high, whole numbers; 0 is among them.
struct CodeRange {
  float low;
  float high;
};

/// A grid. With step 0, every number is stored as code 0.
struct Grid {
  float step = 0;
  float offset = 0;
};

/// What least squares needs to know of a group x and its codes q: sums of w x q, w q q and w q, w
/// the importance.
struct CodeSums {
  float xq;
  float qq;
  float q;
};

/// The sums for the codes that `grid` gives x.
CodeSums code_sums(Group x, Grid grid, CodeRange range);

/// Sum of w (x - stored x)^2.
float squared_error(Group x, Grid grid, CodeRange range);

/// codes[i] = code of x[i], less range.low. codes: as many as x.
void nearest_codes(Group x, Grid grid, CodeRange range, std::uint8_t* codes);

float sum(Group x);                ///< of w x
float sum_of_importance(Group x);  ///< of w
float largest_magnitude(Group x);

/// Codes 0 .. high, offset >= 0.
Grid fit_affine(Group x, float high);

/// Codes -half .. half - 1, offset 0; a negative step puts the longer side of the range at positive
/// x.
Grid fit_symmetric(Group x, float half);

}  // namespace forge::quant
