// add_choice: a flag whose value is one of a few names.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>

#include "forge/core/names.h"

namespace forge::apps {

/// `value` is the default. It and `app` must live until the command line has been parsed.
template <class T>
CLI::Option* add_choice(CLI::App& app, const char* flag, T& value, const char* help,
                        const std::map<std::string, T>& choices) {
  std::string shown;
  for (const auto& [name, choice] : choices) {
    if (choice == value) shown = name;
  }
  const auto set = [&value, choices](const std::string& name) { value = choices.at(name); };
  return app.add_option_function<std::string>(flag, set, help)
      ->check(CLI::IsMember(choices))
      ->default_str(shown);
}

/// The same, for all values that have names.
template <Named E>
CLI::Option* add_choice(CLI::App& app, const char* flag, E& value, const char* help) {
  std::map<std::string, E> choices;
  for (const std::string_view name : kNames<E>) choices.emplace(name, *from_name<E>(name));
  return add_choice(app, flag, value, help, choices);
}

}  // namespace forge::apps
