// What AddressSanitizer and ThreadSanitizer must be told of a fiber: on which stack the program is,
// and that one host thread runs many. Without a sanitizer all of this is nothing.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#define FORGE_HAS_FEATURE(name) __has_feature(name)
#else
#define FORGE_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || FORGE_HAS_FEATURE(address_sanitizer)
#define FORGE_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__) || FORGE_HAS_FEATURE(thread_sanitizer)
#define FORGE_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

namespace forge::simt {

#if defined(FORGE_ASAN)

inline constexpr bool kSanitized = true;

class FiberSanitizers {
 public:
  /// Begins a fiber with the stack [bottom, bottom + size). Called again when the fiber begins
  /// anew.
  void begin(void* bottom, std::size_t size) {
    fake_stack_ = nullptr;
    bottom_ = bottom;
    size_ = size;
    __asan_unpoison_memory_region(bottom, size);
  }
  void before_switch(FiberSanitizers& next) {
    __sanitizer_start_switch_fiber(&fake_stack_, next.bottom_, next.size_);
  }
  void after_switch(FiberSanitizers& from) {
    __sanitizer_finish_switch_fiber(fake_stack_, &from.bottom_, &from.size_);
  }

 private:
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
};

inline void poison(const void* begin, std::size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
inline void unpoison(const void* begin, std::size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}

#elif defined(FORGE_TSAN)

inline constexpr bool kSanitized = true;

class FiberSanitizers {
 public:
  FiberSanitizers() = default;
  ~FiberSanitizers() { destroy(); }
  FiberSanitizers(const FiberSanitizers&) = delete;
  FiberSanitizers& operator=(const FiberSanitizers&) = delete;

  void begin(void*, std::size_t) {
    destroy();
    owned_ = fiber_ = __tsan_create_fiber(0);
  }
  void before_switch(FiberSanitizers& next) {
    if (owned_ == nullptr) fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.fiber_, 0);
  }
  void after_switch(FiberSanitizers&) {}

 private:
  void destroy() {
    if (owned_ != nullptr) __tsan_destroy_fiber(owned_);
  }
  void* fiber_ = nullptr;
  void* owned_ = nullptr;
};

inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}

#else

inline constexpr bool kSanitized = false;

class FiberSanitizers {
 public:
  void begin(void*, std::size_t) {}
  void before_switch(FiberSanitizers&) {}
  void after_switch(FiberSanitizers&) {}
};

inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}

#endif

}  // namespace forge::simt
