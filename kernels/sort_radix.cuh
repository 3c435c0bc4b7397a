// Sorts long rows: a radix sort, least significant digit first, of one read and one write a digit.
// After "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs" (Adinets and Merrill,
// 2022): one kernel counts all digits, one plans, and one a digit ranks tiles and learns from the
// tiles before it (decoupled look-back) where its elements go.
//
// Further definitions: LZ_BLOCKS (the blocks of a pass that an SM holds at least), LZ_PAIRS (the result is the elements' indices, LZ_OUT their type, LZ_INDEX
// how they are carried), LZ_COUNT (unsigned; two bits more than the length of a row has).

#define LZ_PASSES ((int)sizeof(LZ_WORD))
#define LZ_UNROLL 4

// Counts the digits of a part of a row: histograms[row][pass][digit]. Runs of one digit in a
// thread's elements are added at once: the digits that all elements share would collide.
extern "C" __global__ void __launch_bounds__(LZ_RADIX)
lz_sort_count(LZ_COUNT* histograms, const LZ_WORD* __restrict__ in, long long n, long long part,
              long long parts, unsigned long long flip) {
  __shared__ unsigned int counts[LZ_PASSES][LZ_RADIX];
  const LzOrder order(flip);
  const int thread = threadIdx.x;
  for (int p = 0; p < LZ_PASSES; ++p) counts[p][thread] = 0;
  __syncthreads();
  const long long row = blockIdx.x / parts;
  const LZ_WORD* from = in + row * n;
  const long long first = blockIdx.x % parts * part;
  const long long last = first + part < n ? first + part : n;
  unsigned int digit[LZ_PASSES], run[LZ_PASSES];
#pragma unroll
  for (int p = 0; p < LZ_PASSES; ++p) digit[p] = run[p] = 0;
  for (long long base = first + thread; base < last; base += LZ_UNROLL * LZ_RADIX) {
    LZ_WORD x[LZ_UNROLL];
#pragma unroll
    for (int u = 0; u < LZ_UNROLL; ++u)
      if (base + u * LZ_RADIX < last) x[u] = from[base + u * LZ_RADIX];
#pragma unroll
    for (int u = 0; u < LZ_UNROLL; ++u) {
      if (base + u * LZ_RADIX >= last) continue;
      const LZ_KEY key = order.key(x[u]);
#pragma unroll
      for (int p = 0; p < LZ_PASSES; ++p) {
        const unsigned int d = (unsigned int)(key >> (p * LZ_DIGIT_BITS)) & (LZ_RADIX - 1);
        if (d != digit[p]) {
          if (run[p]) atomicAdd(&counts[p][digit[p]], run[p]);
          digit[p] = d;
          run[p] = 0;
        }
        ++run[p];
      }
    }
  }
#pragma unroll
  for (int p = 0; p < LZ_PASSES; ++p)
    if (run[p]) atomicAdd(&counts[p][digit[p]], run[p]);
  __syncthreads();
  for (int p = 0; p < LZ_PASSES; ++p) {
    const unsigned int count = counts[p][thread];
    if (count)
      atomicAdd(histograms + (row * LZ_PASSES + p) * LZ_RADIX + thread, (LZ_COUNT)count);
  }
}

// Which buffers a pass over a row reads and writes: a byte of (source, target), 0 for a pass that
// would change nothing. The last one writes the result.
enum { LZ_FROM_IN, LZ_BUFFER_A, LZ_BUFFER_B, LZ_TO_OUT };

