// Elements that are flagged: the heads of runs of equal elements, or those that are not zero.
//
// Specialised by LZ_T, LZ_FLAG(in, i), LZ_EMIT (a statement over out, in, picks, i, flag and rank,
// the number of flagged elements before i), LZ_OUT, LZ_THREADS, LZ_ITEMS and LZ_SUM_THREADS. Counted tile by tile, summed up by one
// block, and then found again, so that nothing of the array's length is kept in between.

#define LZ_WARPS (LZ_THREADS / 32)
#define LZ_TILE ((long long)LZ_THREADS * LZ_ITEMS)

// Where item i of the calling thread lies: tile order is (warp, item, lane).
__device__ __forceinline__ long long lz_place(int i) {
  return blockIdx.x * LZ_TILE + (int)threadIdx.x / 32 * (32 * LZ_ITEMS) + i * 32 +
         (int)threadIdx.x % 32;
}

// The flags of the warp's item i, a bit a lane.
__device__ __forceinline__ unsigned int lz_flags(const LZ_T* in, long long n, int item) {
  const long long i = lz_place(item);
  return __ballot_sync(0xffffffffu, i < n && (LZ_FLAG(in, i)));
}

__device__ __forceinline__ unsigned int lz_warp_count(const LZ_T* in, long long n) {
  unsigned int count = 0;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) count += __popc(lz_flags(in, n, i));
  return count;
}

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_run_count(long long* counts, const LZ_T* in, long long n) {
  __shared__ unsigned int warps[LZ_WARPS];
  const unsigned int count = lz_warp_count(in, n);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned int total = 0;
  for (int w = 0; w < LZ_WARPS; ++w) total += warps[w];
  counts[blockIdx.x] = total;
}

// Turns counts into exclusive sums, in place; counts[tiles] is the total.
extern "C" __global__ void __launch_bounds__(LZ_SUM_THREADS)
lz_run_offsets(long long* counts, long long tiles) {
  __shared__ long long warps[LZ_SUM_THREADS / 32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  long long carry = 0;
  for (long long base = 0; base < tiles; base += LZ_SUM_THREADS) {
    const long long t = base + threadIdx.x;
    const long long count = t < tiles ? counts[t] : 0;
    long long sum = count;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const long long other = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += other;
    }
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    long long before = carry;
    for (int w = 0; w < LZ_SUM_THREADS / 32; ++w) {
      if (w < warp) before += warps[w];
      carry += warps[w];
    }
    if (t < tiles) counts[t] = before + sum - count;
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[tiles] = carry;
}

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_run_emit(LZ_OUT* out, const LZ_T* in, const long long* offsets, const long long* picks,
            long long n) {
  __shared__ unsigned int warps[LZ_WARPS];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  unsigned int flags[LZ_ITEMS];
  unsigned int count = 0;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    flags[i] = lz_flags(in, n, i);
    count += __popc(flags[i]);
  }
  if (lane == 0) warps[warp] = count;
  __syncthreads();
  long long first = offsets[blockIdx.x];
  for (int w = 0; w < warp; ++w) first += warps[w];
#pragma unroll
  for (int item = 0; item < LZ_ITEMS; ++item) {
    const long long i = lz_place(item);
    const bool flag = flags[item] >> lane & 1;
    const long long rank = first + __popc(flags[item] & ((1u << lane) - 1));
    if (i < n) {
      LZ_EMIT
    }
    first += __popc(flags[item]);
  }
}
