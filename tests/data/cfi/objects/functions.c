int g(int);
int f(int n) { return g(n) + g(n + 1); }
int h(int a, int b, int c) { volatile char room[100]; for (int i = 0; i < a; i++) room[i % 100] = (char)g(i * b + c); return room[a % 100]; }
