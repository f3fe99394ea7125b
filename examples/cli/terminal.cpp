// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <cstdarg>
#include <cstdio>
#include <iterator>

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
  if (::isatty(STDERR_FILENO) == 1) {
    (void)backsight::text::shown(std::back_inserter(shown), text, kept);
    text = shown;
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

std::size_t show_on_terminal(std::string& to, std::string_view text, bool goes_on) {
  if (goes_on) text.remove_suffix(unfinished(text));
  (void)backsight::text::shown(std::back_inserter(to), text, "\n\t");
  return text.size();
}

void say(const char* format, ...) {
  std::va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  std::string text(static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, list))) + 1, '\0');
  va_end(list);
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  // The line ends behind the message are the program's own, others are not.
  const bool line = text.ends_with('\n');
  if (line) text.pop_back();
  write_message(text, "");
  if (line) std::fputc('\n', stderr);
}

void say_text(std::string_view text) { write_message(text, "\n\t"); }

}  // namespace cli
