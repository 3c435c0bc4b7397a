// What belongs to flagged elements, in order: the second half of run_flags.cuh.
//
// Specialised by LZ_T (what is read and written), LZ_MODE (0: values, 1: positions, 2: starts, 3:
// the inverse), LZ_GROUP (how many elements a lane takes at once: those that fit 4 bytes),
// LZ_TILE_WORDS and LZ_THREADS. A block takes a word of 32 flags a thread, which is a part of a
// tile; a warp 1024 elements, in chunks that it packs in shared memory and writes as they lie.

#define LZ_WARPS (LZ_THREADS / 32)
#define LZ_PARTS (LZ_TILE_WORDS / LZ_THREADS)
#define LZ_STEPS 8  // loads under way in a thread
#define LZ_CHUNK (LZ_STEPS * LZ_GROUP)  // words

// Where the flagged elements of a warp belong.
struct LzPlaces {
  long long element;   // the warp's first element
  long long first;     // the number of flagged elements before it
  unsigned int flags;  // the lane's word
  int before;          // the number of flagged elements of the warp before the word
  int count;           // and of all of them

  __device__ __forceinline__ LzPlaces(const unsigned int* runs, long long tiles) {
    __shared__ int found[LZ_WARPS], earlier[LZ_WARPS];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const long long tile = blockIdx.x / LZ_PARTS;
    const int part = blockIdx.x % LZ_PARTS;
    const unsigned int* words = runs + tile * LZ_TILE_WORDS + threadIdx.x;
    first = ((const long long*)(runs + tiles * LZ_TILE_WORDS))[tile];
    flags = words[part * LZ_THREADS];
    int ahead = 0;
#pragma unroll
    for (int p = 0; p < LZ_PARTS - 1; ++p)
      if (p < part) ahead += __popc(words[p * LZ_THREADS]);
    const int own = __popc(flags);
    int sum = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += other;
    }
#pragma unroll
    for (int d = 16; d; d /= 2) ahead += __shfl_xor_sync(0xffffffffu, ahead, d);
    before = sum - own;
    count = __shfl_sync(0xffffffffu, sum, 31);
    if (lane == 0) {
      found[warp] = count;
      earlier[warp] = ahead;
    }
    __syncthreads();
    for (int w = 0; w < LZ_WARPS; ++w) first += earlier[w] + (w < warp ? found[w] : 0);
    element = (blockIdx.x * (long long)LZ_THREADS + warp * 32) * 32;
  }
};

#if LZ_MODE == 3
// Each element's run, at the place that `in` names.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_run_inverse(LZ_T* out, const unsigned int* runs, const LZ_T* in, long long n,
               long long tiles) {
  const LzPlaces places(runs, tiles);
  const int lane = threadIdx.x % 32;
#pragma unroll 8
  for (int k = 0; k < 32; ++k) {
    const unsigned int flags = __shfl_sync(0xffffffffu, places.flags, k);
    const int before = __shfl_sync(0xffffffffu, places.before, k);
    const long long i = places.element + k * 32 + lane;
    if (i < n) out[in[i]] = places.first + before + __popc(flags & (0xffffffffu >> (31 - lane))) - 1;
  }
}
#else

struct alignas(sizeof(LZ_T) * LZ_GROUP) LzGroup {
  LZ_T v[LZ_GROUP];
};

// The flags of a lane's group, from a bit of its word on.
__device__ __forceinline__ unsigned int lz_bits(unsigned int flags, int bit) {
  return flags >> bit & ((1u << LZ_GROUP) - 1);
}

// The elements from i on that `bits` names; with WHOLE the group is loaded at once.
template <bool WHOLE>
__device__ __forceinline__ void lz_load(LzGroup& group, const LZ_T* in, long long i,
                                        unsigned int bits) {
#if LZ_MODE == 0
  if (WHOLE) {
    if (bits) group = *(const LzGroup*)(in + i);
    return;
  }
#endif
#pragma unroll
  for (int g = 0; g < LZ_GROUP; ++g) {
#if LZ_MODE == 0
    if (bits >> g & 1) group.v[g] = in[i + g];
#else
    group.v[g] = i + g;
#endif
  }
}

