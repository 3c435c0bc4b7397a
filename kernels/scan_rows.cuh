// Scans with inner == 1: along the rows of (rows, n).
//
// Further definitions: LZ_VECTOR (elements of a vector), LZ_CHUNKS, LZ_WARPS (how many warps share
// a row), LZ_LOOK_BACK (rows are longer than the tile of a block). A warp takes a segment of
// LZ_CHUNKS chunks, each of one vector a lane. Inside a vector elements combine left to right, the
// lanes of a chunk in a tree, then chunks and warps left to right.

#define LZ_SEGMENT (32 * LZ_VECTOR * LZ_CHUNKS)
#define LZ_BLOCK_WARPS (LZ_THREADS / 32)
#define LZ_WIDEST (sizeof(LZ_T) > sizeof(LZ_A) ? sizeof(LZ_T) : sizeof(LZ_A))

typedef LzVec<LZ_T, LZ_VECTOR> LzIn;
typedef LzVec<LZ_A, LZ_VECTOR> LzOut;

// Inclusive over the lanes of a warp.
__device__ __forceinline__ LZ_A lz_scan_lanes(LZ_A sum) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const LZ_A before = lz_shift_up(sum, d);
    if (lane >= d) sum = lz_combine(before, sum);
  }
  return sum;
}

struct LzWarpReader {
  static __device__ __forceinline__ bool publishes() { return threadIdx.x % 32 == 0; }

  // What `count` tiles of a group combine: waits for them, a lane for each.
  static __device__ __forceinline__ LZ_A fold_tiles(const LzChain& chain, long long first,
                                                    int count) {
    const int lane = threadIdx.x % 32;
    const LzWord* slot = chain.tiles + (first + (lane < count ? lane : count - 1)) * chain.step;
    LZ_A x;
    while (!lz_peek(slot, x)) {}
    __syncwarp();
    return lz_from_lane(lz_scan_lanes(x), count - 1);
  }

  // What the groups before a group combine: from the nearest total on, group by group. Lane l looks
  // at the l-th group before.
  static __device__ __forceinline__ LZ_A fold_groups(const LzChain& chain, long long group) {
    const int lane = threadIdx.x % 32;
    const long long k = group - 1 > lane ? group - 1 - lane : 0;
    for (;;) {
      LZ_A total, whole;
      const bool has_total = lz_peek(chain.totals + k * chain.step, total);
      const bool has_whole = lz_peek(chain.groups + k * chain.step, whole);
      const unsigned int totals = __ballot_sync(0xffffffffu, has_total);
      const unsigned int wholes = __ballot_sync(0xffffffffu, has_whole);
      if (totals == 0) continue;
      const int nearest = __ffs((int)totals) - 1;
      const unsigned int needed = (1u << nearest) - 1;
      if ((wholes & needed) != needed) continue;
      LZ_A sum = lz_from_lane(total, nearest);
      for (int l = nearest - 1; l >= 0; --l) sum = lz_combine(sum, lz_from_lane(whole, l));
      return sum;
    }
  }
};

// Reads a warp's segment, of which `left` elements are in the row. All others are the row's last:
// they change nothing that is stored. A segment that no vector fits comes through shared memory.
__device__ __forceinline__ void lz_read_segment(LZ_A (&v)[LZ_CHUNKS][LZ_VECTOR], const LZ_T* from,
                                                long long left, unsigned char* staging) {
  const int lane = threadIdx.x % 32;
  const LzIn* vectors = (const LzIn*)from;
  LzIn x[LZ_CHUNKS];
  if (left >= LZ_SEGMENT && (unsigned long long)from % sizeof(LzIn) == 0) {
#pragma unroll
    for (int c = 0; c < LZ_CHUNKS; ++c) x[c] = vectors[c * 32 + lane];
  } else {
    LZ_T each[LZ_CHUNKS * LZ_VECTOR];
#pragma unroll
    for (int i = 0; i < LZ_CHUNKS * LZ_VECTOR; ++i) {
      const int k = i * 32 + lane;
      each[i] = from[k < left ? k : left - 1];
    }
#pragma unroll
    for (int i = 0; i < LZ_CHUNKS * LZ_VECTOR; ++i) ((LZ_T*)staging)[i * 32 + lane] = each[i];
    __syncwarp();
#pragma unroll
    for (int c = 0; c < LZ_CHUNKS; ++c) x[c] = ((const LzIn*)staging)[c * 32 + lane];
  }
#pragma unroll
  for (int c = 0; c < LZ_CHUNKS; ++c)
#pragma unroll
    for (int u = 0; u < LZ_VECTOR; ++u) v[c][u] = lz_load(x[c].v[u]);
}

