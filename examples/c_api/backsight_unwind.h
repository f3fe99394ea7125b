/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKSIGHT_UNWIND_H
#define BACKSIGHT_UNWIND_H

/* Unwinding by tables made of call frame information: of the own process, of another one, of stack samples, and of code
 * made at run time. For x86-64 and AArch64 Linux; a walk is of the machine that the library is built for.
 *
 * Threads: a table is immutable. Modules of a process may be added and removed at any time by any thread; functions
 * that walk (marked "signal-safe") take no lock, allocate nothing, and may be called in signal handlers meanwhile. A
 * cache is for one thread, and for its signal handlers or for all else, not for both.
 *
 * Functions that give an int give 0 (BSU_OK) or one of enum bsu_error. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BSU_API __attribute__((visibility("default")))
#else
#define BSU_API
#endif

enum bsu_error {
  BSU_OK = 0,
  BSU_BAD_ARGUMENT = 1,  /* A null pointer, or an empty range. */
  BSU_NO_FILE = 2,       /* The file cannot be opened; errno says why. */
  BSU_BAD_FILE = 3,      /* The file or the bytes are damaged, or of another kind. */
  BSU_NO_FRAMES = 4,     /* There is no call frame information. */
  BSU_UNSUPPORTED = 5,   /* For another machine, or a newer version. */
  BSU_OVERLAP = 6,       /* The module overlaps another one. */
  BSU_NOT_FOUND = 7,     /* There is no such module or name. */
  BSU_NO_MEMORY = 8,
  BSU_SYSTEM = 9         /* A call of the system failed; errno says why. */
};
/* A text for an error; static, never null. Signal-safe. */
BSU_API const char* bsu_error_text(int error);

enum bsu_stop {
  BSU_OUTERMOST = 1,       /* The outermost frame. */
  BSU_NO_MODULE = 2,       /* No module covers the pc. */
  BSU_NO_INFORMATION = 3,  /* The module has no call frame information for the pc. */
  BSU_UNREADABLE = 4,      /* A word of the stack cannot be read: the end of a snapshot, mostly. */
  BSU_NO_PROGRESS = 5,     /* The walk goes round. */
  BSU_BAD_RULE = 6,        /* The rule for the pc cannot be evaluated. */
  BSU_LIMIT = 7            /* The room for pcs was used up. */
};
/* A text for why a walk ended; static, never null. Signal-safe. */
BSU_API const char* bsu_stop_text(int why);

/* Version of this interface: symbols of 1 stay as they are. */
#define BSU_VERSION 1
BSU_API int bsu_version(void);

/* ---- Tables ---- */

typedef struct bsu_table bsu_table;

/* Builds the table of an ELF file, of .eh_frame and .debug_frame. */
BSU_API int bsu_table_build(const char* path, bsu_table** made);
/* Builds the table of the bytes of a .eh_frame section whose first byte has this address. */
BSU_API int bsu_table_build_section(const void* eh_frame, size_t size, uint64_t address, bsu_table** made);
/* Opens a table that bsu_table_save or `backsight cfi table` wrote, and checks all of it. */
BSU_API int bsu_table_open(const char* path, bsu_table** made);
/* The same for bytes in memory, which must outlive the table. */
BSU_API int bsu_table_open_bytes(const void* bytes, size_t size, bsu_table** made);
/* Writes a table to a file: beside it first, then renamed. */
BSU_API int bsu_table_save(const bsu_table* table, const char* path);
/* Its bytes, valid as long as the table. */
BSU_API const void* bsu_table_bytes(const bsu_table* table, size_t* size);
/* Gives the handle back. Modules keep the table as long as they need it. */
BSU_API void bsu_table_free(bsu_table* table);

/* ---- Modules of a process ---- */

typedef struct bsu_process bsu_process;

BSU_API int bsu_process_new(bsu_process** made);
/* No walk may be under way. */
BSU_API void bsu_process_free(bsu_process* process);
/* Adds code at [begin, end). `bias` is the load address minus the file's address of the same byte. A null table is code
 * without call frame information, for walks with BSU_FRAME_POINTERS. */
BSU_API int bsu_process_add(bsu_process* process, uint64_t begin, uint64_t end, uint64_t bias, const bsu_table* table);
/* Removes the module that begins at `begin`. */
BSU_API int bsu_process_remove(bsu_process* process, uint64_t begin);
/* The number of modules. Signal-safe. */
BSU_API size_t bsu_process_modules(const bsu_process* process);
/* Takes up what the dynamic loader has mapped into the own process now, and drops what it has not any more: after
 * dlopen and dlclose. Other modules stay. */
BSU_API int bsu_process_refresh_own(bsu_process* process);
/* Adds the files that process `pid` has mapped with code, by /proc/PID/maps, and what the kernel maps: [vsyscall], and
 * the vDSO, which is read from the process as by bsu_remote_new: without the rights for it there is none. */
