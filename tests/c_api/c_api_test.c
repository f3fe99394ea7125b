/* SPDX-License-Identifier: Apache-2.0
 * Tests the C interface from C: c_api_test FOLDER-FOR-FILES LIBRARY-TO-LOAD [emulated]. Prints what fails; exit code 0 when
 * nothing does. `emulated` leaves out what qemu-user cannot do: ptrace, and so other processes. */
#define _GNU_SOURCE
#include <backsight_unwind.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;
#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      ++failures; \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    } \
  } while (0)
/* For what nothing behind can do without. */
#define REQUIRE(condition) \
  do { \
    CHECK(condition); \
    if (failures != 0) exit(1); \
  } while (0)

enum { room = 256 };
static bsu_process* process;
static uint64_t pcs[room];
static size_t count;
static int why;
static const char* folder;

static bsu_memory own_stack(void) {
  bsu_memory memory;
  memset(&memory, 0, sizeof memory);
  pthread_attr_t attributes;
  void* low = NULL;
  size_t size = 0;
  REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  memory.kind = BSU_OWN;
  memory.low = (uint64_t)(uintptr_t)low;
  memory.high = memory.low + size;
  return memory;
}
static int has(const uint64_t* list, size_t n, uint64_t pc) {
  for (size_t i = 0; i < n; ++i) {
    if (list[i] == pc) return 1;
  }
  return 0;
}

/* ---- The own stack ---- */

static int order(const void* a, const void* b) {
  (void)a, (void)b;
  bsu_registers here;
  bsu_capture(&here);
  const bsu_memory memory = own_stack();
  count = bsu_walk(process, NULL, &here, &memory, pcs, room, &why);
  /* glibc's own unwinder, from the same function outwards. */
  void* expected[room];
  const int n = backtrace(expected, room);
  CHECK(n > 3 && (size_t)n == count);
  for (size_t i = 1; i < count && (int)i < n; ++i) CHECK(pcs[i] == (uint64_t)(uintptr_t)expected[i]);
  CHECK(why == BSU_OUTERMOST);
  return 0;
}
static void walk_here(void) {
  int two[2] = {2, 1};
  qsort(two, 2, sizeof two[0], order);
  CHECK(count > 3);
}

/* ---- A signal ---- */

static bsu_memory signal_memory;
static volatile uint64_t expected_return;
static bsu_cache* signal_cache;
static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  bsu_registers registers;
  bsu_capture_signal(&registers, context);
  count = bsu_walk(process, signal_cache, &registers, &signal_memory, pcs, room, &why);
}
__attribute__((noinline)) static void raise_here(void) {
  expected_return = (uint64_t)(uintptr_t)__builtin_return_address(0);
  raise(SIGUSR1);
  __asm__ volatile("" ::: "memory");
}
static void walk_in_signal(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  signal_memory = own_stack();
  CHECK(bsu_cache_new(&signal_cache) == BSU_OK);
  sigaction(SIGUSR1, &action, NULL);
  for (int turn = 0; turn < 2; ++turn) {
    count = 0;
    raise_here();
    CHECK(count > 3 && why == BSU_OUTERMOST && has(pcs, count, expected_return));
  }
}

/* ---- Snapshots, readers, batches ---- */

