// Sorts rows of at most 32 * LZ_ITEMS elements, one warp a row: an element's rank is the number of
// elements before it. With LZ_PAIRS the result is the elements' indices.

#define LZ_ROWS (LZ_THREADS / 32)

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_sort_warp(LZ_OUT* out, const LZ_WORD* in, long long rows, long long n, unsigned long long flip) {
  const LzOrder order(flip);
  const int lane = threadIdx.x % 32;
  const long long row = (long long)blockIdx.x * LZ_ROWS + threadIdx.x / 32;
  if (row >= rows) return;
  LZ_WORD x[LZ_ITEMS];
  LZ_KEY key[LZ_ITEMS];
  int rank[LZ_ITEMS];
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    x[i] = i * 32 + lane < n ? in[row * n + i * 32 + lane] : order.last();
    key[i] = order.key(x[i]);
    rank[i] = 0;
  }
#pragma unroll
  for (int j = 0; j < LZ_ITEMS; ++j) {
    for (int s = 0; s < 32 && j * 32 + s < n; ++s) {
      const LZ_KEY other = __shfl_sync(0xffffffffu, key[j], s);
#pragma unroll
      for (int i = 0; i < LZ_ITEMS; ++i) {
        const bool earlier = j < i || (j == i && s < lane);
        rank[i] += other < key[i] || (earlier && other == key[i]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    if (i * 32 + lane >= n) continue;
#if LZ_PAIRS
    out[row * n + rank[i]] = i * 32 + lane;
#else
    out[row * n + rank[i]] = x[i];
#endif
  }
}