// Writes a chunk that lies in `packed` from `lead` on, where out + to - lead is a group's start.
__device__ __forceinline__ void lz_write(LZ_T* out, long long to, const LZ_T* packed, int lead,
                                         int count) {
  LZ_T* target = out + (to - lead);
  const int lane = threadIdx.x % 32;
  const int end = lead + count;
  const int skew = (int)((to - lead) / LZ_GROUP % 32);  // a warp writes from a line's start
  for (int g = lane - skew; g * LZ_GROUP < end; g += 32) {
    if (g < 0) continue;
    const int low = g * LZ_GROUP;
    if (low >= lead && low + LZ_GROUP <= end) {
      ((LzGroup*)target)[g] = ((const LzGroup*)packed)[g];
    } else {
#pragma unroll
      for (int u = 0; u < LZ_GROUP; ++u)
        if (low + u >= lead && low + u < end) target[low + u] = packed[low + u];
    }
  }
}

__device__ __forceinline__ void lz_emit(LZ_T* out, const unsigned int* runs, const LZ_T* in,
                                        long long n, long long tiles) {
  // One group more than a chunk has: it may start inside the first.
  __shared__ LzGroup memory[LZ_WARPS][LZ_STEPS * 32 + 1];
  __shared__ uint2 table[LZ_THREADS];  // of each word: its flags, and how many came before it
  const LzPlaces places(runs, tiles);
  const int lane = threadIdx.x % 32;
  LZ_T* packed = (LZ_T*)memory[threadIdx.x / 32];
  const uint2* words = table + threadIdx.x / 32 * 32;
  table[threadIdx.x] = make_uint2(places.flags, places.before);
  __syncwarp();
  const bool whole = LZ_GROUP == 1 || (places.element + 1024 <= n &&
                                       (unsigned long long)in % sizeof(LzGroup) == 0);
  const int at = lane * LZ_GROUP;  // the lane's place in the 32 groups of a step
  const int bit = at % 32;
  for (int chunk = 0; chunk < 32; chunk += LZ_CHUNK) {
    const int start = (int)words[chunk].y;
    const int end = chunk + LZ_CHUNK < 32 ? (int)words[chunk + LZ_CHUNK].y : places.count;
    if (start == end) continue;
    const long long to = places.first + start;
    const int lead = (int)(to % LZ_GROUP);
    const long long i = places.element + chunk * 32 + at;
    const uint2* mine = words + chunk + at / 32;
    LzGroup groups[LZ_STEPS];
    if (whole) {
#pragma unroll
      for (int s = 0; s < LZ_STEPS; ++s)
        lz_load<true>(groups[s], in, i + s * 32 * LZ_GROUP, lz_bits(mine[s * LZ_GROUP].x, bit));
    } else {
#pragma unroll
      for (int s = 0; s < LZ_STEPS; ++s)
        lz_load<false>(groups[s], in, i + s * 32 * LZ_GROUP, lz_bits(mine[s * LZ_GROUP].x, bit));
    }
#pragma unroll
    for (int s = 0; s < LZ_STEPS; ++s) {
      const uint2 word = mine[s * LZ_GROUP];
      const unsigned int bits = lz_bits(word.x, bit);
      int rank = lead + (int)word.y - start + __popc(word.x & ((1u << bit) - 1));
#pragma unroll
      for (int g = 0; g < LZ_GROUP; ++g)
        if (bits >> g & 1) packed[rank++] = groups[s].v[g];
    }
    __syncwarp();
    lz_write(out, to, packed, lead, end - start);
    __syncwarp();
  }
}

#if LZ_MODE == 0
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_run_values(LZ_T* out, const unsigned int* runs, const LZ_T* in, long long n, long long tiles) {
  lz_emit(out, runs, in, n, tiles);
}
#else
// Where flagged elements are; for `starts` with the array's length behind them.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_run_positions(LZ_T* out, const unsigned int* runs, long long n, long long tiles) {
#if LZ_MODE == 2
  if (blockIdx.x == 0 && threadIdx.x == 0)
    out[((const long long*)(runs + tiles * LZ_TILE_WORDS))[tiles]] = n;
#endif
  lz_emit(out, runs, nullptr, n, tiles);
}
#endif
#endif
