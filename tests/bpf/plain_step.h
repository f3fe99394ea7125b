/* SPDX-License-Identifier: Apache-2.0 */
/* The step in plain C: pages and stack are two pieces of memory. */
#ifndef BACKSIGHT_PLAIN_STEP_H
#define BACKSIGHT_PLAIN_STEP_H
#ifdef __cplusplus
extern "C" {
#endif

struct plain_memory {
  const unsigned char *pages;
  unsigned long long page_count;
  const unsigned char *stack;
  unsigned long long stack_base, stack_size;
};
extern struct plain_memory plain_memory;

#define BACKSIGHT_PAGE(number) plain_page(number)
#define BACKSIGHT_READ(to, from) plain_read(to, from)
static inline const unsigned char *plain_page(unsigned number) {
  return number < plain_memory.page_count ? plain_memory.pages + 4096ULL * number : 0;
}
static inline int plain_read(void *to, unsigned long long from) {
  const unsigned long long offset = from - plain_memory.stack_base;
  if (offset > plain_memory.stack_size || plain_memory.stack_size - offset < 8) return -14;
  __builtin_memcpy(to, plain_memory.stack + offset, 8);
  return 0;
}
#include "backsight_step.h"

int plain_step(struct backsight_frame *f, unsigned first, unsigned long long bias);
const unsigned char *plain_find(unsigned first, unsigned long long address);

#ifdef __cplusplus
}
#endif
#endif