__device__ __forceinline__ void lz_write_segment(LZ_A* to, const LZ_A (&v)[LZ_CHUNKS][LZ_VECTOR],
                                                 long long left, unsigned char* staging) {
  const int lane = threadIdx.x % 32;
  LzOut y[LZ_CHUNKS];
#pragma unroll
  for (int c = 0; c < LZ_CHUNKS; ++c)
#pragma unroll
    for (int u = 0; u < LZ_VECTOR; ++u) y[c].v[u] = v[c][u];
  if (left >= LZ_SEGMENT && (unsigned long long)to % sizeof(LzOut) == 0) {
#pragma unroll
    for (int c = 0; c < LZ_CHUNKS; ++c) ((LzOut*)to)[c * 32 + lane] = y[c];
    return;
  }
  __syncwarp();  // until all lanes have what was staged
#pragma unroll
  for (int c = 0; c < LZ_CHUNKS; ++c) ((LzOut*)staging)[c * 32 + lane] = y[c];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < LZ_CHUNKS * LZ_VECTOR; ++i) {
    const int k = i * 32 + lane;
    if (k < left) to[k] = ((const LZ_A*)staging)[k];
  }
}

// Scans a segment by itself, and returns what all of it combines.
__device__ __forceinline__ LZ_A lz_scan_segment(LZ_A (&v)[LZ_CHUNKS][LZ_VECTOR]) {
  const int lane = threadIdx.x % 32;
  LZ_A total = v[0][0];
#pragma unroll
  for (int c = 0; c < LZ_CHUNKS; ++c) {
#pragma unroll
    for (int u = 1; u < LZ_VECTOR; ++u) v[c][u] = lz_combine(v[c][u - 1], v[c][u]);
    const LZ_A sum = lz_scan_lanes(v[c][LZ_VECTOR - 1]);
    LZ_A before = lz_shift_up(sum, 1);
    if (c > 0) before = lane == 0 ? total : lz_combine(total, before);
#pragma unroll
    for (int u = 0; u < LZ_VECTOR; ++u)
      if (c > 0 || lane > 0) v[c][u] = lz_combine(before, v[c][u]);
    const LZ_A chunk = lz_from_lane(sum, 31);
    total = c > 0 ? lz_combine(total, chunk) : chunk;
  }
  return total;
}

__device__ __forceinline__ void lz_add_prefix(LZ_A (&v)[LZ_CHUNKS][LZ_VECTOR],
                                              const LZ_A& prefix) {
#pragma unroll
  for (int c = 0; c < LZ_CHUNKS; ++c)
#pragma unroll
    for (int u = 0; u < LZ_VECTOR; ++u) v[c][u] = lz_combine(prefix, v[c][u]);
}

#if LZ_LOOK_BACK

