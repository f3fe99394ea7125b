/* SPDX-License-Identifier: Apache-2.0 */
/* One step of unwinding on x86-64 for programs that the kernel's verifier accepts: no loop that is not unrolled, no
   access that is not masked to a page of 4096 bytes, no call but these two, which the program defines before it
   includes this:
     BACKSIGHT_PAGE(number)    the page of that number, or 0; as of an array map with values of 4096 bytes
     BACKSIGHT_READ(to, from)  copies 8 bytes of the stack; not 0 when it cannot:
                               bpf_probe_read_user(to, 8, (void *)from)
   The pages of a file are what `backsight cfi table --form bpf` writes; docs/formats/bpf-pages.md. C and C++ too. */
#ifndef BACKSIGHT_STEP_H
#define BACKSIGHT_STEP_H

typedef __UINT8_TYPE__ backsight_u8;
typedef __INT8_TYPE__ backsight_s8;
typedef __UINT16_TYPE__ __attribute__((may_alias)) backsight_u16;
typedef __UINT32_TYPE__ __attribute__((may_alias)) backsight_u32;
typedef __INT32_TYPE__ backsight_s32;
typedef __UINT64_TYPE__ __attribute__((may_alias)) backsight_u64;

/* Why a step is none; the numbers of cfi::stop. */
enum { BACKSIGHT_GOES_ON, BACKSIGHT_OUTERMOST, BACKSIGHT_NO_OBJECT, BACKSIGHT_NO_INFORMATION, BACKSIGHT_UNREADABLE,
       BACKSIGHT_NO_PROGRESS, BACKSIGHT_BAD_RULE, BACKSIGHT_LIMIT };

/* A frame: registers by their DWARF numbers (7 is the stack pointer, 16 the return address), and where callees saved
   them. */
struct backsight_frame {
  backsight_u64 pc;
  backsight_u64 pc_is_next; /* It is no return address: in the first frame, and behind signals. */
  backsight_u64 lost;       /* A bit for each register that could not be read. */
  backsight_u64 r[17];
  backsight_u64 where[8];   /* Of rbx, rbp, r12 to r15 at 1 to 6; 0: still in r. */
};

#define BACKSIGHT_INLINE static __inline__ __attribute__((always_inline, unused))
#if defined(__clang__)
#define BACKSIGHT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BACKSIGHT_UNROLL
#endif

/* Numbers of a page; places are masked, so that they lie in it whatever they are. */
BACKSIGHT_INLINE backsight_u32 backsight_8(const backsight_u8 *page, backsight_u32 at) { return page[at & 4095]; }
BACKSIGHT_INLINE backsight_u32 backsight_16(const backsight_u8 *page, backsight_u32 at) {
  return *(const backsight_u16 *)(page + (at & 4094));
}
BACKSIGHT_INLINE backsight_u32 backsight_32(const backsight_u8 *page, backsight_u32 at) {
  return *(const backsight_u32 *)(page + (at & 4092));
}
BACKSIGHT_INLINE backsight_u64 backsight_words(const backsight_u8 *rule, backsight_u32 at) {
  return (backsight_u64)((backsight_s8)rule[at] * 8LL);
}

/* `value` where a < b, else 0, without a branch: the verifier follows both ways of each, and its states would be too
   many. */
BACKSIGHT_INLINE backsight_u32 backsight_if_less(backsight_u64 a, backsight_u64 b, backsight_u32 value) {
  backsight_u64 below = a - b;
  __asm__("" : "+r"(below));
  return value & (0 - (backsight_u32)(below >> 63));
}
/* How many of `count` ascending items of `size` bytes, 1 or 4, are at most `key`; fewer than twice `bit`, a power of
   two. */
BACKSIGHT_INLINE backsight_u32 backsight_count_at_most(const backsight_u8 *page, backsight_u32 items,
                                                       backsight_u32 size, backsight_u32 count, backsight_u32 bit,
                                                       backsight_u32 key) {
  backsight_u32 low = 0;
  BACKSIGHT_UNROLL
  for (; bit != 0; bit /= 2) {
    if (bit > 4 && count < bit) continue;
    const backsight_u32 at = low + bit - 1, place = items + size * at;
    const backsight_u32 item = size == 4 ? backsight_32(page, place) : backsight_8(page, place);
    low += backsight_if_less(at, count, backsight_if_less(item, key + 1ULL, bit));
  }
  return low;
}

