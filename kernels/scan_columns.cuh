// Scans with inner > 1: down columns of (outer, n, inner).
//
// Further definitions: LZ_ROWS (how many rows a thread takes), LZ_WIDTH, LZ_STAGED, LZ_LOOK_BACK
// (columns are longer than a tile). A block takes a tile: columns side by side, as many groups of
// LZ_ROWS rows as it has threads for. Staged, the columns are those of one outer index, fewer than
// LZ_WIDTH, and come through shared memory; otherwise LZ_WIDTH neighbours. A thread's rows combine
// top to bottom, the groups in a tree.

#define LZ_MOST_SLOTS ((LZ_GROUP * LZ_WIDTH + LZ_THREADS - 1) / LZ_THREADS)  // for a thread
#define LZ_RESIDENT (sizeof(LZ_A) < 16 ? 3 : 2)  // blocks that have to find registers

struct LzThreadReader {
  static __device__ __forceinline__ bool publishes() { return true; }

  // What the groups before a group combine: from the nearest total on, group by group.
  static __device__ __forceinline__ LZ_A fold_groups(const LzChain& chain, long long group) {
    LZ_A sum, whole;
    long long k = group - 1;
    while (!lz_peek(chain.totals + k * chain.step, sum))
      if (k > 0 && lz_peek(chain.groups + k * chain.step, whole)) --k;
    for (++k; k < group; ++k) {
      while (!lz_peek(chain.groups + k * chain.step, whole)) {}
      sum = lz_combine(sum, whole);
    }
    return sum;
  }
};

#if LZ_STAGED
// Where element k of a tile lies in shared memory: rows of 16 lie in different banks.
__device__ __forceinline__ int lz_place(int k) { return k + k / 32; }
#define LZ_STAGING (LZ_ROWS * LZ_THREADS + LZ_ROWS * LZ_THREADS / 32)
#else
#define LZ_STAGING 1
#endif

// The slots of the earlier tiles of a group, shared out among the threads of a column: each folds
// its part left to right.
__device__ __forceinline__ LZ_A lz_fold_slots(const LzChain& chain, long long first, int count) {
  LZ_A x[LZ_MOST_SLOTS];
  bool ready;
  do {
    ready = true;
#pragma unroll
    for (int u = 0; u < LZ_MOST_SLOTS; ++u)
      ready &= lz_peek(chain.tiles + (first + (u < count ? u : count - 1)) * chain.step, x[u]);
  } while (!ready);
  LZ_A sum = x[0];
#pragma unroll
  for (int u = 1; u < LZ_MOST_SLOTS; ++u)
    if (u < count) sum = lz_combine(sum, x[u]);
  return sum;
}

// Scans the tile of a block: `across` numbers the tiles beside each other.
__device__ __forceinline__ void lz_scan_tile(LZ_A* out, unsigned long long* state, const LZ_T* in,
                                             long long columns, long long n, long long inner,
                                             long long across, long long tile, long long tiles,
                                             LzRaw<LZ_A>* totals, LzRaw<LZ_A>* parts,
                                             LzRaw<LZ_A>* prefixes, LzRaw<LZ_A>* staging) {
  const int thread = threadIdx.x;
  const int width = LZ_STAGED ? (int)inner : LZ_WIDTH;
  const int groups = LZ_THREADS / width;
  const int group = thread / width;
  const long long top = tile * groups * LZ_ROWS;
  const long long left = n - top;  // rows, at least 1
  const long long wanted = across * width + thread % width;
  const bool live = group < groups && wanted < columns;
  const long long column = wanted < columns ? wanted : columns - 1;
  const long long outer = column / inner;
  const long long beside = column - outer * inner;
  const LZ_T* from = in + (outer * n + top) * inner;
  LZ_A* to = out + (outer * (n + LZ_INITIAL) + LZ_INITIAL + top) * inner;
  LZ_A v[LZ_ROWS];
#if LZ_STAGED
  const int count = (int)((left < groups * LZ_ROWS ? left : groups * LZ_ROWS) * inner);
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) {
    const int k = i * LZ_THREADS + thread;
    v[i] = lz_load(from[k < count ? k : count - 1]);
  }
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) staging[lz_place(i * LZ_THREADS + thread)].put(v[i]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) {
    const int k = (group * LZ_ROWS + i) * width + thread % width;
    v[i] = staging[lz_place(k < LZ_ROWS * LZ_THREADS ? k : 0)].get();
  }
