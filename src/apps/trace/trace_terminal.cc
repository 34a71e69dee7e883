#include "trace_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

namespace forge::apps {
namespace {

constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeaveScreen = "\x1b[?25h\x1b[?1049l";
constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Read by a signal handler, so not a member.
termios terminal_before;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void restore() {
  write_all(kLeaveScreen);
  tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

/// Only calls that a handler may make; ends the program as the signal would have.
extern "C" void restore_and_end(int signal_number) {
  restore();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

/// That there is a handler makes read() return when the window changes its size.
extern "C" void note_resize(int) {}

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(signal_number, &action, nullptr);
}

/// The next byte; nothing at the end of the input, or after `timeout_ms`.
std::optional<char> read_byte(int timeout_ms) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (timeout_ms >= 0 && poll(&input, 1, timeout_ms) <= 0) return std::nullopt;
  char c = 0;
  if (read(STDIN_FILENO, &c, 1) != 1) return std::nullopt;
  return c;
}

/// What follows an escape character: `[A` .. `[D` or `OA` .. `OD` are arrows, nothing is the key.
Key read_escape() {
  constexpr int kPatienceMs = 50;
  const auto first = read_byte(kPatienceMs);
  if (!first) return {KeyKind::escape};
  const char second = read_byte(kPatienceMs).value_or('\0');
  if (second == 'B' || second == 'C') return {KeyKind::next};
  if (second == 'A' || second == 'D') return {KeyKind::previous};
  return {KeyKind::character};
}

}  // namespace

tl::expected<std::unique_ptr<Terminal>, std::string> Terminal::open() {
  if (isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &terminal_before) != 0) {
    return tl::unexpected(std::string("the standard input is no terminal"));
  }
  if (isatty(STDOUT_FILENO) == 0) {
    return tl::unexpected(std::string("the standard output is no terminal"));
  }
  for (const int signal_number : kEndingSignals) handle(signal_number, restore_and_end);
  handle(SIGWINCH, note_resize);
  termios raw = terminal_before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(kEnterScreen);
  return std::unique_ptr<Terminal>(new Terminal);
}

Terminal::~Terminal() {
  restore();
  for (const int signal_number : kEndingSignals) std::signal(signal_number, SIG_DFL);
  std::signal(SIGWINCH, SIG_DFL);
}

ScreenSize Terminal::size() const {
  winsize window = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {window.ws_col, window.ws_row};
}

Key Terminal::read_key() {
  char c = 0;
  const ssize_t count = read(STDIN_FILENO, &c, 1);
  if (count < 0 && errno == EINTR) return {KeyKind::resized};
  if (count != 1 || c == '\x04') return {KeyKind::end};
  if (c == '\x1b') return read_escape();
  if (c == '\n' || c == '\r') return {KeyKind::enter};
  if (c == '\b' || c == '\x7f') return {KeyKind::erase};
  return {KeyKind::character, c};
}

void Terminal::show(std::string_view text) {
  // In one write, so that nothing flickers.
  std::string screen = "\x1b[H\x1b[2J";
  screen += text;
  write_all(screen);
}

}  // namespace forge::apps
