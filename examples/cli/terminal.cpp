// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <backsight/core/escape.hpp>

namespace cli {

namespace {

/// How many of the last bytes begin a character of UTF-8 that goes on behind them.
std::size_t unfinished(std::string_view text) {
  for (std::size_t size = 1; size <= 3 && size <= text.size(); ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return byte >= 0xf0 || (byte >= 0xe0 && size < 3) || size < 2 ? size : 0;
  }
  return 0;
}

void write_message(std::string_view text, const char* kept) {
  std::string shown;
  if (is_terminal(STDERR_FILENO)) {
    (void)backsight::text::shown(std::back_inserter(shown), text, kept);
    text = shown;
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

[[gnu::format(printf, 1, 0)]] void write_formatted(const char* format, std::va_list list) {
  std::va_list again;
  va_copy(again, list);
  std::string text(static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, list))) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  // The line ends behind the message are the program's own, others are not.
  const bool line = text.ends_with('\n');
  if (line) text.pop_back();
  write_message(text, "");
  if (line) std::fputc('\n', stderr);
}

}  // namespace

manners manner;

namespace {

// The pager, and what the terminal was before it; volatile for signal handlers.
volatile pid_t pager_process = 0;
std::size_t width_before_pager = 0;

/// The command of the pager; empty when there is to be none.
std::string pager_command() {
  for (const char* const name : {"BACKSIGHT_PAGER", "PAGER"}) {
    const char* const set = std::getenv(name);
    if (set != nullptr) return std::strcmp(set, "cat") == 0 ? "" : set;
  }
  for (const char* const path : {"/usr/bin/less", "/bin/less", "/usr/local/bin/less"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

}  // namespace

bool is_terminal(int descriptor) {
  return (descriptor == STDOUT_FILENO && pager_process != 0) || ::isatty(descriptor) == 1;
}

std::size_t terminal_width() {
  if (pager_process != 0) return width_before_pager;
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

bool wants_color() {
  if (manner.color != "auto") return manner.color == "always";
  const char* const none = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  if ((none != nullptr && *none != '\0') || kind == nullptr || std::strcmp(kind, "dumb") == 0) return false;
  return is_terminal(STDOUT_FILENO);
}

void start_pager() {
  if (manner.no_pager || pager_process != 0 || ::isatty(STDOUT_FILENO) != 1) return;
  const char* const kind = std::getenv("TERM");
  const std::string command = pager_command();
  if (command.empty() || kind == nullptr || std::strcmp(kind, "dumb") == 0) return;
  const std::size_t width = terminal_width();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    // What is a screen or less is shown and left, colours go through.
    ::setenv("LESS", "FRX", 0);
    ::setenv("LV", "-c", 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGBUS, SIGPIPE, SIGXFSZ})
      std::signal(signal, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[0]);
  if (child > 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    width_before_pager = width;
    pager_process = child;
  }
  ::close(ends[1]);
}

void end_pager() noexcept {
  if (pager_process == 0) return;
  const pid_t child = pager_process;
  pager_process = 0;
  ::close(STDOUT_FILENO);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::size_t show_on_terminal(std::string& to, std::string_view text, bool goes_on) {
  if (goes_on) text.remove_suffix(unfinished(text));
  (void)backsight::text::shown(std::back_inserter(to), text, "\n\t");
  return text.size();
}

void say(const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  write_formatted(format, list);
  va_end(list);
}

void note(const char* format, ...) {
  if (manner.quiet) return;
  std::va_list list;
  va_start(list, format);
  write_formatted(format, list);
  va_end(list);
}

void say_text(std::string_view text) { write_message(text, "\n\t"); }

}  // namespace cli
