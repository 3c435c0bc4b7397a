// Inclusive scans along the rows of a C-contiguous array: `rows` rows of `n` elements.
//
// The file is specialised by LZ_T (elements), LZ_A (accumulator), LZ_LOAD(x), LZ_COMBINE(p, q) and
// LZ_IDENTITY. The order of combination depends on n alone: a thread folds LZ_ITEMS neighbours,
// lanes and warps are scanned, and tiles follow each other from left to right.

#define LZ_ITEMS 8
#define LZ_THREADS 256

// One thread a row: for short rows.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_scan_short(LZ_A* out, const LZ_T* in, long long rows, long long n) {
  const long long row = (long long)blockIdx.x * LZ_THREADS + threadIdx.x;
  if (row >= rows) return;
  LZ_A total = LZ_IDENTITY;
  for (long long k = 0; k < n; ++k) {
    const LZ_T x = in[row * n + k];
    total = LZ_COMBINE(total, LZ_LOAD(x));
    out[row * n + k] = total;
  }
}

// One block a row, tile by tile.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_scan_long(LZ_A* out, const LZ_T* in, long long rows, long long n) {
  __shared__ LzRaw<LZ_A> totals[LZ_THREADS / 32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const LZ_T* from = in + (long long)blockIdx.x * n;
  LZ_A* to = out + (long long)blockIdx.x * n;
  LZ_A carry = LZ_IDENTITY;
  for (long long base = 0; base < n; base += LZ_THREADS * LZ_ITEMS) {
    const long long first = base + (long long)threadIdx.x * LZ_ITEMS;
    LZ_A v[LZ_ITEMS];
#pragma unroll
    for (int u = 0; u < LZ_ITEMS; ++u) {
      v[u] = LZ_IDENTITY;
      if (first + u < n) {
        const LZ_T x = from[first + u];
        v[u] = LZ_LOAD(x);
      }
      if (u > 0) v[u] = LZ_COMBINE(v[u - 1], v[u]);
    }
    // Inclusive over the lanes of the warp, then over the warps of the block.
    LZ_A sum = v[LZ_ITEMS - 1];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const LZ_A before = lz_shift_up(sum, d);
      if (lane >= d) sum = LZ_COMBINE(before, sum);
    }
    LZ_A prefix = lz_shift_up(sum, 1);
    if (lane == 31) totals[warp].put(sum);
    __syncthreads();
    LZ_A above = carry;
    for (int w = 0; w < LZ_THREADS / 32; ++w) {
      const LZ_A total = totals[w].get();
      if (w < warp) above = LZ_COMBINE(above, total);
      carry = LZ_COMBINE(carry, total);
    }
    __syncthreads();
    prefix = lane == 0 ? above : LZ_COMBINE(above, prefix);
#pragma unroll
    for (int u = 0; u < LZ_ITEMS; ++u)
      if (first + u < n) to[first + u] = LZ_COMBINE(prefix, v[u]);
  }
}
