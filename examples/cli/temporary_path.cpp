// SPDX-License-Identifier: Apache-2.0
#include "temporary_path.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {

struct temporary_path::entry {
  std::string path;
  kind what = kind::file;
  std::atomic<bool> there{false};
  entry* next = nullptr;
};

std::atomic<temporary_path::entry*> temporary_path::all_{nullptr};

namespace {

void remove_path(const char* path, temporary_path::kind what) noexcept {
  if (what == temporary_path::kind::folder) (void)::rmdir(path);
  else (void)::unlink(path);
}

/// No signal comes between making a file and noting that it is there.
class signals_held {
 public:
  signals_held() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  signals_held(const signals_held&) = delete;
  signals_held& operator=(const signals_held&) = delete;
  ~signals_held() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

std::string fresh_name(const std::string& folder) {
  static std::atomic<unsigned> number{0};
  return folder + "/.backsight-" + std::to_string(::getpid()) + "-" + std::to_string(number++) + ".tmp";
}

}  // namespace

temporary_path::temporary_path(temporary_path&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

temporary_path& temporary_path::operator=(temporary_path&& other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

void temporary_path::watch(std::string path) {
  remove();
  // The list is for signal handlers, which may run at any moment: entries are added at its head and never taken out.
  entry_ = new entry{std::move(path), kind::file, {true}, nullptr};
  entry_->next = all_.load();
  while (!all_.compare_exchange_weak(entry_->next, entry_)) {
  }
}

int temporary_path::make(std::string path, kind what) {
  watch(std::move(path));
  entry_->what = what;
  entry_->there = false;
  const signals_held held;
  const int made = what == kind::folder
                       ? ::mkdir(entry_->path.c_str(), 0777)
                       : ::open(entry_->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  entry_->there = made >= 0;
  return made;
}

int temporary_path::make_file(const std::string& folder) {
  for (;;) {
    const int made = make(fresh_name(folder), kind::file);
    if (made >= 0 || errno != EEXIST) return made;
  }
}

bool temporary_path::make_folder(const std::string& folder) {
  for (;;) {
    if (make(fresh_name(folder), kind::folder) == 0) return true;
    if (errno != EEXIST) return false;
  }
}

const std::string& temporary_path::path() const { return entry_->path; }

void temporary_path::keep() {
  if (entry_ != nullptr) entry_->there = false;
}

void temporary_path::remove() {
  if (entry_ == nullptr || !entry_->there.exchange(false)) return;
  const int saved = errno;
  remove_path(entry_->path.c_str(), entry_->what);
  errno = saved;
}

void temporary_path::remove_all() noexcept {
  // The newest first: files before the folders that they are in.
  for (entry* one = all_.load(); one != nullptr; one = one->next) {
    if (one->there.exchange(false)) remove_path(one->path.c_str(), one->what);
  }
}

}  // namespace cli
