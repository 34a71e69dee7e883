#include "story.h"

#include <algorithm>
#include <array>

#include "words.h"

namespace forge::corpus {
namespace {

using Text = std::string;

}  // namespace

Story::Story(Choices& choices)
    : choices_(choices),
      names_left_(kNames.begin(), kNames.end()),
      things_left_(kThings.begin(), kThings.end()) {}

std::string Story::begin() {
  std::string told;
  for (std::uint32_t left = 2 + choices_.below(2); left > 0; --left) told += enter();
  return told;
}

std::string Story::events(std::uint32_t most) {
  std::string told;
  for (std::uint32_t left = choices_.below(most + 1); left > 0; --left) told += event();
  return told;
}

std::string Story::enter() {
  const std::string_view name = choices_.take(names_left_);
  const std::string_view place = any_of(choices_, std::span<const std::string_view>(kPlaces));
  people_.push_back({name, place});
  return Text(name) + " is at the " + Text(place) + ". ";
}

std::string Story::event() {
  const std::size_t who = choices_.below(static_cast<std::uint32_t>(people_.size()));
  const auto held = held_by(who);
  const auto others = beside(who);
  const bool can_give = !held.empty() && !others.empty();
  const std::array<std::uint32_t, 4> weights = {3, things_.size() < 2 ? 3U : 0U,
                                                held.empty() ? 0U : 1U, can_give ? 2U : 0U};
  const std::size_t action = choices_.weighted(weights);
  if (action == 0) return go(people_[who]);
  if (action == 1) return take(who);
  Thing& thing = things_[any_of(choices_, std::span<const std::size_t>(held))];
  return action == 2 ? leave(thing) : give(thing, others);
}

std::string Story::go(Person& person) {
  std::vector<std::string_view> elsewhere(kPlaces.begin(), kPlaces.end());
  elsewhere.erase(std::find(elsewhere.begin(), elsewhere.end(), person.place));
  person.place = choices_.take(elsewhere);
  return Text(person.name) + " goes to the " + Text(person.place) + ". ";
}

/// "the red key"
std::string Story::described(const Thing& thing) {
  return "the " + Text(thing.color) + " " + Text(thing.name);
}

std::string Story::take(std::size_t who) {
  const std::string_view name = choices_.take(things_left_);
  const std::string_view color = any_of(choices_, std::span<const std::string_view>(kColors));
  things_.push_back({name, color, who, ""});
  return Text(people_[who].name) + " takes " + described(things_.back()) + ". ";
}

std::string Story::leave(Thing& thing) {
  const Person& person = people_[*thing.holder];
  thing.holder.reset();
  thing.place = person.place;
  return Text(person.name) + " leaves " + described(thing) + " at the " + Text(thing.place) + ". ";
}

std::string Story::give(Thing& thing, const std::vector<std::size_t>& others) {
  const Person& giver = people_[*thing.holder];
  thing.holder = any_of(choices_, std::span<const std::size_t>(others));
  return Text(giver.name) + " gives " + described(thing) + " to " +
         Text(people_[*thing.holder].name) + ". ";
}

std::vector<std::size_t> Story::held_by(std::size_t who) const {
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < things_.size(); ++i) {
    if (things_[i].holder == who) held.push_back(i);
  }
  return held;
}

std::vector<std::size_t> Story::beside(std::size_t who) const {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < people_.size(); ++i) {
    if (i != who && people_[i].place == people_[who].place) others.push_back(i);
  }
  return others;
}

Exercise Story::question() {
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < things_.size(); ++i) {
    if (things_[i].holder) held.push_back(i);
  }
  const bool has_things = !things_.empty();
  const std::array<std::uint32_t, 4> weights = {3, has_things ? 6U : 0U, has_things ? 4U : 0U,
                                                held.empty() ? 0U : 2U};
  switch (choices_.weighted(weights)) {
    case 0:
      return where_is_a_person();
    case 1:
      return where_is_a_thing();
    case 2:
      return which_thing();
    default:
      return who_has_a_thing(held);
  }
}

Exercise Story::where_is_a_person() {
  const Person& person = any_of(choices_, std::span<const Person>(people_));
  return {Kind::place, "Where is " + Text(person.name) + "?",
          Text(person.name) + " is at the " + Text(person.place) + "."};
}

Exercise Story::where_is_a_thing() {
  const Thing& thing = any_of(choices_, std::span<const Thing>(things_));
  Text question = "Where is the " + Text(thing.name) + "?";
  if (!thing.holder) {
    return {Kind::thing, std::move(question), "It is at the " + Text(thing.place) + "."};
  }
  const Person& holder = people_[*thing.holder];
  return {Kind::thing, std::move(question),
          Text(holder.name) + " has it at the " + Text(holder.place) + "."};
}

Exercise Story::which_thing() {
  const Thing& thing = any_of(choices_, std::span<const Thing>(things_));
  return {Kind::which, "Which " + Text(thing.name) + " is it?",
          "The " + Text(thing.color) + " " + Text(thing.name) + "."};
}

Exercise Story::who_has_a_thing(const std::vector<std::size_t>& held) {
  const Thing& thing = things_[any_of(choices_, std::span<const std::size_t>(held))];
  return {Kind::holder, "Who has the " + Text(thing.name) + "?",
          Text(people_[*thing.holder].name) + " has it."};
}

}  // namespace forge::corpus
