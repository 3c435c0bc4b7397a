// Scans with inner > 1 in which a thread walks down a column.

#define LZ_BATCH ((int)(sizeof(LZ_A) < 16 ? 16 : 8))

// For so many columns that they keep the device busy, and for few rows.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_scan_walk(LZ_A* out, const LZ_T* in, long long columns, long long n,
             long long inner) {
  const long long column = (long long)blockIdx.x * LZ_THREADS + threadIdx.x;
  if (column >= columns) return;
  const long long outer = column / inner;
  const long long beside = column - outer * inner;
  const LZ_T* from = in + outer * n * inner + beside;
  LZ_A* to = out + outer * (n + LZ_INITIAL) * inner + beside;
  if (LZ_INITIAL) *to = LZ_FIRST;
  to += LZ_INITIAL * inner;
  LZ_A sum;
  long long k = 0;
  for (; k + LZ_BATCH <= n; k += LZ_BATCH) {
    LZ_T x[LZ_BATCH];
#pragma unroll
    for (int u = 0; u < LZ_BATCH; ++u) x[u] = from[(k + u) * inner];
#pragma unroll
    for (int u = 0; u < LZ_BATCH; ++u) {
      const LZ_A loaded = lz_load(x[u]);
      sum = k + u > 0 ? lz_combine(sum, loaded) : loaded;
      to[(k + u) * inner] = sum;
    }
  }
  for (; k < n; ++k) {
    const LZ_A loaded = lz_load(from[k * inner]);
    sum = k > 0 ? lz_combine(sum, loaded) : loaded;
    to[k * inner] = sum;
  }
}