static int read_word(void* user, uint64_t address, uint64_t* word) {
  const bsu_memory* m = user;
  if (address < m->low || address + 8 > m->high) return -1;
  memcpy(word, (const char*)m->bytes + (address - m->low), 8);
  return 0;
}
__attribute__((noinline)) static void walk_copies(int depth) {
  if (depth > 0) {
    walk_copies(depth - 1);
    __asm__ volatile("" ::: "memory");
    return;
  }
  bsu_registers here;
  bsu_capture(&here);
  bsu_memory own = own_stack();
  count = bsu_walk(process, NULL, &here, &own, pcs, room, &why);
  CHECK(why == BSU_OUTERMOST && count > 20);

  bsu_memory copy = own;
#if defined(__x86_64__)
  const uint64_t sp = here.value[7];
#else
  const uint64_t sp = here.value[31];
#endif
  copy.kind = BSU_SNAPSHOT;
  copy.low = sp;
  const size_t size = (size_t)(copy.high - copy.low);
  char* bytes = malloc(size);
  REQUIRE(bytes != NULL);
  memcpy(bytes, (const void*)(uintptr_t)sp, size);
  copy.bytes = bytes;
  uint64_t other[room];
  int other_why = 0;
  CHECK(bsu_walk(process, NULL, &here, &copy, other, room, &other_why) == count && other_why == why);
  CHECK(memcmp(pcs, other, count * sizeof pcs[0]) == 0);

  bsu_memory reader = copy;
  reader.kind = BSU_READER;
  reader.read = read_word;
  reader.user = &copy;
  memset(other, 0, sizeof other);
  CHECK(bsu_walk(process, NULL, &here, &reader, other, room, NULL) == count);
  CHECK(memcmp(pcs, other, count * sizeof pcs[0]) == 0);

  /* A snapshot that ends early, and one frame of room. */
  bsu_memory small = copy;
  small.high = small.low + 64;
  CHECK(bsu_walk(process, NULL, &here, &small, other, room, &other_why) < count && other_why == BSU_UNREADABLE);
  CHECK(bsu_walk(process, NULL, &here, &copy, other, 1, &other_why) == 1 && other_why == BSU_LIMIT);

  enum { samples = 40 };
  bsu_cache* cache = NULL;
  CHECK(bsu_cache_new(&cache) == BSU_OK);
  static bsu_sample batch[samples];
  static uint64_t rooms[samples][room];
  for (int turn = 0; turn < 2; ++turn) {
    for (size_t i = 0; i < samples; ++i) {
      memset(&batch[i], 0, sizeof batch[i]);
      batch[i].registers = here;
      batch[i].stack = bytes;
      batch[i].stack_address = copy.low;
      batch[i].stack_size = i % 5 == 4 ? 64 : size;
      batch[i].pcs = rooms[i];
      batch[i].capacity = i % 7 == 6 ? 3 : room;
    }
    CHECK(bsu_walk_batch(process, turn == 0 ? NULL : cache, batch, samples) == BSU_OK);
    for (size_t i = 0; i < samples; ++i) {
      CHECK(memcmp(pcs, rooms[i], batch[i].count * sizeof pcs[0]) == 0);
      if (i % 5 == 4) CHECK(batch[i].why == BSU_UNREADABLE || batch[i].why == BSU_LIMIT);
      else if (i % 7 == 6) CHECK(batch[i].why == BSU_LIMIT && batch[i].count == 3);
      else CHECK(batch[i].why == why && batch[i].count == count);
    }
  }
  bsu_cache_free(cache);
  free(bytes);
}

/* ---- Modules ---- */

static int walk_back(void* unused) {
  (void)unused;
  bsu_registers here;
  bsu_capture(&here);
  const bsu_memory memory = own_stack();
  count = bsu_walk(process, NULL, &here, &memory, pcs, room, &why);
  return 0;
}
static void load_and_unload(const char* library) {
  const size_t before = bsu_process_modules(process);
  for (int turn = 0; turn < 2; ++turn) {
    void* handle = dlopen(library, RTLD_NOW);
    REQUIRE(handle != NULL);
    typedef int (*calls)(int (*)(void*), void*);
    const calls call = (calls)(uintptr_t)dlsym(handle, "calls_back");
    REQUIRE(call != NULL);
    call(walk_back, NULL);
    CHECK(why == BSU_NO_MODULE && count == 2);
    CHECK(bsu_process_refresh_own(process) == BSU_OK);
    CHECK(bsu_process_modules(process) == before + 1);
    call(walk_back, NULL);
    CHECK(why == BSU_OUTERMOST && count > 4);
    CHECK(bsu_process_refresh_own(process) == BSU_OK);
    CHECK(bsu_process_modules(process) == before + 1);
    dlclose(handle);
    CHECK(bsu_process_refresh_own(process) == BSU_OK);
    CHECK(bsu_process_modules(process) == before);
  }
}