#else
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) {
    const int k = group * LZ_ROWS + i;
    v[i] = lz_load(from[(k < left ? k : left - 1) * inner + beside]);
  }
#endif
#pragma unroll
  for (int i = 1; i < LZ_ROWS; ++i) v[i] = lz_combine(v[i - 1], v[i]);
  LZ_A sum = v[LZ_ROWS - 1];
  totals[thread].put(sum);
  __syncthreads();
  for (int d = 1; d < groups; d *= 2) {
    if (group >= d) sum = lz_combine(totals[thread - d * width].get(), sum);
    __syncthreads();
    totals[thread].put(sum);
    __syncthreads();
  }
#if LZ_LOOK_BACK
  const LzChain chain(state, column, columns, tiles);
  const int place = (int)(tile % LZ_GROUP);
  const int part = (LZ_GROUP + groups - 1) / groups;
  if (live && group == groups - 1) lz_publish_tile(chain, tile, sum);
  if (live && group * part < place) {
    const int count = place - group * part < part ? place - group * part : part;
    parts[thread].put(lz_fold_slots(chain, tile - place + group * part, count));
  }
  __syncthreads();
  if (live && group == groups - 1) {
    LZ_A before = sum;
    for (int g = 0; g * part < place; ++g) {
      const LZ_A x = parts[g * width + thread % width].get();
      before = g > 0 ? lz_combine(before, x) : x;
    }
    prefixes[thread % width].put(lz_before_tile<LzThreadReader>(chain, tile, sum, before));
  }
  __syncthreads();
#endif
  if (tile > 0 || group > 0) {
    LZ_A prefix = sum;
    if (group > 0) prefix = totals[thread - width].get();
    if (tile > 0) {
      const LZ_A earlier = prefixes[thread % width].get();
      prefix = group > 0 ? lz_combine(earlier, prefix) : earlier;
    }
#pragma unroll
    for (int i = 0; i < LZ_ROWS; ++i) v[i] = lz_combine(prefix, v[i]);
  }
  if (LZ_INITIAL && tile == 0 && group == 0 && live) to[beside - LZ_INITIAL * inner] = LZ_FIRST;
#if LZ_STAGED
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) {
    const int k = (group * LZ_ROWS + i) * width + thread % width;
    if (group < groups) staging[lz_place(k)].put(v[i]);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) {
    const int k = i * LZ_THREADS + thread;
    if (k < count) to[k] = staging[lz_place(k)].get();
  }
#else
#pragma unroll
  for (int i = 0; i < LZ_ROWS; ++i) {
    const int k = group * LZ_ROWS + i;
    if (live && k < left) to[k * inner + beside] = v[i];
  }
#endif
}

#if LZ_LOOK_BACK

extern "C" __global__ void __launch_bounds__(LZ_THREADS, LZ_RESIDENT)
lz_scan_long_columns(LZ_A* out, unsigned long long* state, const LZ_T* in, long long columns,
                     long long n, long long inner, long long beside, long long tiles) {
  __shared__ LzRaw<LZ_A> totals[LZ_THREADS], parts[LZ_THREADS], prefixes[LZ_WIDTH], staging[LZ_STAGING];
  __shared__ unsigned long long ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1ull);
  __syncthreads();
  const long long number = (long long)ticket;
  lz_scan_tile(out, state, in, columns, n, inner, number % beside, number / beside, tiles, totals,
               parts, prefixes, staging);
}

#else

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_scan_columns(LZ_A* out, const LZ_T* in, long long columns, long long n, long long inner) {
  __shared__ LzRaw<LZ_A> totals[LZ_THREADS], staging[LZ_STAGING];
  lz_scan_tile(out, 0, in, columns, n, inner, blockIdx.x, 0, 1, totals, 0, 0, staging);
}

#endif