BSU_API int bsu_process_load(bsu_process* process, int pid);

/* ---- Code made at run time ---- */

/* As __register_frame: `eh_frame` are entries up to one of length 0, in memory that stays until it is forgotten; the
 * code is what they cover. */
BSU_API int bsu_jit_register_frame(bsu_process* process, const void* eh_frame);
BSU_API int bsu_jit_forget_frame(bsu_process* process, const void* eh_frame);
/* Brings the modules into line with GDB's JIT interface: the list of ELF images that `descriptor`
 * (__jit_debug_descriptor; null: that of the program) has now. */
BSU_API int bsu_jit_refresh_gdb(bsu_process* process, const void* descriptor);
/* Adds the code that a jitdump file tells, with its call frame information where it has it. What a file told before is
 * replaced. */
BSU_API int bsu_jit_load_dump(bsu_process* process, const char* path);
/* Adds the code that a perf map (/tmp/perf-PID.map) tells: names without call frame information. What a file told
 * before is replaced. */
BSU_API int bsu_jit_load_map(bsu_process* process, const char* path);
/* Drops what a jitdump or perf map told. */
BSU_API int bsu_jit_forget_file(bsu_process* process, const char* path);
/* The name that a jitdump or perf map gives to the code at `pc`, cut to fit `size` bytes with its 0. Signal-safe. */
BSU_API int bsu_jit_name(const bsu_process* process, uint64_t pc, char* name, size_t size);

/* ---- Registers ---- */

/* By the numbers of DWARF: x86-64 has 17 (16 is rip), AArch64 33 (31 is sp, 32 is pc). */
#define BSU_REGISTERS 33
typedef struct bsu_registers {
  uint64_t pc;
  uint32_t is_return_address; /* 1: the pc is one, and not the next instruction. */
  uint32_t reserved;
  uint64_t value[BSU_REGISTERS];
} bsu_registers;

/* Those of the function that calls this. Signal-safe. */
BSU_API void bsu_capture(bsu_registers* registers);
/* Those that a signal interrupted: `context` is the handler's third argument. Signal-safe. */
BSU_API void bsu_capture_signal(bsu_registers* registers, const void* context);
/* Those of a stopped thread that the caller traces (ptrace). */
BSU_API int bsu_capture_thread(bsu_registers* registers, int tid);

/* ---- Walks ---- */

typedef struct bsu_cache bsu_cache;
BSU_API int bsu_cache_new(bsu_cache** made);
BSU_API void bsu_cache_free(bsu_cache* cache);

/* What a walk reads from: one of these. */
typedef struct bsu_memory {
  /* BSU_OWN: the own memory in [low, high). BSU_SNAPSHOT: `bytes`, which were at [low, high). BSU_REMOTE: `remote`.
   * BSU_READER: `read(user, address, word)`, which gives 0 and a word of 8 bytes. */
  uint32_t kind;
  uint32_t flags; /* BSU_FRAME_POINTERS */
  uint64_t low, high;
  const void* bytes;
  struct bsu_remote* remote;
  int (*read)(void* user, uint64_t address, uint64_t* word);
  void* user;
} bsu_memory;
enum bsu_memory_kind { BSU_OWN = 0, BSU_SNAPSHOT = 1, BSU_REMOTE = 2, BSU_READER = 3 };
/* Where call frame information ends, follow the chain of frame pointers. */
enum bsu_flag { BSU_FRAME_POINTERS = 1 };

/* Walks from `registers` outwards and writes the pc of each frame, the innermost first; gives their number, and in
 * `why` (may be null) one of enum bsu_stop. `cache` may be null. Signal-safe for memory of the first two kinds. */
BSU_API size_t bsu_walk(const bsu_process* process, bsu_cache* cache, const bsu_registers* registers,
                        const bsu_memory* memory, uint64_t* pcs, size_t capacity, int* why);

typedef struct bsu_sample {
  bsu_registers registers;
  const void* stack;
  uint64_t stack_address;
  uint64_t stack_size;
  uint64_t* pcs;
  size_t capacity;
  size_t count; /* Out. */
  int why;      /* Out. */
  uint32_t reserved;
} bsu_sample;
/* Walks many samples at once, which is faster than one by one where they do not fit the processor's cache. */
BSU_API int bsu_walk_batch(const bsu_process* process, bsu_cache* cache, bsu_sample* samples, size_t count);

/* ---- Another process ---- */

typedef struct bsu_remote bsu_remote;
/* Reads the memory of a process by process_vm_readv, which needs the rights of ptrace. For one thread. */
BSU_API int bsu_remote_new(int pid, bsu_remote** made);
/* Forgets what was read: after the process went on. */
BSU_API void bsu_remote_forget(bsu_remote* remote);
BSU_API void bsu_remote_free(bsu_remote* remote);

#ifdef __cplusplus
}
#endif

#endif