static void add_and_remove(const char* library) {
  bsu_table* table = NULL;
  CHECK(bsu_table_build(library, &table) == BSU_OK);
  REQUIRE(table != NULL);
  char path[4096];
  snprintf(path, sizeof path, "%s/c_api.table", folder);
  CHECK(bsu_table_save(table, path) == BSU_OK);
  bsu_table* again = NULL;
  CHECK(bsu_table_open(path, &again) == BSU_OK);
  REQUIRE(again != NULL);
  size_t size = 0, size_again = 0;
  const void* bytes = bsu_table_bytes(table, &size);
  CHECK(size > 128 && memcmp(bytes, bsu_table_bytes(again, &size_again), size) == 0 && size == size_again);
  bsu_table* view = NULL;
  CHECK(bsu_table_open_bytes(bytes, size, &view) == BSU_OK);
  CHECK(bsu_table_open_bytes(bytes, size - 1, &view) == BSU_BAD_FILE);
  CHECK(bsu_table_open(library, &view) == BSU_BAD_FILE);
  CHECK(bsu_table_open("/nowhere/at/all", &view) == BSU_NO_FILE);
  CHECK(bsu_table_build("/nowhere/at/all", &view) == BSU_NO_FILE);
  CHECK(bsu_table_build(path, &view) == BSU_BAD_FILE);

  const size_t before = bsu_process_modules(process);
  CHECK(bsu_process_add(process, 0x1000, 0x2000, 0x1000, again) == BSU_OK);
  CHECK(bsu_process_add(process, 0x1800, 0x2800, 0x1000, again) == BSU_OVERLAP);
  CHECK(bsu_process_add(process, 0x2000, 0x2000, 0, NULL) == BSU_BAD_ARGUMENT);
  CHECK(bsu_process_modules(process) == before + 1);
  bsu_table_free(again); /* The module keeps it. */
  bsu_registers r;
  memset(&r, 0, sizeof r);
  r.pc = 0x1fff;
  const bsu_memory memory = own_stack();
  CHECK(bsu_walk(process, NULL, &r, &memory, pcs, room, &why) == 1 && why == BSU_NO_INFORMATION);
  CHECK(bsu_process_remove(process, 0x1000) == BSU_OK);
  CHECK(bsu_process_remove(process, 0x1000) == BSU_NOT_FOUND);
  CHECK(bsu_walk(process, NULL, &r, &memory, pcs, room, &why) == 1 && why == BSU_NO_MODULE);
  bsu_table_free(table);
}

/* ---- Another process ---- */

__attribute__((noinline)) static void wait_for_parent(int ready) {
  const char one = 1;
  if (write(ready, &one, 1) != 1) _exit(1);
  for (;;) pause();
}
static volatile uint64_t child_clock;
__attribute__((noinline)) static void ask_for_time(int ready) {
  const char one = 1;
  if (write(ready, &one, 1) != 1) _exit(1);
  struct timespec t;
  for (;;) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    child_clock += (uint64_t)t.tv_nsec;
  }
}

