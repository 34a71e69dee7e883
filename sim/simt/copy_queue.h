// CopyQueue: the asynchronous copies of one thread that have not arrived (forge/simt/async_copy.h).
#pragma once

#include <cstring>
#include <deque>

#include "forge/simt/async_copy.h"

namespace forge::simt {

class CopyQueue {
 public:
  void start(const detail::AsyncCopy& copy) { copies_.push_back({copy, commits_, false}); }
  void commit() { ++commits_; }

  bool empty() const { return copies_.empty(); }
  const detail::AsyncCopy& oldest() const { return copies_.front().copy; }

  /// Moves the bytes of the newest copy, or of all, before anybody waits for them.
  void move_newest() { copies_.back().move(); }
  void move_all() {
    for (Copy& copy : copies_) copy.move();
  }

  /// The groups but the last `pending` arrive, in order: arrived(copy) for each of their copies.
  template <class Arrived>
  void wait(int pending, const Arrived& arrived) {
    while (!copies_.empty() && copies_.front().group < commits_ - pending) {
      copies_.front().move();
      arrived(copies_.front().copy);
      copies_.pop_front();
    }
  }

 private:
  struct Copy {
    detail::AsyncCopy copy;
    int group;  ///< commits before it was started
    bool moved;

    void move() {
      if (moved) return;
      moved = true;
      if (copy.from != nullptr) {
        std::memcpy(copy.to, copy.from, kCopyBytes);
      } else {
        std::memset(copy.to, 0, kCopyBytes);
      }
    }
  };

  std::deque<Copy> copies_;
  int commits_ = 0;
};

}  // namespace forge::simt
