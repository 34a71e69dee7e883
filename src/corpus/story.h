// Story: who is where, and who has what. Each sentence changes it; each question asks for it.
//
// Things are handed over between people at one place. One that was put down stays. Borrows the
// choices. Thread contract: one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exercises.h"
#include "forge/corpus/choices.h"

namespace forge::corpus {

class Story {
 public:
  explicit Story(Choices& choices);

  /// Two or three people are somewhere, and none to three things are given to them.
  std::string begin();

  /// None to `most` things happen. Requires: it has begun.
  std::string events(std::uint32_t most);

  /// A question about what is so now. Requires: it has begun.
  Exercise question();

 private:
  struct Person {
    std::string_view name;
    std::string_view place;
  };
  struct Thing {
    std::string_view name;
    std::string_view color;
    std::optional<std::size_t> holder;  ///< of people_; none: it was put down at `place`
    std::string_view place;
  };

  std::string enter();
  std::size_t anyone();
  std::string event();
  std::string go(Person& person);
  std::string hand_out(std::size_t who);
  std::string put_down(Thing& thing);
  std::string hand_over(Thing& thing, const std::vector<std::size_t>& others);

  std::string given(const Thing& thing) const;     ///< "The key is given to Ada. "
  std::string with(const Thing& thing) const;      ///< "The key is now with Ada."
  static std::string where(const Person& person);  ///< "Ada is at the mill."

  std::vector<std::size_t> held_by(std::size_t who) const;
  /// Those that are where `who` is, without `who`.
  std::vector<std::size_t> beside(std::size_t who) const;

  Exercise where_is_a_person();
  Exercise where_is_a_thing();
  Exercise which_color();
  Exercise who_has_a_thing(const std::vector<std::size_t>& held);

  Choices& choices_;
  std::vector<std::string_view> names_left_;
  std::vector<std::string_view> things_left_;
  std::vector<Person> people_;
  std::vector<Thing> things_;
};

}  // namespace forge::corpus
