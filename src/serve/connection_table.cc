#include "connection_table.h"

#include <algorithm>

#include "connection.h"

namespace forge::serve {
namespace {

constexpr std::size_t kVisitorsMax = 32;

}  // namespace

ConnectionTable::Place ConnectionTable::make_room() {
  if (all_.size() - visitors_.size() < places_ || close_longest_idle()) return Place::regular;
  if (visitors_.size() >= kVisitorsMax) close_first(visitors_);
  return Place::visitor;
}

bool ConnectionTable::close_longest_idle() {
  if (idle_.empty()) return false;
  close_first(idle_);
  return true;
}

void ConnectionTable::add(Connection& connection, Place place) {
  const std::uint64_t since = next_++;
  all_[&connection] = {place, next_number_++, since};
  (place == Place::visitor ? visitors_ : idle_)[since] = &connection;
}

void ConnectionTable::remove(Connection& connection) {
  const auto found = all_.find(&connection);
  if (found == all_.end()) return;
  leave_queue(found->second);
  all_.erase(found);
}

bool ConnectionTable::drained() const {
  return std::ranges::none_of(
      all_, [this](const auto& each) { return each.second.number < first_late_; });
}

void ConnectionTable::set_busy(Connection& connection) {
  const auto found = all_.find(&connection);
  if (found == all_.end() || found->second.place == Place::visitor) return;
  leave_queue(found->second);
}

void ConnectionTable::set_idle(Connection& connection) {
  const auto found = all_.find(&connection);
  if (found == all_.end() || found->second.since != 0) return;
  found->second.since = next_++;
  idle_[found->second.since] = &connection;
}

void ConnectionTable::leave_queue(Entry& entry) {
  (entry.place == Place::visitor ? visitors_ : idle_).erase(entry.since);
  entry.since = 0;
}

void ConnectionTable::close_first(Order& order) {
  Connection& first = *order.begin()->second;
  first.drop();
  remove(first);
}

}  // namespace forge::serve
