// ChatLoop: a conversation in the terminal. Reads what the user types, does what it asks, and
// prints answers as they come.
//
// Ctrl-C stops an answer; what was said by then stays in the conversation. Without an answer to
// stop it asks for a second one, which ends the loop, as Ctrl-D does. A question that cannot be
// answered is not kept.
//
// Marks and remarks are for people: they are printed only where the standard output is a terminal.
// Borrows the model. Thread contract: one thread.
#pragma once

#include <string>

#include "chat_command.h"
#include "chat_model.h"
#include "chat_statistics.h"
#include "ctrl_c.h"
#include "dialogue.h"
#include "line_reader.h"

namespace forge::apps {

class ChatLoop {
 public:
  /// `dialogue`: what was said already, a system message for example.
  ChatLoop(ChatModel& model, Dialogue dialogue);

  /// Returns when the user ends it, or nothing can be printed any more.
  void run();

 private:
  void remark(const std::string& text) const;
  bool take_line(const std::string& line);
  bool obey(const ChatCommand& command);
  void set_or_show_system(const std::optional<std::string>& text);
  void save_to(const std::string& path);
  void answer(const std::string& question);

  ChatModel& model_;
  Dialogue dialogue_;
  bool for_people_;
  CtrlC ctrl_c_;
  LineReader lines_;
  UserInputParser input_;
  ChatStatistics last_;
  ChatStatistics all_;
  std::string saved_to_;  // the file that this loop has written, and may write again
};

}  // namespace forge::apps
