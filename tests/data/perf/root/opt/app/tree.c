// A program without a C library: every frame of its stacks lies in it.
typedef unsigned long u64;
static volatile u64 sink;
__attribute__((noinline)) u64 spin(u64 n) {
  u64 x = n;
  for (u64 i = 0; i < n; ++i) x = x * 6364136223846793005UL + 1442695040888963407UL;
  return x;
}
__attribute__((noinline)) u64 leaf(u64 n) { return spin(n) + 1; }
__attribute__((noinline)) u64 down(u64 depth, u64 n) {
  if (depth == 0) return leaf(n);
  return down(depth - 1, n) * 3 + 1;
}
__attribute__((noinline)) u64 with_array(u64 n) {
  volatile u64 all[16];
  for (u64 i = 0; i < 16; ++i) all[i] = spin(n / 16) + i;
  return all[n % 16];
}
__attribute__((noinline)) u64 by_pointer(u64 (*f)(u64), u64 n) { return f(n) ^ 5; }
__attribute__((noinline)) int run(void) {
  for (u64 i = 0; i < 12; ++i) {
    sink = down(i % 5, 2000000);
    sink = with_array(2000000);
    sink = by_pointer(leaf, 2000000);
  }
  return 0;
}
__attribute__((naked, noreturn)) void _start(void) {
  __asm__ volatile(".cfi_undefined rip\n xor %ebp, %ebp\n call run\n mov %eax, %edi\n mov $60, %eax\n syscall\n hlt");
}
