// Symbols of one frame: which names it reads and stores, and from where their first values come.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "syntax.h"

namespace forge::chat::detail {

struct Symbols {
  enum class Origin : std::uint8_t { parameter, context, outer, nothing };

  const Symbols* parent = nullptr;
  int level = 0;  ///< how many frames are around this one
  std::set<std::string, std::less<>> names;
  std::map<std::string, Origin, std::less<>> origins;
  std::set<std::string, std::less<>> stores;

  /// The level of the frame whose variable `name` is; -1 where no frame has it.
  int level_of(std::string_view name) const;

  void load(const std::string& name);
  void store(const std::string& name);
  void declare_parameter(const std::string& name);

  /// What expressions and statements of this frame read and store; not what is in frames of theirs.
  void look_at(const Expr& expr);
  void look_at(const Body& body);
  void look_at_target(const Expr& target, bool as_parameter);

 private:
  void look_at(const Stmt& stmt);
  void look_at_arguments(const CallArguments& arguments);
  void look_at_branches(const Stmt& stmt);
  void take_over(const std::vector<Symbols>& branches);
};

/// Whether `body`, with all frames within it, reads `name` before anything of it stores it.
bool reads_name(const Body& body, std::string_view name);

}  // namespace forge::chat::detail