/* A child that does something forever, traced and stopped, and what was found of it. */
struct child {
  pid_t id;
  bsu_process* modules;
  bsu_registers registers;
  bsu_memory memory;
};
static struct child stopped_child(void (*what)(int)) {
  struct child made;
  memset(&made, 0, sizeof made);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  made.id = fork();
  REQUIRE(made.id >= 0);
  if (made.id == 0) what(ends[1]);
  char one = 0;
  REQUIRE(read(ends[0], &one, 1) == 1);
  int status = 0;
  REQUIRE(ptrace(PTRACE_ATTACH, made.id, NULL, NULL) == 0 && waitpid(made.id, &status, 0) == made.id);
  REQUIRE(bsu_process_new(&made.modules) == BSU_OK);
  CHECK(bsu_process_load(made.modules, made.id) == BSU_OK);
  CHECK(bsu_process_modules(made.modules) >= 2);
  CHECK(bsu_capture_thread(&made.registers, made.id) == BSU_OK);
  made.memory.kind = BSU_REMOTE;
  CHECK(bsu_remote_new(made.id, &made.memory.remote) == BSU_OK);
  close(ends[0]);
  close(ends[1]);
  return made;
}
static void end_child(struct child* one) {
  int status = 0;
  kill(one->id, SIGKILL);
  waitpid(one->id, &status, 0);
  bsu_remote_free(one->memory.remote);
  bsu_process_free(one->modules);
}
/* The mapping of a process with this name, as [vdso]. */
static int find_mapping(pid_t id, const char* name, uint64_t* begin, uint64_t* end) {
  char line[4608];
  snprintf(line, sizeof line, "/proc/%d/maps", (int)id);
  FILE* const maps = fopen(line, "r");
  REQUIRE(maps != NULL);
  int found = 0;
  while (!found && fgets(line, sizeof line, maps) != NULL) {
    unsigned long long from = 0, to = 0;
    found = strstr(line, name) != NULL && sscanf(line, "%llx-%llx", &from, &to) == 2;
    *begin = from, *end = to;
  }
  fclose(maps);
  return found;
}

static void walk_child(void) {
  struct child one = stopped_child(wait_for_parent);
  for (int turn = 0; turn < 2; ++turn) {
    count = bsu_walk(one.modules, NULL, &one.registers, &one.memory, pcs, room, &why);
    CHECK(why == BSU_OUTERMOST && count >= 4);
    /* The child is this program, and was forked with its stack: it has this function's callers. */
    CHECK(has(pcs, count, (uint64_t)(uintptr_t)__builtin_return_address(0)));
    bsu_remote_forget(one.memory.remote);
  }
#if defined(__x86_64__)
  /* As if it had called time() of [vsyscall] instead of what it does, at each of its instructions. */
  uint64_t begin = 0, end = 0;
  if (find_mapping(one.id, "[vsyscall]", &begin, &end)) {
    bsu_registers in_page = one.registers;
    const uint64_t caller = pcs[1];
    in_page.value[7] -= 256;
    REQUIRE(ptrace(PTRACE_POKEDATA, one.id, (void*)(uintptr_t)in_page.value[7], (void*)(uintptr_t)caller) == 0);
    bsu_remote_forget(one.memory.remote);
    static const uint64_t instructions[] = {0, 7, 9};
    for (size_t i = 0; i < sizeof instructions / sizeof instructions[0]; ++i) {
      in_page.pc = begin + 0x400 + instructions[i];
      uint64_t two[2] = {0, 0};
      CHECK(bsu_walk(one.modules, NULL, &in_page, &one.memory, two, 2, &why) == 2 && why == BSU_LIMIT);
      CHECK(two[0] == in_page.pc && two[1] == caller);
    }
  } else {
    fprintf(stderr, "there is no [vsyscall] here: it is not walked\n");
  }
#endif
  kill(one.id, SIGKILL);
  int status = 0;
  waitpid(one.id, &status, 0);
  CHECK(bsu_capture_thread(&one.registers, one.id) == BSU_SYSTEM);
  bsu_remote_forget(one.memory.remote);
  CHECK(bsu_walk(one.modules, NULL, &one.registers, &one.memory, pcs, room, &why) == 1 && why == BSU_UNREADABLE);
  end_child(&one);
}

