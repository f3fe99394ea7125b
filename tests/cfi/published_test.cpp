// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/published.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <support/catch.hpp>

using backsight::cfi::published;

namespace {

std::atomic<int> alive{0};
/// Two numbers that are the same while it lives.
struct twin {
  explicit twin(int n = 0) : first(n), second(n) { ++alive; }
  twin(twin&& other) noexcept : first(other.first), second(other.second) { ++alive; }
  twin& operator=(twin&&) = delete;
  ~twin() {
    --alive;
    second = -1;
  }
  int first, second;
};

}  // namespace

TEST_CASE("a value that is replaced is freed once no reader has it") {
  {
    published<twin> value;
    CHECK(alive == 1);
    {
      const published<twin>::reader before(value);
      value.publish(twin(1));
      CHECK(before->first == 0);
      CHECK(before->second == 0);
      CHECK(value.retired() == 1);
      const published<twin>::reader after(value);
      CHECK(after->first == 1);
      for (int i = 2; i < 10; ++i) value.publish(twin(i));
      CHECK(before->second == 0);
      CHECK(after->second == 1);
      CHECK(value.latest().first == 9);
    }
    value.reclaim();
    CHECK(value.retired() == 0);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("readers that overlap do not keep values for ever") {
  published<twin> value;
  std::optional<published<twin>::reader> one, other;
  one.emplace(value);
  for (int i = 1; i < 100; ++i) {
    value.publish(twin(i));
    (i % 2 == 0 ? one : other).emplace(value);
    CHECK(value.retired() <= 4);
  }
}

TEST_CASE("many threads read while a value is replaced") {
  published<twin> value;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, backwards{0};
  std::atomic<long> reads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      int last = 0;
      while (!done) {
        const published<twin>::reader now(value);
        if (now->first != now->second) ++wrong;
        if (now->first < last) ++backwards;
        last = now->first;
        ++reads;
      }
    });
  }
  for (int i = 1; i < 20000 || reads < 1000; ++i) value.publish(twin(i));
  done = true;
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(backwards == 0);
  value.reclaim();
  CHECK(value.retired() == 0);
}
