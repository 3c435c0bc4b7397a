// What the sorting kernels share: the order of elements, and the stable ranks of one digit.
//
// Specialised by LZ_WORD (an unsigned type: the bits of an element), LZ_KEY (the same or wider, at
// least 32 bits), LZ_FLOATING (whether the bits are a float's), LZ_INFINITY (the bits of infinity),
// LZ_THREADS and LZ_ITEMS.
//
// Elements stay as they are; their keys are made where they are looked at, so that elements with
// equal keys (+0 and -0, all NaNs) come out as they went in.

#define LZ_RADIX 256
#define LZ_DIGIT_BITS 8
#define LZ_WARPS (LZ_THREADS / 32)
#define LZ_TILE (LZ_THREADS * LZ_ITEMS)
#define LZ_ALL ((LZ_KEY)(LZ_WORD)~(LZ_WORD)0)
#define LZ_SIGN ((LZ_KEY)1 << (8 * sizeof(LZ_WORD) - 1))

// `flip` has the sign bit for signed integers, and all bits more for descending order.
struct LzOrder {
  LZ_KEY flip;

  __device__ __forceinline__ explicit LzOrder(unsigned long long flip) : flip((LZ_KEY)flip) {}

  // NaN is the largest key in both directions.
  __device__ __forceinline__ LZ_KEY key(LZ_WORD bits) const {
    LZ_KEY key = bits;
    if (LZ_FLOATING) {
      const LZ_KEY magnitude = key & ~LZ_SIGN;
      if (magnitude > (LZ_KEY)LZ_INFINITY) return LZ_ALL;
      if (magnitude == 0) key = 0;
      key ^= key & LZ_SIGN ? LZ_ALL : LZ_SIGN;
    }
    return key ^ flip;
  }

  // An element with the largest key: it fills up the last tile.
  __device__ __forceinline__ LZ_WORD last() const {
    return (LZ_WORD)(LZ_FLOATING ? LZ_ALL : LZ_ALL ^ flip);
  }

  __device__ __forceinline__ unsigned int digit(LZ_WORD bits, int shift) const {
    return (unsigned int)(key(bits) >> shift) & (LZ_RADIX - 1);
  }
};

// Where item i of the calling thread lies in its tile: a warp takes LZ_ITEMS neighbouring rows of
// 32 elements, so that tile order is (warp, item, lane).
__device__ __forceinline__ int lz_place(int i) {
  return (int)threadIdx.x / 32 * (32 * LZ_ITEMS) + i * 32 + (int)threadIdx.x % 32;
}

// A digit above a rank in the tile, in one word.
#define LZ_RANK_BITS 24

// Step one of two: ranks among the equal digits of the warp, with the digits above them. Returns,
// to the first LZ_RADIX threads, how often the digit of the thread's number occurs in the tile;
// counts[w][d] then says how often d occurs in the warps before w. Starts with a barrier.
__device__ __forceinline__ unsigned int lz_rank_in_warps(
    const LzOrder& order, const LZ_WORD (&x)[LZ_ITEMS], int shift, unsigned int (&rank)[LZ_ITEMS],
    unsigned int (*counts)[LZ_RADIX]) {
  const int thread = threadIdx.x;
  unsigned int* mine = counts[thread / 32];
  const unsigned int below = (1u << (thread % 32)) - 1;
  __syncthreads();
  for (int d = thread % 32; d < LZ_RADIX; d += 32) mine[d] = 0;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const unsigned int digit = order.digit(x[i], shift);
    unsigned int peers = 0xffffffffu;  // the lanes with the same digit
#pragma unroll
    for (int b = 0; b < LZ_DIGIT_BITS; ++b) {
      const bool set = digit >> b & 1;
      const unsigned int votes = __ballot_sync(0xffffffffu, set);
      peers &= set ? votes : ~votes;
    }
    const unsigned int before = mine[digit];
    __syncwarp();
    if ((peers & below) == 0) mine[digit] = before + __popc(peers);
    __syncwarp();
    rank[i] = digit << LZ_RANK_BITS | (before + __popc(peers & below));
  }
  __syncthreads();
  unsigned int total = 0;
  if (thread < LZ_RADIX) {
#pragma unroll
    for (int w = 0; w < LZ_WARPS; ++w) {
      const unsigned int count = counts[w][thread];
      counts[w][thread] = total;
      total += count;
    }
  }
  return total;
}

// The exclusive sum of `value` over the first LZ_RADIX threads. Has one barrier.
template <class T>
__device__ __forceinline__ T lz_exclusive_sum(T value, T* warp_sums) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  T sum = value;
  if (warp < LZ_RADIX / 32) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const T other = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += other;
    }
    if (lane == 31) warp_sums[warp] = sum;
  }
  __syncthreads();
  sum -= value;
  for (int w = 0; w < LZ_RADIX / 32; ++w)
    if (w < warp) sum += warp_sums[w];
  return sum;
}

// Step two: ranks in the tile. starts[d] is where digit d starts in the tile. Ends with a barrier.
__device__ __forceinline__ void lz_rank_in_tile(
    unsigned int (&rank)[LZ_ITEMS], unsigned int total, unsigned int (*counts)[LZ_RADIX],
    unsigned int* starts, unsigned int* warp_sums) {
  const unsigned int start = lz_exclusive_sum(total, warp_sums);
  if (threadIdx.x < LZ_RADIX) starts[threadIdx.x] = start;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const unsigned int digit = rank[i] >> LZ_RANK_BITS;
    rank[i] = (rank[i] & ((1u << LZ_RANK_BITS) - 1)) + starts[digit] +
              counts[threadIdx.x / 32][digit];
  }
  __syncthreads();
}
