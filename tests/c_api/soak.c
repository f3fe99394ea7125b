/* SPDX-License-Identifier: Apache-2.0
 * Threads sample each other by SIGPROF, each walking its own stack in the handler, while modules come and go: a library is
 * loaded and unloaded, call frame information registered and forgotten.
 *     soak LIBRARY SECONDS
 * Every walk that ends at the outermost frame must have gone through the thread's first function. */
#define _GNU_SOURCE
#include <backsight_unwind.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define LATE_SIGNALS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATE_SIGNALS 1
#endif
#endif

enum { threads = 8, room = 256 };
typedef int (*calls)(int (*)(void*), void*);

struct worker {
  pthread_t thread;
  pid_t id;
  bsu_cache* cache;
  bsu_memory stack;
  uint64_t first_return; /* Into the function that started the thread. */
  atomic_ullong walks, complete, wrong, frames;
  atomic_int ready;
  int number;
};
static struct worker workers[threads];
static bsu_process* process;
static atomic_int done;
static pthread_barrier_t start;
static __thread struct worker* self;
static pthread_rwlock_t library_lock = PTHREAD_RWLOCK_INITIALIZER;
static calls call;

static void on_sample(int number, siginfo_t* info, void* context) {
  (void)number, (void)info, (void)context;
  struct worker* const w = self;
  if (w == NULL) return;
  bsu_registers registers;
#ifdef LATE_SIGNALS
  /* ThreadSanitizer calls handlers later than the context says. */
  bsu_capture(&registers);
#else
  bsu_capture_signal(&registers, context);
#endif
  uint64_t pcs[room];
  int why = 0;
  const size_t count = bsu_walk(process, w->cache, &registers, &w->stack, pcs, room, &why);
  int found = 0;
  for (size_t i = 0; i < count; ++i) found |= pcs[i] == w->first_return;
  atomic_fetch_add_explicit(&w->walks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&w->frames, count, memory_order_relaxed);
  if (why == BSU_OUTERMOST) atomic_fetch_add_explicit(found ? &w->complete : &w->wrong, 1, memory_order_relaxed);
}

static int back(void* to) { return to != NULL; }
__attribute__((noinline)) static unsigned deep(struct worker* w, unsigned depth, unsigned seed) {
  if (depth > 0) {
    const unsigned below = deep(w, depth - 1, seed * 1664525U + 1013904223U);
    return below + (unsigned)w->number;
  }
  /* Every thread asks for a sample of the next one. */
  const struct worker* const other = &workers[((unsigned)w->number + 1 + (seed >> 16) % (threads - 1)) % threads];
  (void)syscall(SYS_tgkill, getpid(), other->id, SIGPROF); /* pthread_kill takes a lock of that thread. */
  if (seed % 16 == 0 && pthread_rwlock_tryrdlock(&library_lock) == 0) {
    if (call != NULL) seed += (unsigned)call(back, w);
    pthread_rwlock_unlock(&library_lock);
  }
  return seed;
}
static void* work(void* argument) {
  struct worker* const w = argument;
  pthread_attr_t attributes;
  void* low = NULL;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  memset(&w->stack, 0, sizeof w->stack);
  w->stack.kind = BSU_OWN;
  w->stack.low = (uint64_t)(uintptr_t)low;
  w->stack.high = w->stack.low + size;
  w->first_return = (uint64_t)(uintptr_t)__builtin_return_address(0);
  w->id = (pid_t)syscall(SYS_gettid);
  self = w;
  pthread_barrier_wait(&start);
  unsigned seed = (unsigned)w->number;
  while (!atomic_load(&done)) seed = deep(w, 1 + seed % 40, seed * 22695477U + 1U);
  pthread_barrier_wait(&start); /* Until here others may send signals. */
  self = NULL;
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A CIE and an FDE of 16 bytes at an absolute address. */
static void make_frames(unsigned char* to, uint64_t begin) {
  static const unsigned char form[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1, 0, 0,
                                       28, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                       0, 0, 0, 0, 0, 0, 0, 0};
  memcpy(to, form, sizeof form);
  memcpy(to + 32, &begin, 8);
}

int main(int words, char** word) {
  if (words != 3) return 2;
  const double seconds = atof(word[2]);
  if (bsu_process_new(&process) != BSU_OK || bsu_process_refresh_own(process) != BSU_OK) return 1;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, NULL);
  pthread_barrier_init(&start, NULL, threads + 1);
  for (int i = 0; i < threads; ++i) {
    workers[i].number = i;
    if (bsu_cache_new(&workers[i].cache) != BSU_OK) return 1;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) return 1;
  }
  pthread_barrier_wait(&start);

  unsigned long long changes = 0, failures = 0;
  unsigned char frames[64];
  const double end = now() + seconds;
  for (unsigned turn = 0; now() < end; ++turn) {
    pthread_rwlock_wrlock(&library_lock);
    void* const handle = dlopen(word[1], RTLD_NOW);
    call = handle != NULL ? (calls)(uintptr_t)dlsym(handle, "calls_back") : NULL;
    pthread_rwlock_unlock(&library_lock);
    failures += call == NULL;
    failures += bsu_process_refresh_own(process) != BSU_OK;
    for (uint64_t i = 0; i < 8; ++i) {
      make_frames(frames, 0x10000 + 256 * (i + turn % 16));
      failures += bsu_jit_register_frame(process, frames) != BSU_OK;
      failures += bsu_jit_forget_frame(process, frames) != BSU_OK;
      changes += 2;
    }
    pthread_rwlock_wrlock(&library_lock);
    call = NULL;
    if (handle != NULL) dlclose(handle);
    pthread_rwlock_unlock(&library_lock);
    failures += bsu_process_refresh_own(process) != BSU_OK;
    changes += 2;
  }
  atomic_store(&done, 1);
  pthread_barrier_wait(&start);
  unsigned long long walks = 0, complete = 0, wrong = 0, all = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(workers[i].thread, NULL);
    walks += workers[i].walks, complete += workers[i].complete, wrong += workers[i].wrong, all += workers[i].frames;
    bsu_cache_free(workers[i].cache);
  }
  bsu_process_free(process);
  printf("%.0f seconds, %llu walks of %llu frames, %llu complete, %llu wrong, %llu changes of modules, %llu failures\n", seconds,
         walks, all, complete, wrong, changes, failures);
  /* Most walks end well, else nothing was tested. */
  return wrong == 0 && failures == 0 && walks > 20 && complete > walks / 2 && changes > 10 ? 0 : 1;
}