/* The rule for a link-time address, 16 bytes; 0 where there is no call frame information. `first` is page 0 of the
   file. */
BACKSIGHT_INLINE const backsight_u8 *backsight_find(backsight_u32 first, backsight_u64 address) {
  const backsight_u8 *head = (const backsight_u8 *)BACKSIGHT_PAGE(first), *page = head;
  if (!head) return 0;
  backsight_u64 offset = address - *(const backsight_u64 *)(head + 16);
  const backsight_u32 leaves = backsight_32(head, 24), first_sequence = head[36], first_rare = head[37];
  if (leaves == 0 || offset >> 38 != 0) return 0;
  /* The leaf: by one page of keys, or by two. */
  backsight_u32 leaf = 0, keys = backsight_32(head, 48);
  const backsight_u32 second = backsight_32(head, 52), key = (backsight_u32)(offset >> 6);
  if (leaves > 1) {
    page = (const backsight_u8 *)BACKSIGHT_PAGE(first + (keys >> 12));
    if (!page) return 0;
    leaf = backsight_count_at_most(page, keys + 4, 4, (second ? (leaves + 1023) >> 10 : leaves) - 1, 512, key);
    if (second) {
      page = (const backsight_u8 *)BACKSIGHT_PAGE(first + second + leaf);
      if (!page) return 0;
      const backsight_u32 before = leaf << 10;
      keys = 0;
      leaf = backsight_count_at_most(page, 4, 4, (leaves - before < 1024 ? leaves - before : 1024) - 1, 512, key);
      offset -= (backsight_u64)backsight_32(page, 4 * leaf) << 6;
      leaf += before;
    } else {
      offset -= (backsight_u64)backsight_32(page, keys + 4 * leaf) << 6;
    }
  }
  /* In the leaf the bucket, and in that the id. */
  page = (const backsight_u8 *)BACKSIGHT_PAGE(first + backsight_32(head, 28) + leaf);
  if (!page) return 0;
  const backsight_u32 buckets_at = leaf == 0 ? backsight_16(head, 32) : 0, buckets = backsight_16(page, buckets_at);
  const backsight_u64 granules = offset << head[38] >> head[39];
  const backsight_u32 bucket = granules >> 8 < buckets ? (backsight_u32)(granules >> 8) : buckets;
  const backsight_u32 starts = backsight_16(page, buckets_at + 2 + 2 * bucket), low = (backsight_u32)granules & 255;
  const backsight_u32 count = bucket == buckets ? 0 : (backsight_16(page, buckets_at + 4 + 2 * bucket) - starts) / 2;
  const backsight_u32 below = backsight_count_at_most(page, starts, 1, count, 128, low);
  const backsight_u32 at = below == 0 ? starts - 1 : starts + count + below - 1;
  backsight_u32 id = backsight_8(page, at), number = id;
  /* Where the row began; behind all of a bucket when that was in one before. */
  backsight_u32 start = below == 0 ? 256 : backsight_8(page, starts + below - 1);
  if (id >= first_sequence && id < first_rare) {
    const backsight_u32 sequence_at = backsight_32(head, 40) + (id - first_sequence) * 32;
    const backsight_u8 *sequence = (const backsight_u8 *)BACKSIGHT_PAGE(first + (sequence_at >> 12));
    if (!sequence) return 0;
    const backsight_u32 from = sequence_at & 4064, more = sequence[from] & 15;
    const backsight_u32 which =
        start == 256 ? more : backsight_count_at_most(sequence, from + 1, 1, more, 8, low - start);
    id = number = backsight_8(sequence, from + 16 + which);
    if (id == 253 && start != 256 && more != 0) start += backsight_8(sequence, from + more);
  }
  if (id == 254) return 0;
  if (id == 253) { /* A gap up to the next multiple of 16, then rule 0. */
    if (start != 256 && (low & (0 - (16u << head[38] >> head[39])) & 255) <= start) return 0;
    number = 0;
  } else if (id == 255) {
    number = backsight_8(page, at - 2) | backsight_8(page, at - 1) << 8;
  } else if (id >= first_rare) {
    number = first_sequence + (id - first_rare) * 256 + backsight_8(page, at - 1);
  }
  const backsight_u32 rule_at = backsight_32(head, 44) + number * 16;
  page = (const backsight_u8 *)BACKSIGHT_PAGE(first + (rule_at >> 12));
  return page ? page + (rule_at & 4080) : 0;
}

