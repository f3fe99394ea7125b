// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/in_process.hpp>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

#include <backsight/cfi/frame_sections.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/no_alloc.hpp>

using namespace backsight;

namespace {

const cfi::own_process& process() {
  static const cfi::own_process own;
  return own;
}

std::vector<std::uint64_t> of_libgcc() {
  std::vector<std::uint64_t> pcs;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) {
        static_cast<std::vector<std::uint64_t>*>(to)->push_back(_Unwind_GetIP(context));
        return _URC_NO_REASON;
      },
      &pcs);
  // libgcc reports the end as a frame with pc 0.
  if (!pcs.empty() && pcs.back() == 0) pcs.pop_back();
  return pcs;
}

struct both {
  std::vector<std::uint64_t> ours, theirs;
  cfi::stop why = cfi::stop::none;
};

[[gnu::noinline]] void take(both& b) {
  std::uint64_t pcs[256];
  const auto walked = cfi::unwind_here(pcs, process());
  b.ours.assign(pcs, pcs + walked.count);
  b.why = walked.why;
  b.theirs = of_libgcc();
}
// NOLINTNEXTLINE: recursion is the point.
[[gnu::noinline]] std::uint64_t deeper(both& b, unsigned depth) {
  volatile std::uint64_t room[5] = {depth};
  if (depth == 0) take(b);
  else room[1] = deeper(b, depth - 1);
  return room[0] + room[1];
}

/// From main on, both have the same frames; the innermost ones differ, as they were taken at different places.
bool same_callers(const both& b) {
  std::size_t common = 0;
  while (common < b.ours.size() && common < b.theirs.size() &&
         b.ours[b.ours.size() - 1 - common] == b.theirs[b.theirs.size() - 1 - common]) {
    ++common;
  }
  return common + 2 >= b.ours.size();
}

}  // namespace

TEST_CASE("the own frames equal those of libgcc") {
  for (const unsigned depth : {0U, 1U, 40U}) {
    both b;
    (void)deeper(b, depth);
    INFO(depth << ' ' << b.ours.size() << ' ' << b.theirs.size() << ' ' << message(b.why));
    CHECK(b.ours.size() > depth);
    CHECK(b.why == cfi::stop::outermost);
    CHECK(same_callers(b));
  }
}

TEST_CASE("another thread unwinds with the same tables") {
  both b;
  (void)process();
  std::thread([&] { (void)deeper(b, 5); }).join();
  CHECK(b.ours.size() > 5);
  CHECK(same_callers(b));
}

namespace {
std::vector<std::uint64_t> in_handler(256);
std::size_t in_handler_count = 0;
std::size_t in_handler_allocations = 0;
}  // namespace

TEST_CASE("a signal handler sees the frames that were interrupted, and allocates nothing") {
  (void)process();
  struct sigaction action{}, before{};
  action.sa_handler = [](int) {
    in_handler_allocations =
        test::allocations_in([] { in_handler_count = cfi::unwind_here(in_handler, process()).count; });
  };
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  std::raise(SIGUSR1);
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
  CHECK(in_handler_allocations == 0);
  std::uint64_t here[256];
  const auto walked = cfi::unwind_here(here, process());
  // The callers of this test are the same in both.
  REQUIRE(in_handler_count > walked.count);
  CHECK(in_handler[in_handler_count - 1] == here[walked.count - 1]);
  CHECK(in_handler[in_handler_count - walked.count + 1] == here[1]);
}

namespace {

/// The frames that a function of a loaded object calls back with, by this library and by libgcc.
both frames_through(const std::string& path) {
  both b;
  void* const object = ::dlopen(path.c_str(), RTLD_NOW);
  REQUIRE(object != nullptr);
  using function = int (*)(int (*)(void*), void*);
  const auto calls_back = reinterpret_cast<function>(::dlsym(object, "calls_back"));
  REQUIRE(calls_back != nullptr);
  struct context {
    cfi::own_process with;
    both* to;
  } used{{}, &b};
  (void)calls_back(
      [](void* argument) {
        auto& c = *static_cast<context*>(argument);
        std::uint64_t pcs[256];
        const auto walked = cfi::unwind_here(pcs, c.with);
        c.to->ours.assign(pcs, pcs + walked.count);
        c.to->why = walked.why;
        c.to->theirs = of_libgcc();
        return 1;
      },
      &used);
  ::dlclose(object);
  return b;
}

}  // namespace

TEST_CASE("an object without a search table in its header is walked all the same") {
  const auto whole =
      test::read_file((std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libcalls_back.so").string());
  const auto image = elf::open(whole);
  REQUIRE(image);
  const auto header = cfi::find_frame_header(*image);
  REQUIRE(header);
  const auto at = static_cast<std::size_t>(header->bytes.data() - whole.data());
  // As it is; without count and table; with numbers of several lengths, which are not searched.
  const std::vector<std::array<unsigned, 2>> choices{{0x03, 0x3b}, {0xff, 0xff}, {0x03, 0x39}};
  for (const auto& encodings : choices) {
    auto changed = whole;
    for (std::size_t i = 0; i < 2; ++i) changed[at + 2 + i] = static_cast<std::byte>(encodings[i]);
    const auto name = "backsight-calls-back-" + std::to_string(::getpid()) + "-" + std::to_string(encodings[1]) + ".so";
    const std::string path = (std::filesystem::temp_directory_path() / name).string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(changed.data()), static_cast<std::streamsize>(changed.size()));
    const both b = frames_through(path);
    std::filesystem::remove(path);
    INFO(encodings[1] << ' ' << b.ours.size() << ' ' << b.theirs.size() << ' ' << message(b.why));
    CHECK(b.why == cfi::stop::outermost);
    CHECK(b.ours.size() > 3);
    CHECK(same_callers(b));
  }
}

TEST_CASE("the mapped object of an own address is found without tables") {
  const auto own = cfi::find_own_object(reinterpret_cast<std::uint64_t>(&take));
  REQUIRE(own);
  CHECK(own->eh_frame_hdr != 0);
  CHECK(reinterpret_cast<std::uint64_t>(&take) - own->begin < own->end - own->begin);
  CHECK_FALSE(cfi::find_own_object(16));
}
