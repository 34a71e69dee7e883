// CtrlC: Ctrl-C (SIGINT) as something to be asked about, in place of the end of the program.
//
// The handler writes into a pipe, so that a wait for input ends, too, and no press is lost between
// a question and a wait. Owns the pipe; one of it lives at a time. Thread contract: one thread
// asks; the signal may reach any.
#pragma once

namespace forge::apps {

class CtrlC {
 public:
  CtrlC();
  /// SIGINT ends the program again.
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;

  /// Whether it was pressed since the last call.
  bool take();

  /// Becomes readable when it is pressed.
  int descriptor() const { return pressed_; }

 private:
  int pressed_;
};

}  // namespace forge::apps
