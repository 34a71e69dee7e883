// PanelStore: memory for packed panels that is not this program's own: a device's.
//
// Packing asks for the place of a section, packs some panels after the other into memory of this
// machine, and hands each of these rooms over:
//
//   place(bytes of the section)          the address at which kernels will read it
//     room(bytes of some panels), put()  again and again, front to back, until it is full
//
// Thread contract: one thread at a time.
#pragma once

#include <cstddef>

namespace forge::linear {

class PanelStore {
 public:
  PanelStore() = default;
  PanelStore(const PanelStore&) = delete;
  PanelStore& operator=(const PanelStore&) = delete;
  virtual ~PanelStore() = default;

  /// The next places, `bytes` in all, follow one another without a gap: those of experts, or of
  /// heads, through which one kernel goes.
  virtual void reserve(std::size_t bytes) = 0;

  /// Takes room for the panels of a section, 64-byte aligned.
  virtual const std::byte* place(std::size_t bytes) = 0;

  /// The most that room() has.
  virtual std::size_t room_bytes() const = 0;

  /// Whether some memory was not to be had, or was not written. Then packing ends, and what it
  /// gives is of no use.
  virtual bool has_failed() const = 0;

  /// Memory for the next `bytes` of the place; null once the store has failed. Valid until put().
  virtual std::byte* room(std::size_t bytes) = 0;

  /// The room is filled.
  virtual void put() = 0;
};

}  // namespace forge::linear
