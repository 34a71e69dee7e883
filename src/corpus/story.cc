#include "story.h"

#include <algorithm>
#include <array>

#include "words.h"

namespace forge::corpus {
namespace {

using Text = std::string;

constexpr std::uint32_t kGivenFirst = 3;  // things, at most
constexpr std::size_t kThingsMost = 4;

}  // namespace

Story::Story(Choices& choices)
    : choices_(choices),
      names_left_(kNames.begin(), kNames.end()),
      things_left_(kThings.begin(), kThings.end()) {}

std::string Story::begin() {
  std::string told;
  for (std::uint32_t left = 2 + choices_.below(2); left > 0; --left) told += enter();
  for (std::uint32_t left = choices_.below(kGivenFirst + 1); left > 0; --left) {
    told += hand_out(anyone());
  }
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
  return where(people_.back()) + " ";
}

std::size_t Story::anyone() { return choices_.below(static_cast<std::uint32_t>(people_.size())); }

std::string Story::event() {
  const std::size_t who = anyone();
  const auto held = held_by(who);
  const auto others = beside(who);
  const bool can_give = !held.empty() && !others.empty();
  const std::array<std::uint32_t, 4> weights = {3, things_.size() < kThingsMost ? 2U : 0U,
                                                held.empty() ? 0U : 1U, can_give ? 2U : 0U};
  const std::size_t action = choices_.weighted(weights);
  if (action == 0) return go(people_[who]);
  if (action == 1) return hand_out(who);
  Thing& thing = things_[any_of(choices_, std::span<const std::size_t>(held))];
  return action == 2 ? put_down(thing) : hand_over(thing, others);
}

std::string Story::go(Person& person) {
  std::vector<std::string_view> elsewhere(kPlaces.begin(), kPlaces.end());
  elsewhere.erase(std::find(elsewhere.begin(), elsewhere.end(), person.place));
  person.place = choices_.take(elsewhere);
  return Text(person.name) + " goes to the " + Text(person.place) + ". ";
}

std::string Story::hand_out(std::size_t who) {
  const std::string_view name = choices_.take(things_left_);
  const std::string_view color = any_of(choices_, std::span<const std::string_view>(kColors));
  things_.push_back({name, color, who, ""});
  return "Here is the " + Text(name) + ", which is " + Text(color) + ". " + given(things_.back());
}

std::string Story::put_down(Thing& thing) {
  thing.place = people_[*thing.holder].place;
  thing.holder.reset();
  return "The " + Text(thing.name) + " lies at the " + Text(thing.place) + ". ";
}

std::string Story::hand_over(Thing& thing, const std::vector<std::size_t>& others) {
  thing.holder = any_of(choices_, std::span<const std::size_t>(others));
  return given(thing);
}

std::string Story::given(const Thing& thing) const {
  return "The " + Text(thing.name) + " is given to " + Text(people_[*thing.holder].name) + ". ";
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
  const std::array<std::uint32_t, 4> weights = {3, has_things ? 4U : 0U, has_things ? 4U : 0U,
                                                held.empty() ? 0U : 4U};
  switch (choices_.weighted(weights)) {
    case 0:
      return where_is_a_person();
    case 1:
      return where_is_a_thing();
    case 2:
      return which_color();
    default:
      return who_has_a_thing(held);
  }
}

Exercise Story::where_is_a_person() {
  const Person& person = people_[anyone()];
  return {Kind::place, "Where is " + Text(person.name) + "?", where(person)};
}

Exercise Story::where_is_a_thing() {
  const Thing& thing = any_of(choices_, std::span<const Thing>(things_));
  return {Kind::thing, "Where is the " + Text(thing.name) + "?",
          thing.holder ? with(thing) + " " + where(people_[*thing.holder])
                       : "The " + Text(thing.name) + " is at the " + Text(thing.place) + "."};
}

Exercise Story::which_color() {
  const Thing& thing = any_of(choices_, std::span<const Thing>(things_));
  return {Kind::which, "Which color is the " + Text(thing.name) + "?",
          "The " + Text(thing.name) + " is " + Text(thing.color) + "."};
}

Exercise Story::who_has_a_thing(const std::vector<std::size_t>& held) {
  const Thing& thing = things_[any_of(choices_, std::span<const std::size_t>(held))];
  return {Kind::holder, "Who has the " + Text(thing.name) + "?", with(thing)};
}

std::string Story::where(const Person& person) {
  return Text(person.name) + " is at the " + Text(person.place) + ".";
}

std::string Story::with(const Thing& thing) const {
  return "The " + Text(thing.name) + " is now with " + Text(people_[*thing.holder].name) + ".";
}

}  // namespace forge::corpus
