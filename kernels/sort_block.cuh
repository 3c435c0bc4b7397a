// Sorts rows of at most LZ_TILE elements, one block a row: a radix sort in shared memory, least
// significant digit first, that skips digits in which all elements agree. With LZ_PAIRS the result
// is the elements' indices.

template <class T>
__device__ __forceinline__ void lz_exchange(T (&x)[LZ_ITEMS], const unsigned int (&rank)[LZ_ITEMS],
                                            T* buffer) {
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) buffer[rank[i]] = x[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) x[i] = buffer[lz_place(i)];
}

// The bits in which the keys of the row differ.
__device__ __forceinline__ LZ_KEY lz_differing(const LzOrder& order, const LZ_WORD (&x)[LZ_ITEMS],
                                               int n, LZ_KEY* shared) {
  LZ_KEY any = 0, all = ~(LZ_KEY)0;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const LZ_KEY key = order.key(x[i]);
    if (lz_place(i) < n) any |= key, all &= key;
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    any |= __shfl_xor_sync(0xffffffffu, any, d);
    all &= __shfl_xor_sync(0xffffffffu, all, d);
  }
  if (threadIdx.x == 0) shared[0] = 0, shared[1] = ~(LZ_KEY)0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    atomicOr(shared, any);
    atomicAnd(shared + 1, all);
  }
  __syncthreads();
  return shared[0] ^ shared[1];
}

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_sort_block(LZ_OUT* out, const LZ_WORD* in, long long rows, long long n, unsigned long long flip) {
  // The counts of a digit, and then the elements in their new order.
  __shared__ __align__(16) unsigned char memory[
      LZ_WARPS * LZ_RADIX * 4 > LZ_TILE * sizeof(LZ_WORD) ? LZ_WARPS * LZ_RADIX * 4
                                                          : LZ_TILE * sizeof(LZ_WORD)];
  __shared__ unsigned int starts[LZ_RADIX];
  __shared__ unsigned int warp_sums[LZ_RADIX / 32];
  __shared__ LZ_KEY bits[2];
  unsigned int (*counts)[LZ_RADIX] = (unsigned int (*)[LZ_RADIX])memory;
  const LzOrder order(flip);
  const LZ_WORD* from = in + (long long)blockIdx.x * n;
  LZ_OUT* to = out + (long long)blockIdx.x * n;
  LZ_WORD x[LZ_ITEMS];
#if LZ_PAIRS
  unsigned short index[LZ_ITEMS];
#endif
  unsigned int rank[LZ_ITEMS];
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    x[i] = lz_place(i) < n ? from[lz_place(i)] : order.last();
#if LZ_PAIRS
    index[i] = (unsigned short)lz_place(i);
#endif
  }
  const LZ_KEY differing = lz_differing(order, x, (int)n, bits);
  for (int shift = 0; shift < (int)(8 * sizeof(LZ_WORD)); shift += LZ_DIGIT_BITS) {
    if ((differing >> shift & (LZ_RADIX - 1)) == 0) continue;
    const unsigned int total = lz_rank_in_warps(order, x, shift, rank, counts);
    lz_rank_in_tile(rank, total, counts, starts, warp_sums);
    lz_exchange(x, rank, (LZ_WORD*)memory);
#if LZ_PAIRS
    __syncthreads();
    lz_exchange(index, rank, (unsigned short*)memory);
#endif
  }
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    if (lz_place(i) >= n) continue;
#if LZ_PAIRS
    to[lz_place(i)] = index[i];
#else
    to[lz_place(i)] = x[i];
#endif
  }
}