// Turns a row's counts into where each digit starts, and plans its passes.
extern "C" __global__ void __launch_bounds__(LZ_RADIX)
lz_sort_plan(LZ_COUNT* histograms, unsigned char* plan, long long n) {
  __shared__ LZ_COUNT warp_sums[LZ_RADIX / 32];
  const long long row = blockIdx.x;
  unsigned int active = 0;
  for (int p = 0; p < LZ_PASSES; ++p) {
    LZ_COUNT* place = histograms + (row * LZ_PASSES + p) * LZ_RADIX + threadIdx.x;
    const LZ_COUNT count = *place;
    *place = lz_exclusive_sum(count, warp_sums);
    // The barrier also keeps the sums until all have read them.
    if (!__syncthreads_or(count == (LZ_COUNT)n)) active |= 1u << p;
  }
  if (threadIdx.x != 0) return;
  if (active == 0) active = 1;  // somebody has to copy
  unsigned int source = LZ_FROM_IN;
  for (int p = 0; p < LZ_PASSES; ++p) {
    unsigned int role = 0;
    if (active >> p & 1) {
      const int later = __popc(active >> p >> 1);
      const unsigned int target = later == 0 ? LZ_TO_OUT : later & 1 ? LZ_BUFFER_A : LZ_BUFFER_B;
      role = source << 4 | target;
      source = target;
    }
    plan[row * LZ_PASSES + p] = (unsigned char)role;
  }
}

// A word of a tile's state: how often a digit occurs in the tile, or in it and all before it.
#define LZ_STATE_SHIFT (8 * sizeof(LZ_COUNT) - 2)
#define LZ_OWN ((LZ_COUNT)1 << LZ_STATE_SHIFT)
#define LZ_SUMMED ((LZ_COUNT)2 << LZ_STATE_SHIFT)
#define LZ_STATE_VALUE (LZ_OWN - 1)

// How often the calling thread's digit occurs in the tiles before this one. A word says whether it
// is valid by itself, so no fence is needed; tiles are numbered as blocks start, so those before
// this one run or have run.
__device__ __forceinline__ LZ_COUNT lz_look_back(volatile LZ_COUNT* row_state, long long tile,
                                                 LZ_COUNT count) {
  volatile LZ_COUNT* state = row_state + threadIdx.x;
  LZ_COUNT before = 0;
  if (tile > 0) {
    state[tile * LZ_RADIX] = LZ_OWN | count;
    for (long long t = tile - 1;; --t) {
      LZ_COUNT word;
      do word = state[t * LZ_RADIX];
      while (word >> LZ_STATE_SHIFT == 0);
      before += word & LZ_STATE_VALUE;
      if (word & LZ_SUMMED) break;
    }
  }
  state[tile * LZ_RADIX] = LZ_SUMMED | (before + count);
  return before;
}

#if LZ_PAIRS
#define LZ_ITEM_BYTES (sizeof(LZ_WORD) > sizeof(LZ_INDEX) ? sizeof(LZ_WORD) : sizeof(LZ_INDEX))
#else
#define LZ_ITEM_BYTES sizeof(LZ_WORD)
#endif