/* A register of a frame; not 0 when it cannot be had. */
BACKSIGHT_INLINE int backsight_get(const struct backsight_frame *f, backsight_u32 reg, backsight_u64 *value) {
  if (reg > 16) return BACKSIGHT_BAD_RULE;
  const backsight_u64 place = reg == 16 ? 0 : f->where[0x6543000002001000ULL >> (reg * 4) & 7];
  if (place != 0) return BACKSIGHT_READ(value, place) != 0 ? BACKSIGHT_UNREADABLE : 0;
  *value = f->r[reg];
  return f->lost >> reg & 1 ? BACKSIGHT_UNREADABLE : 0;
}

/* Turns a frame into its caller's. `first` is page 0 of the file that its code is of, `bias` its load address minus its
   link-time address. Not 0: the reason why there is none, and the frame is as it was. */
BACKSIGHT_INLINE int backsight_step(struct backsight_frame *f, backsight_u32 first, backsight_u64 bias) {
  const backsight_u8 *rule = backsight_find(first, f->pc - bias - (f->pc_is_next ? 0 : 1));
  if (!rule) return BACKSIGHT_NO_INFORMATION;
  const backsight_u32 shape = rule[0] & 7, offset = *(const backsight_u32 *)(rule + 4);
  if (shape == 2) return BACKSIGHT_OUTERMOST;
  if (shape == 0 || shape == 3) return BACKSIGHT_BAD_RULE; /* One that only its text tells. */
  backsight_u64 base = 0, cfa, places, at, caller = f->r[16];
  const int why = backsight_get(f, rule[1], &base);
  if (why != 0) return why;
  if (shape < 4 || shape == 6) { /* Common, or of a PLT, which pushes a word at an instruction of its 16 bytes. */
    cfa = base + (shape == 1 ? (backsight_u64)(backsight_s32)offset : (f->pc & 15) >= rule[3] ? 16 : 8);
    places = cfa;
    at = cfa;
  } else { /* Aligned, or of a signal. */
    cfa = base + backsight_words(rule, 3);
    if ((rule[0] & 64) != 0 && BACKSIGHT_READ(&cfa, cfa) != 0) return BACKSIGHT_UNREADABLE;
    places = base + 8;
    at = shape == 4 ? cfa : base;
  }
  if ((shape != 1 || rule[2] != 0) && BACKSIGHT_READ(&caller, at + backsight_words(rule, 2)) != 0)
    return BACKSIGHT_UNREADABLE;
  if (caller == 0) return BACKSIGHT_OUTERMOST;
  if (caller == f->pc && cfa <= f->r[7]) return BACKSIGHT_NO_PROGRESS;
  if ((shape == 4 || shape == 5) && offset != 0) { /* Further registers: a count, and a register and a word for each. */
    const backsight_u8 *list = (const backsight_u8 *)BACKSIGHT_PAGE(first + (offset >> 12));
    if (!list) return BACKSIGHT_BAD_RULE;
    list += offset & 4064;
    BACKSIGHT_UNROLL
    for (backsight_u32 i = 0; i < 9; ++i) {
      const backsight_u32 reg = list[1 + 2 * i];
      if (i >= list[0] || reg > 15) break;
      backsight_u64 value = 0;
      f->lost &= ~(1ULL << reg);
      if (BACKSIGHT_READ(&value, places + backsight_words(list, 2 + 2 * i)) != 0) f->lost |= 1ULL << reg;
      else f->r[reg] = value;
    }
  }
  BACKSIGHT_UNROLL
  for (backsight_u32 i = 0; i < 6; ++i) {
    if (rule[8 + i] != 0) f->where[1 + i] = places + backsight_words(rule, 8 + i);
  }
  f->r[7] = cfa;
  f->r[16] = caller;
  f->pc = caller;
  f->pc_is_next = rule[0] >> 3 & 1;
  return BACKSIGHT_GOES_ON;
}

#endif
