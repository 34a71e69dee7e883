// ConnectionTable: who is connected, and who gives way when every place is taken.
//
//   idle      no whole header of a request has arrived since the connection was accepted or last
//             answered; the one that is idle longest gives way to a newcomer
//   busy      its request is being read, run or answered; never gives way
//   visitor   came when every place was taken by busy connections: it is asked what it wants, and
//             leaves after one answer. Visitors have a few places of their own; the first of them
//             gives way to the next, so that one who says quickly what it wants is always heard
//
// Borrows the connections, which add and remove themselves. Thread contract: the I/O thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace forge::serve {

class Connection;

class ConnectionTable {
 public:
  enum class Place { regular, visitor };

  /// `places` is the number of places for connections that are no visitors.
  explicit ConnectionTable(std::size_t places) : places_(places) {}

  /// The place that the next connection gets. Closes the one that gives way, if one does, and
  /// forgets it.
  Place make_room();

  /// Closes the connection that is idle longest and forgets it; false if none is idle.
  bool close_longest_idle();

  /// Adds a connection, which begins idle.
  void add(Connection& connection, Place place);
  /// Does nothing for one that has been forgotten.
  void remove(Connection& connection);

  void set_busy(Connection& connection);
  void set_idle(Connection& connection);

  /// Those that come from now on are not waited for.
  void begin_drain() { first_late_ = next_number_; }
  /// All that were there at begin_drain() have gone.
  bool drained() const;

  bool empty() const { return all_.empty(); }
  std::size_t count() const { return all_.size(); }

  /// Calls `function` with each connection; it may close them, not remove them.
  template <class Function>
  void for_each(Function function) const {
    for (const auto& [connection, entry] : all_) function(*connection);
  }

 private:
  struct Entry {
    Place place = Place::regular;
    std::uint64_t number = 0;  // in the order of arrival
    std::uint64_t since = 0;   // its key in idle_ or visitors_; 0: in neither
  };
  using Order = std::map<std::uint64_t, Connection*>;  // the first came first

  void leave_queue(Entry& entry);
  void close_first(Order& order);

  std::size_t places_;
  std::map<Connection*, Entry> all_;
  Order idle_;
  Order visitors_;
  std::uint64_t next_ = 1;         // key in idle_ or visitors_
  std::uint64_t next_number_ = 0;  // of a connection
  std::uint64_t first_late_ = 0;   // since begin_drain()
};

}  // namespace forge::serve
