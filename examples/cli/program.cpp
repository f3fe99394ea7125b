// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "demangled_size.hpp"
#include "input_kind.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cxxabi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backsight/names/short_name.hpp>

namespace cli {

namespace {

/// A name of Rust's older mangling, demangled as one of C++, without its hash and with its signs; others stay as they
/// are.
std::string rust_name(std::string text) {
  constexpr std::size_t hash = 3 + 16;
  if (text.size() <= hash || text.compare(text.size() - hash, 3, "::h") != 0) return text;
  const std::string_view digits = std::string_view(text).substr(text.size() - 16);
  if (digits.find_first_not_of("0123456789abcdef") != digits.npos) return text;
  constexpr std::array<std::pair<std::string_view, char>, 8> signs{{{"$C$", ','},
                                                                    {"$SP$", '@'},
                                                                    {"$BP$", '*'},
                                                                    {"$RF$", '&'},
                                                                    {"$LT$", '<'},
                                                                    {"$GT$", '>'},
                                                                    {"$LP$", '('},
                                                                    {"$RP$", ')'}}};
  const auto hex = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  const std::string_view in = std::string_view(text).substr(0, text.size() - hash);
  std::string out;
  for (std::size_t i = 0; i < in.size();) {
    const auto sign =
        std::find_if(signs.begin(), signs.end(), [&](const auto& one) { return in.substr(i).starts_with(one.first); });
    if (sign != signs.end()) {
      out += sign->second;
      i += sign->first.size();
    } else if (in.substr(i).starts_with("$u") && in.size() - i >= 5 && in[i + 4] == '$' && hex(in[i + 2]) >= 0 &&
               hex(in[i + 3]) >= 0) {
      out += static_cast<char>(hex(in[i + 2]) * 16 + hex(in[i + 3]));
      i += 5;
    } else if (in[i] == '_' && in.substr(i + 1).starts_with('$') && (i == 0 || in[i - 1] == ':')) {
      ++i;
    } else if (in.substr(i).starts_with("..")) {
      out += "::";
      i += 2;
    } else {
      out += in[i++];
    }
  }
  return out;
}

}  // namespace

int report_error(const std::string& file, const backsight::trace_error& error, std::string_view detail) {
  std::string kind;
  // Another file was taken for one of a format that has a beginning of its own.
  if (error.code == backsight::errc::bad_magic && error.offset == 0 && detail.empty())
    detail = kind = what_else_it_is(file);
  say("%s:%" PRIu64 ": %s%s%.*s\n", file.c_str(), error.offset, backsight::message(error.code),
      detail.empty() ? "" : ": ", static_cast<int>(detail.size()), detail.data());
  return bad_input;
}

int report_error(const std::string& file, std::string_view message) {
  say("%s: %.*s\n", file.c_str(), static_cast<int>(message.size()), message.data());
  return bad_input;
}

void report_fault(const std::string& file, const backsight::fault& fault) {
  say("%s:%" PRIu64 ": %s; %" PRIu64 " bytes skipped\n", file.c_str(), fault.offset, backsight::message(fault.code),
      fault.skipped);
}

progress::progress(std::uint64_t total, const char* what)
    : total_(total),
      what_(what),
      terminal_(!manner.quiet && is_terminal(STDERR_FILENO)),
      begin_(std::chrono::steady_clock::now()),
      next_(begin_ + std::chrono::milliseconds(500)) {}

progress::~progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void progress::show(std::uint64_t done) {
  const std::unique_lock lock(one_, std::try_to_lock);
  if (!lock) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  // A pager has the screen.
  if (is_terminal(STDOUT_FILENO) && ::isatty(STDOUT_FILENO) != 1) return;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count(),
               megabytes = static_cast<double>(done) / 1e6;
  const double part = total_ == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  if (total_ == 0) std::fprintf(stderr, "\r%s %.0f MB  %.0f MB/s", what_, megabytes, megabytes / seconds);
  else std::fprintf(stderr, "\r%s %3.0f %%  %.0f MB/s", what_, 100.0 * part, megabytes / seconds);
  if (part > 0.01) std::fprintf(stderr, "  %.0f s left", seconds / part * (1 - part));
  std::fputs("\033[K", stderr);
}

std::string demangle(const std::string& name) {
  // 110 bytes can stand for gigabytes, which __cxa_demangle would make.
  constexpr std::size_t longest = 128 * 1024;
  if (!name.starts_with("_Z") || !demangles_within(name, longest)) return name;
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && std::strlen(text) <= longest ? text : name;
  std::free(text);
  return result;
}

std::string demangle_function(std::string_view name) {
  constexpr std::size_t longest = 128 * 1024;
  if (name.starts_with("_R")) return backsight::names::short_name(name);
  if (!name.starts_with("_Z")) return std::string(name);
  const std::string alone = mangled_name_alone(name, longest);
  if (alone.empty()) return std::string(name);
  std::string text = demangle(alone);
  return text == alone ? std::string(name) : rust_name(std::move(text));
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace cli