/* A child that asks for the time over and over: most of its samples are in the vDSO. */
static void walk_child_in_vdso(void) {
  struct child one = stopped_child(ask_for_time);
  uint64_t begin = 0, end = 0;
  if (find_mapping(one.id, "[vdso]", &begin, &end)) {
    bsu_cache* cache = NULL;
    REQUIRE(bsu_cache_new(&cache) == BSU_OK);
    unsigned inside = 0, places = 0;
    uint64_t last = 0;
    for (int turn = 0; turn < 20000 && inside < 200; ++turn) {
      int status = 0;
      REQUIRE(ptrace(PTRACE_SINGLESTEP, one.id, NULL, NULL) == 0 && waitpid(one.id, &status, 0) == one.id);
      REQUIRE(bsu_capture_thread(&one.registers, one.id) == BSU_OK);
      if (one.registers.pc < begin || one.registers.pc >= end) continue;
      ++inside;
      places += one.registers.pc != last;
      last = one.registers.pc;
      bsu_remote_forget(one.memory.remote);
      count = bsu_walk(one.modules, turn % 2 == 0 ? cache : NULL, &one.registers, &one.memory, pcs, room, &why);
      CHECK(why == BSU_OUTERMOST && count >= 5);
      CHECK(has(pcs, count, (uint64_t)(uintptr_t)__builtin_return_address(0)));
    }
    /* Without a clock that user space may read, the vDSO makes a call of the system after a few instructions. */
    CHECK(inside >= 20 && places >= 5);
    bsu_cache_free(cache);
  } else {
    fprintf(stderr, "there is no vDSO here: it is not walked\n");
  }
  end_child(&one);
}

/* ---- Code made at run time ---- */

#if defined(__x86_64__)
/* A function that keeps rbx and 32 bytes, and calls what its argument is:
 * 0 push %rbx; 1 sub $32,%rsp; 5 call *%rdi; 7 add $32,%rsp; 11 pop %rbx; 12 ret */
enum { machine = 62, behind_call = 7 };
static const unsigned char code[] = {0x53, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3};
/* Its CIE, its FDE and the end: CFA rsp+8, rsp+16 from 1 (rbx saved at -16), rsp+48 from 5, rsp+16 from 11, rsp+8 from 12. */
static const unsigned char frames[] = {
    20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0 /* absolute */, 0x0c, 7, 8, 0x90, 1, 0, 0,
    44, 0, 0, 0, 28, 0, 0, 0, /* start, 8 bytes at 32 */ 0, 0, 0, 0, 0, 0, 0, 0, /* size */ 13, 0, 0, 0, 0, 0, 0, 0, 0,
    0x41, 0x0e, 16, 0x83, 2, 0x44, 0x0e, 48, 0x46, 0x0e, 16, 0x41, 0x0e, 8, 0, 0, 0, 0, 0,
    0, 0, 0, 0};
#else
/* A function that keeps x19, x29 and x30, and calls what its argument is:
 * 0 stp x29, x30, [sp, -32]!; 4 str x19, [sp, 16]; 8 blr x0; 12 ldr x19, [sp, 16]; 16 ldp x29, x30, [sp], 32; 20 ret */
enum { machine = 183, behind_call = 12 };
static const unsigned char code[] = {0xfd, 0x7b, 0xbe, 0xa9, 0xf3, 0x0b, 0x00, 0xf9, 0x00, 0x00, 0x3f, 0xd6,
                                     0xf3, 0x0b, 0x40, 0xf9, 0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
/* Its CIE, its FDE and the end: CFA sp, sp+32 from 4 (x29 saved at -32, x30 at -24), x19 saved at -16 from 8, sp from 20. */
static const unsigned char frames[] = {
    20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0 /* absolute */, 0x0c, 31, 0, 0, 0, 0, 0,
    44, 0, 0, 0, 28, 0, 0, 0, /* start, 8 bytes at 32 */ 0, 0, 0, 0, 0, 0, 0, 0, /* size */ 24, 0, 0, 0, 0, 0, 0, 0, 0,
    0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x93, 2, 0x43, 0x0e, 0, 0xdd, 0xde, 0xd3, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0};
#endif

static uint64_t caller_of_code;
static void called_by_code(void) {
  bsu_registers here;
  bsu_capture(&here);
  const bsu_memory memory = own_stack();
  count = bsu_walk(process, NULL, &here, &memory, pcs, room, &why);
}
static void run_code(const unsigned char* at) {
  typedef void (*takes)(void (*)(void));
  ((takes)(uintptr_t)at)(called_by_code);
}
/* What GDB's interface says; the names are given. */
struct jit_code_entry {
  struct jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  struct jit_code_entry *relevant_entry, *first_entry;
};
extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

static void put(FILE* to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) fputc((int)(value >> (8 * i) & 0xff), to);
}

