// Subcommands: the command line of a program that does one of several things.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>

namespace forge::apps {

class Subcommands {
 public:
  Subcommands(std::string what, std::string program) : app_(std::move(what), std::move(program)) {
    app_.require_subcommand(1);
  }

  /// Adds a subcommand, whose options the caller adds; `command` runs where it is asked for.
  CLI::App* add(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = app_.add_subcommand(name, what);
    added->final_callback([this, command = std::move(command)] { chosen_ = command; });
    return added;
  }

  /// Runs the subcommand that is asked for and returns its exit status: 0 for --help, `unusable`
  /// where the arguments are not accepted.
  int run(int argc, char** argv, int unusable) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? 0 : unusable;
    }
    return chosen_();
  }

 private:
  CLI::App app_;
  std::function<int()> chosen_;
};

}  // namespace forge::apps
