// TokenBucket: how many tokens a client may still have, when it may have so many a minute.
//
//     tokens
//     a minute's  +--.          .---        it is full at first, and fills by a minute's tokens
//                 |   \      .-'            in a minute; what is taken is missing until then
//                 |    '. .-'
//               0 +------'---------> time
//
// What is kept is what is missing, so a bucket that changes its size misses what it missed before.
// It is counted in parts of a token, 60,000 each: what fills in a millisecond is a whole number of
// them, and nothing is lost to rounding. Time is passed in; it may stand still and never goes back.
//
// Source: token bucket, as in Turner, "New directions in communications (or which way to the
// information age?)", IEEE Communications Magazine 24(10), 1986.
// Thread contract: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace forge::serve {

class TokenBucket {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  /// Tokens a minute, from `now` on; 0 is no limit, of which nothing is ever missing.
  void set_size(std::uint32_t tokens, TimePoint now) {
    fill(now);
    size_ = tokens;
    if (size_ == 0) missing_ = 0;
  }

  std::uint64_t size() const { return size_; }

  /// What there is now.
  std::uint64_t available(TimePoint now) const {
    return (all() - std::min(all(), left(now))) / kParts;
  }

  /// Takes so many, whether they are there or not.
  void take(std::uint64_t tokens, TimePoint now) {
    fill(now);
    if (size_ > 0) missing_ += tokens * kParts;
  }

  /// Of those that were taken. It is not asked when: what fills meanwhile is the same.
  void give_back(std::uint64_t tokens) { missing_ -= std::min(missing_, tokens * kParts); }

  /// From `now` on until so many are there, if none are taken or given back. Requires: no more than
  /// the size.
  Milliseconds time_until(std::uint64_t tokens, TimePoint now) const {
    const std::uint64_t may_miss = all() - std::min(all(), tokens * kParts);
    return time_to_fill(left(now) - std::min(left(now), may_miss));
  }

  /// Nothing is missing, as far as is known without the time.
  bool is_full() const { return missing_ == 0; }
  /// When nothing will be missing, if none are taken or given back.
  TimePoint full_at() const { return filled_ + time_to_fill(missing_); }

 private:
  static constexpr std::uint64_t kParts = 60'000;  // of a token: the milliseconds of a minute

  std::uint64_t all() const { return size_ * kParts; }

  Milliseconds time_to_fill(std::uint64_t parts) const {
    return parts == 0 ? Milliseconds(0) : Milliseconds((parts + size_ - 1) / size_);
  }

  /// What is still missing then.
  std::uint64_t left(TimePoint now) const {
    if (now >= full_at()) return 0;
    return missing_ - static_cast<std::uint64_t>(whole_milliseconds(now).count()) * size_;
  }

  Milliseconds whole_milliseconds(TimePoint now) const {
    return std::chrono::floor<Milliseconds>(std::max(now - filled_, TimePoint::duration(0)));
  }

  void fill(TimePoint now) {
    missing_ = left(now);
    filled_ = missing_ == 0 ? now : filled_ + whole_milliseconds(now);
  }

  std::uint64_t size_ = 0;
  std::uint64_t missing_ = 0;  // in parts, at filled_
  TimePoint filled_;
};

}  // namespace forge::serve
