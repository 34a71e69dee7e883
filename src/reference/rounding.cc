#include "rounding.h"

#include <algorithm>
#include <cmath>

#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"

namespace forge::reference {
namespace {

using Row = Eigen::Array<double, 1, Eigen::Dynamic>;

/// Sum over k of x[k] wt.row(k) in segments of `segment_size`, and the magnitudes of all partial
/// sums.
struct Chain {
  Row sum;
  Row magnitudes;
};

template <class Factors, class Terms>
Chain chain(const Factors& x, const Terms& wt, Eigen::Index count, Eigen::Index segment_size) {
  Chain out{Row::Zero(wt.cols()), Row::Zero(wt.cols())};
  Row partial(wt.cols());
  for (Eigen::Index first = 0; first < count; first += segment_size) {
    partial.setZero();
    for (Eigen::Index k = first; k < std::min(first + segment_size, count); ++k) {
      partial += x(k) * wt.row(k).array();
      out.magnitudes += partial.abs();
    }
    out.sum += partial;
    if (first > 0) out.magnitudes += out.sum.abs();
  }
  return out;
}

Rounded product_of(const Rows& x, const Rows& wt) {
  Rounded out{Rows(x.rows(), wt.cols()), Rows(x.rows(), wt.cols())};
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    const Chain sums = chain(x.row(t), wt, x.cols(), numerics::kProductSegment);
    out.value.row(t) = sums.sum;
    out.error.row(t) = kUnit * sums.magnitudes;
  }
  return out;
}

/// Relative, of exp(x), where x is a rounded difference. Of the largest score, too: exp(0) is
/// exact, but where two are nearly the largest the engine may take the other one.
double exp_error(double x) { return kUnit * (std::abs(x) + 1.6); }

/// The sums of one query over its keys so far, as numerics/attention.h merges them segment by
/// segment.
struct Softmax {
  double max;
  double sum;
  double sum_error;  // relative
  Row out;           // not divided by the sum
  Row out_error;
};

/// One segment of keys by itself. scores [n], values [n][D]; adds the errors of exponents to
/// score_error [n].
template <class Scores, class Errors, class Values>
Softmax softmax_of_segment(const Scores& scores, Errors score_error, const Values& values) {
  const double max = scores.maxCoeff();
  const Row p = (scores.array() - max).exp();
  for (Eigen::Index j = 0; j < p.size(); ++j) score_error(j) += exp_error(scores(j) - max);
  const Chain sums = chain(p, values, p.size(), p.size());
  // Lanes add every 32nd, then five levels of a tree add the lanes.
  const Eigen::Index additions = (p.size() - 1) / numerics::kLanes + 5;
  return {max, p.sum(), kUnit * static_cast<double>(additions), sums.sum, kUnit * sums.magnitudes};
}

/// `all` and then `segment`, of which the former is rescaled by e and the latter by f.
Softmax merged(const Softmax& all, const Softmax& segment, double e, double f) {
  Softmax out{std::max(all.max, segment.max),
              all.sum * e + segment.sum * f,
              0,
              all.out * e + segment.out * f,
              {}};
  out.sum_error = std::max(all.sum_error, segment.sum_error + kUnit) + kUnit;
  out.out_error =
      all.out_error * e + segment.out_error * f + kUnit * ((segment.out * f).abs() + out.out.abs());
  return out;
}

/// Query t of one head. scores [t + 1]
template <class Scores, class Errors>
Softmax softmax_of_query(const Scores& scores, Errors score_error, const Rows& values) {
  constexpr Eigen::Index kSegment = numerics::kKeySegment;
  const auto segment_at = [&](Eigen::Index first) {
    const Eigen::Index count = std::min(kSegment, scores.size() - first);
    return softmax_of_segment(scores.segment(first, count), score_error.segment(first, count),
                              values.middleRows(first, count));
  };
  Softmax all = segment_at(0);
  for (Eigen::Index first = kSegment; first < scores.size(); first += kSegment) {
    const Softmax segment = segment_at(first);
    const double max = std::max(all.max, segment.max);
    // An exponent that rescales numerator and denominator alike is an error of all its scores.
    score_error.head(first).array() += exp_error(all.max - max);
    score_error.segment(first, std::min(kSegment, scores.size() - first)).array() +=
        exp_error(segment.max - max);
    all = merged(all, segment, std::exp(all.max - max), std::exp(segment.max - max));
  }
  return all;
}

}  // namespace

Rounded rounded_product(const Rows& x, const Matrix& w) {
  return product_of(x, w.cast<double>().transpose());
}

Rounded rounded_product(const Rows& x, const Rows& y) { return product_of(x, y.transpose()); }

double norm_factor_error(int size) {
  // Of the sum of squares: a lane adds every 32nd, then five levels of a tree. Then the division by
  // the size and the sum with eps; the root halves what there is; root and quotient are rounded.
  const int lane = (size + numerics::kLanes - 1) / numerics::kLanes;
  return kUnit * ((lane + 5 + 2) / 2.0 + 2);
}

Rows rotation_errors(const TinyConfig& config, const Rows& heads, const Rows& turned) {
  constexpr double kTableError = 1.02;  // cosines and sines are within 0.51 ulp
  const int D = config.head_size;
  Rows error(heads.rows(), heads.cols());
  for (int i = 0; i < D / 2; ++i) {
    const double frequency = std::pow(config.rope_base, -2.0 * i / D);
    for (Eigen::Index t = 0; t < heads.rows(); ++t) {
      const double cos = std::abs(std::cos(static_cast<double>(t) * frequency));
      const double sin = std::abs(std::sin(static_cast<double>(t) * frequency));
      for (Eigen::Index a = i; a < heads.cols(); a += D) {
        const Eigen::Index b = a + D / 2;
        const double first = std::abs(heads(t, a)), second = std::abs(heads(t, b));
        error(t, a) = second * sin + kTableError * (first * cos + second * sin);
        error(t, b) = first * sin + kTableError * (second * cos + first * sin);
      }
    }
  }
  return kUnit * (error + turned.cwiseAbs());
}

HeadErrors rounded_attention(const TinyTransformer& model, const Rows& q, const Rows& k,
                             const Rows& v) {
  const auto D = static_cast<double>(q.cols());
  const Rounded products = rounded_product(q, k);
  const Rows scores = products.value / std::sqrt(D);
  const double scale_error =
      std::abs(static_cast<double>(numerics::rsqrt(static_cast<float>(D))) * std::sqrt(D) - 1);

  HeadErrors head{{model.attention_weights(q, k), {}, Eigen::ArrayXd(q.rows())},
                  {Rows(v.rows(), v.cols()), Rows(v.rows(), v.cols())}};
  Rows& score_error = head.attention.score_error;
  score_error = products.error / std::sqrt(D) + (kUnit + scale_error) * scores.cwiseAbs();
  for (Eigen::Index t = 0; t < q.rows(); ++t) {
    score_error.row(t).tail(q.rows() - t - 1).setZero();
    const Softmax softmax =
        softmax_of_query(scores.row(t).head(t + 1), score_error.row(t).head(t + 1), v);
    head.attention.sum_error(t) = softmax.sum_error;
    head.out.value.row(t) = softmax.out / softmax.sum;
    head.out.error.row(t) = (softmax.out_error + kUnit * softmax.out.abs()) / softmax.sum;
  }
  return head;
}

}  // namespace forge::reference