// One pass over all rows: `starts` and `plan` come from lz_sort_plan; `tickets` and `state` start
// as zeros, and the pass clears `next`, the state of the pass after it. B is used for pairs only:
// otherwise the second buffer is the result's memory, and so it always is for the indices (each
// row's inside the row's result, because rows end at different passes).
extern "C" __global__ void __launch_bounds__(LZ_THREADS, LZ_BLOCKS)
lz_sort_pass(LZ_OUT* out, LZ_WORD* a, LZ_WORD* b, LZ_INDEX* a_index, unsigned int* tickets,
             LZ_COUNT* state, LZ_COUNT* next, const LZ_COUNT* starts, const unsigned char* plan,
             const LZ_WORD* in, long long n, long long tiles, unsigned long long flip, int pass) {
  // The counts of the digit, then the elements in the order of the digit, then their indices.
  __shared__ __align__(16) unsigned char memory[
      LZ_WARPS * LZ_RADIX * 4 > LZ_TILE * LZ_ITEM_BYTES ? LZ_WARPS * LZ_RADIX * 4
                                                        : LZ_TILE * LZ_ITEM_BYTES];
  __shared__ unsigned int tile_starts[LZ_RADIX];
  __shared__ LZ_COUNT places[LZ_RADIX];
  __shared__ unsigned int warp_sums[LZ_RADIX / 32];
  __shared__ unsigned int ticket;
  unsigned int (*counts)[LZ_RADIX] = (unsigned int (*)[LZ_RADIX])memory;
  LZ_WORD* words = (LZ_WORD*)memory;
  const LzOrder order(flip);
  const int thread = threadIdx.x;
  const int shift = pass * LZ_DIGIT_BITS;
  if (thread == 0) ticket = atomicAdd(tickets + pass, 1u);
  __syncthreads();
  const long long number = ticket;
  const long long row = number / tiles;
  const long long tile = number % tiles;
  if (thread < LZ_RADIX && pass + 1 < LZ_PASSES) next[number * LZ_RADIX + thread] = 0;
  const unsigned int role = plan[row * LZ_PASSES + pass];
  if (role == 0) return;
  const unsigned int source = role >> 4, target = role & 15;

  const long long first = row * n + tile * LZ_TILE;
  const long long left = n - tile * LZ_TILE;
  const int valid = left < LZ_TILE ? (int)left : LZ_TILE;
#if !LZ_PAIRS
  b = out;
#endif
  const LZ_WORD* from = (source == LZ_FROM_IN ? in : source == LZ_BUFFER_A ? a : b) + first;
  LZ_WORD x[LZ_ITEMS];
  unsigned int rank[LZ_ITEMS];
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) x[i] = lz_place(i) < valid ? from[lz_place(i)] : order.last();
  const unsigned int total = lz_rank_in_warps(order, x, shift, rank, counts);
  LZ_COUNT place = 0;
  if (thread < LZ_RADIX)
    place = starts[(row * LZ_PASSES + pass) * LZ_RADIX + thread] +
            lz_look_back(state + row * tiles * LZ_RADIX, tile, total);
  lz_rank_in_tile(rank, total, counts, tile_starts, warp_sums);
  if (thread < LZ_RADIX) places[thread] = place - tile_starts[thread];
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) words[rank[i]] = x[i];
  __syncthreads();

#if LZ_PAIRS
  LZ_COUNT to[LZ_ITEMS];
  LZ_WORD* target_words = (target == LZ_BUFFER_A ? a : b) + row * n;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const int k = i * LZ_THREADS + thread;
    const LZ_WORD word = words[k];
    to[i] = places[order.digit(word, shift)] + k;
    if (k < valid && target != LZ_TO_OUT) target_words[to[i]] = word;
  }
  __syncthreads();
  LZ_INDEX* indices = (LZ_INDEX*)memory;
  LZ_INDEX* row_a = a_index + row * n;
  LZ_INDEX* row_b = (LZ_INDEX*)(out + row * n);
  const LZ_INDEX* from_index = (source == LZ_BUFFER_A ? row_a : row_b) + tile * LZ_TILE;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const int k = lz_place(i);
    if (source == LZ_FROM_IN) indices[rank[i]] = (LZ_INDEX)(tile * LZ_TILE + k);
    else if (k < valid) indices[rank[i]] = from_index[k];
  }
  __syncthreads();
  LZ_INDEX* target_index = target == LZ_BUFFER_A ? row_a : row_b;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const int k = i * LZ_THREADS + thread;
    if (k >= valid) continue;
    if (target == LZ_TO_OUT) out[row * n + to[i]] = indices[k];
    else target_index[to[i]] = indices[k];
  }
#else
  LZ_WORD* target_words = (target == LZ_BUFFER_A ? a : b) + row * n;
#pragma unroll
  for (int i = 0; i < LZ_ITEMS; ++i) {
    const int k = i * LZ_THREADS + thread;
    const LZ_WORD word = words[k];
    if (k < valid) target_words[places[order.digit(word, shift)] + k] = word;
  }
#endif
}
