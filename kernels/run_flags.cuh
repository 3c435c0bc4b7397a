// Flags of elements, a bit each: the heads of runs of equal elements, or those that are not zero.
//
// Specialised by LZ_T, LZ_FLAG(in, i), LZ_BYTES (whether the flags are those of bytes that are not
// zero) and LZ_THREADS. A tile has 32 elements a thread. `runs` holds the flags, a word for 32
// elements, for whole tiles; then the number of flagged elements before each tile, and in all.

#define LZ_WARPS (LZ_THREADS / 32)
#define LZ_TILE_WORDS LZ_THREADS
#define LZ_COUNTS 4  // tiles whose counts a thread adds up in a round

// The flags of the calling thread's word of a warp's 1024 elements, which begin at `first`.
// Neighbours read neighbours, and each word is made of one load of the warp.
__device__ __forceinline__ unsigned int lz_flags(const LZ_T* in, long long first, long long n) {
  const int lane = threadIdx.x % 32;
  unsigned int word = 0;
  if (first >= n) return word;
  for (int base = 0; base < 32; base += 8) {
    bool flag[8];
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      const long long i = first + (base + u) * 32 + lane;
      flag[u] = i < n && (LZ_FLAG(in, i));
    }
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      const unsigned int flags = __ballot_sync(0xffffffffu, flag[u]);
      if (lane == base + u) word = flags;
    }
  }
  return word;
}

#if LZ_BYTES
// Which of a word's four bytes are not zero, a bit each.
__device__ __forceinline__ unsigned int lz_nonzero_bytes(unsigned int bytes) {
  const unsigned int high = (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
  return (high >> 7) * 0x10204080u >> 28;
}

__device__ __forceinline__ unsigned int lz_nonzero_bytes(uint4 b) {
  return lz_nonzero_bytes(b.x) | lz_nonzero_bytes(b.y) << 4 | lz_nonzero_bytes(b.z) << 8 |
         lz_nonzero_bytes(b.w) << 12;
}

// The same for bytes that begin at a multiple of 16, by loads of 16.
__device__ __forceinline__ unsigned int lz_byte_flags(const LZ_T* in, long long word) {
  const uint4* from = (const uint4*)in + word * 2;
  const uint4 low = from[0], high = from[1];
  return lz_nonzero_bytes(low) | lz_nonzero_bytes(high) << 16;
}
#endif

// Turns counts into exclusive sums, in place; counts[tiles] becomes the total.
__device__ __forceinline__ void lz_sum(long long* counts, long long tiles) {
  __shared__ long long sums[LZ_WARPS];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  long long carry = 0;
  for (long long base = 0; base < tiles; base += LZ_THREADS * LZ_COUNTS) {
    const long long first = base + (long long)threadIdx.x * LZ_COUNTS;
    long long count[LZ_COUNTS], own = 0;
#pragma unroll
    for (int k = 0; k < LZ_COUNTS; ++k)
      count[k] = first + k < tiles ? __ldcg(counts + first + k) : 0;
#pragma unroll
    for (int k = 0; k < LZ_COUNTS; ++k) own += count[k];
    long long sum = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const long long other = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    long long before = carry + sum - own;
    for (int w = 0; w < LZ_WARPS; ++w) {
      if (w < warp) before += sums[w];
      carry += sums[w];
    }
#pragma unroll
    for (int k = 0; k < LZ_COUNTS; ++k) {
      if (first + k < tiles) counts[first + k] = before;
      before += count[k];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[tiles] = carry;
}

// The block that finishes last adds up; its ticket wraps to zero by itself.
extern "C" __global__ void __launch_bounds__(LZ_THREADS, 2048 / LZ_THREADS)
lz_run_flags(unsigned int* runs, unsigned int* tickets, const LZ_T* __restrict__ in, long long n) {
  __shared__ unsigned int found[LZ_WARPS];
  __shared__ bool is_last;
  const long long tiles = gridDim.x;
  long long* counts = (long long*)(runs + tiles * LZ_TILE_WORDS);
  const long long place = blockIdx.x * (long long)LZ_TILE_WORDS + threadIdx.x;
  const long long first = place / 32 * 1024;  // the warp's first element
#if LZ_BYTES
  const bool whole = first + 1024 <= n && (unsigned long long)in % 16 == 0;
  const unsigned int word = whole ? lz_byte_flags(in, place) : lz_flags(in, first, n);
#else
  const unsigned int word = lz_flags(in, first, n);
#endif
  runs[place] = word;
  unsigned int count = __popc(word);
#pragma unroll
  for (int d = 16; d; d /= 2) count += __shfl_xor_sync(0xffffffffu, count, d);
  if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned int total = 0;
    for (int w = 0; w < LZ_WARPS; ++w) total += found[w];
    counts[blockIdx.x] = total;
    __threadfence();
    const unsigned int all = gridDim.x - 1u;
    is_last = atomicInc(tickets, all) == all;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  lz_sum(counts, tiles);
}