// One block a tile; a row's tiles follow each other by look-back.
extern "C" __global__ void __launch_bounds__(LZ_THREADS, 3)
lz_scan_long(LZ_A* out, unsigned long long* state, const LZ_T* in, long long rows, long long n,
             long long tiles) {
  __shared__ __align__(16) unsigned char staging[LZ_BLOCK_WARPS][LZ_SEGMENT * LZ_WIDEST];
  __shared__ LzRaw<LZ_A> totals[LZ_BLOCK_WARPS];
  __shared__ LzRaw<LZ_A> tile_prefix;
  __shared__ unsigned long long ticket;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1ull);
  __syncthreads();
  const long long number = (long long)ticket;
  const long long row = number % rows;
  const long long tile = number / rows;
  const long long first = (tile * LZ_BLOCK_WARPS + warp) * LZ_SEGMENT;
  LZ_A v[LZ_CHUNKS][LZ_VECTOR];
  lz_read_segment(v, in + row * n + first, n - first, staging[warp]);
  const LZ_A total = lz_scan_segment(v);
  if (lane == 0) totals[warp].put(total);
  __syncthreads();
  if (warp == 0) {
    LZ_A own = totals[0].get();
#pragma unroll
    for (int w = 1; w < LZ_BLOCK_WARPS; ++w) own = lz_combine(own, totals[w].get());
    const LzChain chain(state, row, rows, tiles);
    const int place = (int)(tile % LZ_GROUP);
    if (lane == 0) lz_publish_tile(chain, tile, own);
    LZ_A sum = own;
    if (place > 0) sum = LzWarpReader::fold_tiles(chain, tile - place, place);
    const LZ_A prefix = lz_before_tile<LzWarpReader>(chain, tile, own, sum);
    if (lane == 0) tile_prefix.put(prefix);
  }
  __syncthreads();
  LZ_A prefix = tile_prefix.get();
  bool has_prefix = tile > 0;
#pragma unroll
  for (int w = 0; w < LZ_BLOCK_WARPS - 1; ++w) {
    if (w >= warp) continue;
    prefix = has_prefix ? lz_combine(prefix, totals[w].get()) : totals[w].get();
    has_prefix = true;
  }
  if (has_prefix) lz_add_prefix(v, prefix);
  LZ_A* to = out + row * (n + LZ_INITIAL) + LZ_INITIAL;
  if (LZ_INITIAL && tile == 0 && threadIdx.x == 0) to[-LZ_INITIAL] = LZ_FIRST;
  lz_write_segment(to + first, v, n - first, staging[warp]);
}

#else

// LZ_WARPS warps a row, whose segments hold all of it.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_scan_rows(LZ_A* out, const LZ_T* in, long long rows, long long n) {
  __shared__ __align__(16) unsigned char staging[LZ_BLOCK_WARPS][LZ_SEGMENT * LZ_WIDEST];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int part = warp % LZ_WARPS;
  const long long wanted = (long long)blockIdx.x * (LZ_BLOCK_WARPS / LZ_WARPS) + warp / LZ_WARPS;
  const bool live = wanted < rows;
  const long long row = live ? wanted : rows - 1;
  const long long first = part * LZ_SEGMENT;
  LZ_A v[LZ_CHUNKS][LZ_VECTOR];
  lz_read_segment(v, in + row * n + first, n - first, staging[warp]);
  LZ_A prefix = lz_scan_segment(v);
#if LZ_WARPS > 1
  __shared__ LzRaw<LZ_A> totals[LZ_BLOCK_WARPS];
  if (lane == 0) totals[warp].put(prefix);
  __syncthreads();
#pragma unroll
  for (int w = 0; w < LZ_WARPS - 1; ++w) {
    const LZ_A total = totals[warp - part + w].get();
    if (w < part) prefix = w > 0 ? lz_combine(prefix, total) : total;
  }
#endif
  if (part > 0) lz_add_prefix(v, prefix);
  LZ_A* to = out + row * (n + LZ_INITIAL) + LZ_INITIAL;
  if (LZ_INITIAL && live && first == 0 && lane == 0) to[-LZ_INITIAL] = LZ_FIRST;
  lz_write_segment(to + first, v, live ? n - first : 0, staging[warp]);
}

#endif
