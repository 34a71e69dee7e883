// gptr and sptr of the instrumented build: pointers that report each access to the observer of the
// block, with the line that it is written on, before it happens.
//
// p[i] yields a Reference, which reads when it is converted to a value and writes when one is
// assigned to it. The line comes with the index: an Index is made where p[i] is written. A pointer
// remembers the memory that it was made from, so that a checker can tell an access that lands in
// another buffer from one that is meant to.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "forge/simt/async_copy.h"
#include "forge/simt/meeting.h"
#include "forge/simt/observer.h"
#include "forge/simt/shape.h"

namespace forge::simt {
inline namespace instrumented {

inline bool is_left_out(Site site) { return detail::is_left_out(site); }

/// A number of elements, and the source line where it was written.
struct Index {
  template <std::integral Integer>
  Index(Integer i, const char* file = __builtin_FILE(),  // NOLINT(google-explicit-constructor)
        int line = __builtin_LINE())
      : value(static_cast<std::ptrdiff_t>(i)), site{file, line} {}

  std::ptrdiff_t value;
  Site site;
};

/// What a pointer of a kernel points to, and the memory that it was made from.
template <class T, Space kSpace>
struct Place {
  T* at = nullptr;
  const void* base = nullptr;

  Access access(AccessKind kind, std::size_t bytes, std::size_t alignment, Site site) const {
    const detail::Running& running = detail::running;
    const std::uintptr_t origin =
        kSpace == Space::shared ? reinterpret_cast<std::uintptr_t>(running.shared) : 0;
    return {.space = kSpace,
            .kind = kind,
            .bytes = static_cast<std::uint16_t>(bytes),
            .alignment = static_cast<std::uint16_t>(alignment),
            .thread = running.thread,
            .data = reinterpret_cast<const std::byte*>(at),
            .address = reinterpret_cast<std::uintptr_t>(at) - origin,
            .base = reinterpret_cast<std::uintptr_t>(base) - origin,
            .site = site};
  }
  void report(AccessKind kind, std::size_t bytes, std::size_t alignment, Site site) const {
    detail::running.observer->access(access(kind, bytes, alignment, site));
  }
};

template <class T, Space kSpace>
class Reference {
 public:
  using Value = std::remove_const_t<T>;

  Reference(Place<T, kSpace> place, Site site) : place_(place), site_(site) {}
  Reference(const Reference&) = delete;

  // Only p[i] itself has a value: `auto x = p[i]` has none. NOLINTNEXTLINE(google-explicit-*)
  operator Value() const&& {
    place_.report(AccessKind::read, sizeof(T), alignof(T), site_);
    return *place_.at;
  }
  void operator=(const Value& value) const&& {
    place_.report(AccessKind::write, sizeof(T), alignof(T), site_);
    *place_.at = value;
  }
  void operator=(const Reference& other) const&& {
    const Value value = static_cast<const Reference&&>(other);
    static_cast<const Reference&&>(*this) = value;
  }
  void operator+=(const Value& value) const&& {
    const Value before = static_cast<const Reference&&>(*this);
    static_cast<const Reference&&>(*this) = static_cast<Value>(before + value);
  }

 private:
  const Place<T, kSpace> place_;
  const Site site_;
};

template <class T, Space kSpace>
class Pointer {
 public:
  Pointer() = default;
  Pointer(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  explicit Pointer(Place<T, kSpace> place) : place_(place) {}
  operator Pointer<const T, kSpace>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return Pointer<const T, kSpace>({place_.at, place_.base});
  }

  Reference<T, kSpace> operator[](Index i) const { return {(*this + i.value).place_, i.site}; }

  // Adds addresses: a pointer may leave its memory as long as nothing is read or written there.
  friend Pointer operator+(Pointer p, std::ptrdiff_t n) {
    const auto address = reinterpret_cast<std::uintptr_t>(p.place_.at);
    p.place_.at = std::bit_cast<T*>(address + static_cast<std::uintptr_t>(n) * sizeof(T));
    return p;
  }
  friend Pointer operator+(std::ptrdiff_t n, Pointer p) { return p + n; }
  friend Pointer operator-(Pointer p, std::ptrdiff_t n) { return p + -n; }
  friend std::ptrdiff_t operator-(Pointer p, Pointer q) { return p.place_.at - q.place_.at; }
  Pointer& operator+=(std::ptrdiff_t n) { return *this = *this + n; }
  Pointer& operator-=(std::ptrdiff_t n) { return *this = *this - n; }
  Pointer& operator++() { return *this += 1; }
  friend bool operator==(Pointer p, Pointer q) { return p.place_.at == q.place_.at; }
  explicit operator bool() const { return place_.at != nullptr; }

  const Place<T, kSpace>& place() const { return place_; }

 private:
  Place<T, kSpace> place_;
};

template <class T>
using gptr = Pointer<T, Space::global>;
template <class T>
using sptr = Pointer<T, Space::shared>;

template <class T>
gptr<T> global(T* p) {
  return gptr<T>({p, p});
}

template <class T>
sptr<T> shared_array(const SharedArray& array) {
  std::byte* data = detail::declare_shared(array).data;
  return sptr<T>({reinterpret_cast<T*>(data), data});
}

template <class T, Space kSpace>
requires std::same_as < std::remove_const_t<T>,
float > Float4 load4(Pointer<T, kSpace> p, Site site = Site::here()) {
  p.place().report(AccessKind::read, sizeof(Float4), alignof(Float4), site);
  Float4 v;
  std::memcpy(&v, p.place().at, sizeof v);
  return v;
}
template <Space kSpace>
void store4(Pointer<float, kSpace> p, Float4 v, Site site = Site::here()) {
  p.place().report(AccessKind::write, sizeof(Float4), alignof(Float4), site);
  std::memcpy(p.place().at, &v, sizeof v);
}

template <class T, Space kSpace>
Words4 load16(Pointer<T, kSpace> p, Site site = Site::here()) {
  p.place().report(AccessKind::read, sizeof(Words4), alignof(Words4), site);
  Words4 v;
  std::memcpy(&v, p.place().at, sizeof v);
  return v;
}
template <class T, Space kSpace>
void store16(Pointer<T, kSpace> p, Words4 v, Site site = Site::here()) {
  p.place().report(AccessKind::write, sizeof(Words4), alignof(Words4), site);
  std::memcpy(p.place().at, &v, sizeof v);
}

template <class T>
void shared_add(Pointer<T, Space::shared> p, T v, Site site = Site::here()) {
  p.place().report(AccessKind::add, sizeof(T), alignof(T), site);
  *p.place().at = static_cast<T>(*p.place().at + v);
}

template <class T, class U>
void copy_async(Pointer<T, Space::shared> to, Pointer<U, Space::global> from, bool there,
                Site site = Site::here()) {
  if (!there && is_left_out(site)) return;
  const Access write = to.place().access(AccessKind::write, kCopyBytes, kCopyBytes, site);
  const Access read = from.place().access(AccessKind::read, kCopyBytes, kCopyBytes, site);
  detail::running.observer->copy_started(there ? &read : nullptr, write);
  detail::start_copy({to.place().at, there ? from.place().at : nullptr, write});
}

}  // namespace instrumented
}  // namespace forge::simt