static void walk_made_code(void) {
  unsigned char* const page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  memcpy(page + 64, code, sizeof code);
  __builtin___clear_cache((char*)page, (char*)page + 4096);
  const uint64_t begin = (uint64_t)(uintptr_t)(page + 64);
  static unsigned char section[sizeof frames];
  memcpy(section, frames, sizeof frames);
  memcpy(section + 32, &begin, 8);
  caller_of_code = begin + behind_call;

  run_code(page + 64);
  CHECK(why == BSU_NO_MODULE && count == 2 && pcs[1] == caller_of_code);

  /* As __register_frame. */
  CHECK(bsu_jit_register_frame(process, section) == BSU_OK);
  run_code(page + 64);
  CHECK(why == BSU_OUTERMOST && count > 4 && pcs[1] == caller_of_code);
  CHECK(bsu_jit_register_frame(process, section) == BSU_OVERLAP);
  CHECK(bsu_jit_forget_frame(process, section) == BSU_OK);
  CHECK(bsu_jit_forget_frame(process, section) == BSU_NOT_FOUND);
  run_code(page + 64);
  CHECK(why == BSU_NO_MODULE && count == 2);

  /* GDB's interface: an ELF image with one section. */
  static unsigned char image[64 + sizeof frames + 32 + 3 * 64];
  static const char names[] = "\0.eh_frame\0.shstrtab";
  const uint64_t names_at = 64 + sizeof frames, headers_at = 64 + sizeof frames + 32;
  const unsigned char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, machine, 0, 1};
  memcpy(image, head, 64);
  memcpy(image + 40, &headers_at, 8);
  image[52] = 64, image[58] = 64, image[60] = 3, image[62] = 2;
  memcpy(image + 64, section, sizeof frames);
  memcpy(image + names_at, names, sizeof names);
  unsigned char* const eh = image + headers_at + 64;
  unsigned char* const strings = eh + 64;
  const uint64_t eh_at = 64, eh_size = sizeof frames, names_size = sizeof names;
  eh[0] = 1, eh[4] = 1, strings[0] = 11, strings[4] = 3;
  const uint64_t address = begin + 1024;
  memcpy(eh + 16, &address, 8), memcpy(eh + 24, &eh_at, 8), memcpy(eh + 32, &eh_size, 8);
  memcpy(strings + 24, &names_at, 8), memcpy(strings + 32, &names_size, 8);
  struct jit_code_entry entry = {NULL, NULL, (const char*)image, sizeof image};
  __jit_debug_descriptor.first_entry = &entry;
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(bsu_jit_refresh_gdb(process, turn == 0 ? &__jit_debug_descriptor : NULL) == BSU_OK);
    run_code(page + 64);
    CHECK(why == BSU_OUTERMOST && pcs[1] == caller_of_code);
  }
  __jit_debug_descriptor.first_entry = NULL;
  CHECK(bsu_jit_refresh_gdb(process, &__jit_debug_descriptor) == BSU_OK);
  run_code(page + 64);
  CHECK(why == BSU_NO_MODULE);

  /* A jitdump file: unwinding information that counts from behind the code, then the code. */
  char path[4096];
  snprintf(path, sizeof path, "%s/jit-1.dump", folder);
  FILE* dump = fopen(path, "wb");
  REQUIRE(dump != NULL);
  put(dump, 0x4a695444, 4), put(dump, 1, 4), put(dump, 40, 4), put(dump, machine, 4), put(dump, 0, 4), put(dump, 1, 4);
  put(dump, 0, 8), put(dump, 0, 8);
  put(dump, 4, 4), put(dump, 40 + sizeof frames, 4), put(dump, 0, 8), put(dump, sizeof frames, 8), put(dump, 0, 8);
  put(dump, sizeof frames, 8);
  fwrite(section, 1, sizeof frames, dump);
  const char name[] = "made_code";
  put(dump, 0, 4), put(dump, 56 + sizeof name + sizeof code, 4), put(dump, 0, 8), put(dump, 1, 4), put(dump, 1, 4);
  put(dump, begin, 8), put(dump, begin, 8), put(dump, sizeof code, 8), put(dump, 0, 8);
  fwrite(name, 1, sizeof name, dump);
  fwrite(code, 1, sizeof code, dump);
  fclose(dump);
  CHECK(bsu_jit_load_dump(process, path) == BSU_OK);
  CHECK(bsu_jit_load_dump(process, path) == BSU_OK);
  run_code(page + 64);
  CHECK(why == BSU_OUTERMOST && pcs[1] == caller_of_code);
  char text[64];
  CHECK(bsu_jit_name(process, caller_of_code, text, sizeof text) == BSU_OK && strcmp(text, name) == 0);
  CHECK(bsu_jit_name(process, caller_of_code, text, 5) == BSU_OK && strcmp(text, "made") == 0);
  CHECK(bsu_jit_name(process, begin - 1, text, sizeof text) == BSU_NOT_FOUND);
  CHECK(bsu_jit_forget_file(process, path) == BSU_OK);
  CHECK(bsu_jit_forget_file(process, path) == BSU_NOT_FOUND);
  CHECK(bsu_jit_load_dump(process, "/nowhere") == BSU_NO_FILE);

  /* A perf map has names alone. */
  snprintf(path, sizeof path, "%s/perf-1.map", folder);
  FILE* map = fopen(path, "w");
  REQUIRE(map != NULL);
  fprintf(map, "%llx %zx first name\nnot a line\n%llx %zx second name\n", (unsigned long long)begin, sizeof code,
          (unsigned long long)begin + 512, sizeof code);
  fclose(map);
  CHECK(bsu_jit_load_map(process, path) == BSU_OK);
  CHECK(bsu_jit_name(process, begin + 3, text, sizeof text) == BSU_OK && strcmp(text, "first name") == 0);
  CHECK(bsu_jit_name(process, begin + 512, text, sizeof text) == BSU_OK && strcmp(text, "second name") == 0);
  run_code(page + 64);
  CHECK(why == BSU_NO_INFORMATION && count == 2);
  CHECK(bsu_jit_load_dump(process, path) == BSU_BAD_FILE);
  CHECK(bsu_jit_forget_file(process, path) == BSU_OK);
  munmap(page, 4096);
}

int main(int words, char** word) {
  const int emulated = words == 4 && strcmp(word[3], "emulated") == 0;
  if (words != 3 && !emulated) return 2;
  folder = word[1];
  REQUIRE(bsu_version() == BSU_VERSION);
  REQUIRE(bsu_process_new(&process) == BSU_OK);
  REQUIRE(bsu_process_refresh_own(process) == BSU_OK);
  CHECK(bsu_process_modules(process) >= 2);
  walk_here();
  walk_in_signal();
  walk_copies(20);
  load_and_unload(word[2]);
  add_and_remove(word[2]);
  if (emulated) {
    puts("other processes are not walked: this machine has no ptrace");
  } else {
    walk_child();
    walk_child_in_vdso();
  }
  walk_made_code();
  for (int i = 0; i <= BSU_SYSTEM; ++i) {
    for (int k = 0; k < i; ++k) CHECK(strcmp(bsu_error_text(i), bsu_error_text(k)) != 0);
  }
  for (int i = BSU_OUTERMOST; i <= BSU_LIMIT; ++i) CHECK(strcmp(bsu_stop_text(i), bsu_stop_text(0)) != 0);
  bsu_cache_free(signal_cache);
  bsu_process_free(process);
  return failures == 0 ? 0 : 1;
}
