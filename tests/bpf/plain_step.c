/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_step.h"

struct plain_memory plain_memory;
int plain_step(struct backsight_frame *f, unsigned first, unsigned long long bias) { return backsight_step(f, first, bias); }
const unsigned char *plain_find(unsigned first, unsigned long long address) { return backsight_find(first, address); }
