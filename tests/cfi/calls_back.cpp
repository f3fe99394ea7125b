// SPDX-License-Identifier: Apache-2.0
// A shared object of its own for in_process_test.cpp.

extern "C" int calls_back(int (*f)(void*), void* to);
extern "C" int calls_back(int (*f)(void*), void* to) {
  volatile int room[8] = {1};
  return f(to) + room[0];
}
