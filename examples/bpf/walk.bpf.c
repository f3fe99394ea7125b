// SPDX-License-Identifier: Apache-2.0
// A program for the kernel's BPF that walks the stack of the interrupted program: clang -target bpf -O2 -c walk.bpf.c. Attached
// to a perf event it stores the pcs of each sample in `stacks`. A loader fills two maps: `pages` with what `backsight cfi bpf`
// wrote, one file behind the other, and `processes` with the executable mappings of each process.
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the pages of unwind tables are little-endian"
#endif

typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;

// What libbpf's headers say, so that none is needed.
#define SEC(name) __attribute__((section(name), used))
static void *(*const bpf_map_lookup_elem)(const void *map, const void *key) = (void *)1;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*const bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;

struct pages_map {
  int (*type)[2];  // BPF_MAP_TYPE_ARRAY
  int (*max_entries)[65536];
  int (*key_size)[4];
  int (*value_size)[4096];
};
struct pages_map pages SEC(".maps");

static inline __attribute__((always_inline)) void *page_of(u32 number) { return bpf_map_lookup_elem(&pages, &number); }
#define BACKSIGHT_PAGE(number) page_of(number)
#define BACKSIGHT_READ(to, from) bpf_probe_read_user(to, 8, (const void *)(from))
#include "backsight_step.h"

#define MOST_MAPPINGS 128
#define MOST_FRAMES 128

// Executable mappings, ascending and not overlapping.
struct mapping {
  u64 begin, end;
  u64 bias;   // The load address minus the link-time address.
  u32 first;  // Page 0 of the file's pages.
  u32 unused;
};
struct process {
  u64 count;
  struct mapping mappings[MOST_MAPPINGS];
};
struct processes_map {
  int (*type)[1];  // BPF_MAP_TYPE_HASH, by process id
  int (*max_entries)[4096];
  u32 *key;
  struct process *value;
};
struct processes_map processes SEC(".maps");

struct stack {
  struct backsight_frame frame;
  u64 count;
  u64 why;  // A number of cfi::stop.
  u64 pcs[MOST_FRAMES];
};
struct stacks_map {
  int (*type)[6];  // BPF_MAP_TYPE_PERCPU_ARRAY
  int (*max_entries)[1];
  u32 *key;
  struct stack *value;
};
struct stacks_map stacks SEC(".maps");

// The registers of the interrupted program, as a perf event gives them on x86-64.
struct registers {
  u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, flags, rsp, ss;
};

static inline __attribute__((always_inline)) const struct mapping *mapping_of(const struct process *in, u64 address) {
  u32 low = 0;
  BACKSIGHT_UNROLL
  for (u32 bit = MOST_MAPPINGS / 2; bit != 0; bit /= 2) {
    if (low + bit < in->count && in->mappings[(low + bit) & (MOST_MAPPINGS - 1)].begin <= address) low += bit;
  }
  const struct mapping *found = &in->mappings[low & (MOST_MAPPINGS - 1)];
  return low < in->count && address >= found->begin && address < found->end ? found : 0;
}

// A function of its own, which the verifier looks at once and not for each frame.
__attribute__((noinline)) int walk_frame(struct stack *out, const struct process *in) {
  if (!out || !in) return BACKSIGHT_NO_OBJECT;
  const struct mapping *found = mapping_of(in, out->frame.pc - (out->frame.pc_is_next ? 0 : 1));
  if (!found) return BACKSIGHT_NO_OBJECT;
  return backsight_step(&out->frame, found->first, found->bias);
}

SEC("perf_event") int walk(const struct registers *regs) {
  const u32 zero = 0, id = bpf_get_current_pid_tgid() >> 32;
  struct stack *out = bpf_map_lookup_elem(&stacks, &zero);
  const struct process *in = bpf_map_lookup_elem(&processes, &id);
  if (!out || !in) return 0;
  struct backsight_frame *f = &out->frame;
  __builtin_memset(f, 0, sizeof *f);
  const u64 values[17] = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp, regs->rsp, regs->r8,
                          regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};
  __builtin_memcpy(f->r, values, sizeof values);
  f->pc = regs->rip;
  f->pc_is_next = 1;
  out->why = BACKSIGHT_LIMIT;
  u64 count = 0;
  for (; count < MOST_FRAMES; ++count) {
    out->pcs[count] = f->pc;
    const int why = walk_frame(out, in);
    if (why == BACKSIGHT_GOES_ON) continue;
    out->why = (u32)why;
    ++count;
    break;
  }
  out->count = count;
  return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
