// SPDX-License-Identifier: Apache-2.0
// One step for machines outside of the kernel, which have no maps: the helpers of these numbers take what is theirs.
static void *(*const page_of)(unsigned long long number) = (void *)1;
static long (*const read_user)(void *to, unsigned long long size, unsigned long long from) = (void *)112;
#define BACKSIGHT_PAGE(number) page_of(number)
#define BACKSIGHT_READ(to, from) read_user(to, 8, from)
#include "backsight_step.h"

struct step {
  struct backsight_frame frame;
  backsight_u64 first, bias;
};
__attribute__((section("program"), used)) backsight_u64 step(struct step *s) {
  return (backsight_u64)backsight_step(&s->frame, (backsight_u32)s->first, s->bias);
}
