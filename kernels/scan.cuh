// Inclusive scans along the middle axis of (outer, n, inner): what scan_rows.cuh, scan_columns.cuh,
// scan_walk.cuh and scan_small.cuh share. A chain is what is scanned: one index of outer and inner.
//
// The files are specialised by LZ_T (elements), LZ_A (accumulators), LZ_LOAD(x), LZ_COMBINE(p, q),
// LZ_INITIAL (1: a result is one longer and begins with LZ_FIRST), LZ_THREADS (of a block),
// LZ_GROUP (tiles) and LZ_HEADER (words before the slots: the ticket, and one for alignment). The
// order of combination depends on the shape and the axis alone.
//
// Chains longer than a tile are scanned in one pass, after "Single-pass Parallel Prefix Scan with
// Decoupled Look-back" (Merrill and Garland, 2016). What a tile combines with is always combined in
// one order, whatever has been published when it looks: tiles are in groups of LZ_GROUP, and the
// prefix of a tile is the fold of all groups before its own, left to right, then of the tiles
// before it in its group. Tiles are numbered as blocks start, so those before a tile run or have run.

#define LZ_WORDS ((int)((sizeof(LZ_A) + 3) / 4))
#define LZ_READY (1ull << 32)

__device__ __forceinline__ LZ_A lz_load(const LZ_T& x) { return LZ_LOAD(x); }
__device__ __forceinline__ LZ_A lz_combine(const LZ_A& p, const LZ_A& q) { return LZ_COMBINE(p, q); }

// A slot holds one accumulator, 32 bits a word. Each word says by itself whether it is there, and
// none is written twice: so neither fences nor an order of the words are needed.
typedef volatile unsigned long long LzWord;

__device__ __forceinline__ void lz_publish(LzWord* slot, const LZ_A& x) {
  const LzWords<LZ_A> words(x);
#pragma unroll
  for (int k = 0; k < LZ_WORDS; ++k) slot[k] = LZ_READY | (unsigned int)words.word[k];
}

// Whether the slot is published; then x is its value.
__device__ __forceinline__ bool lz_peek(const LzWord* slot, LZ_A& x) {
  unsigned long long word[LZ_WORDS];
#pragma unroll
  for (int k = 0; k < LZ_WORDS; ++k) word[k] = slot[k];
  union { int part[LZ_WORDS]; LZ_A value; } words;
  bool ready = true;
#pragma unroll
  for (int k = 0; k < LZ_WORDS; ++k) {
    ready &= word[k] >= LZ_READY;
    words.part[k] = (int)(unsigned int)word[k];
  }
  x = words.value;
  return ready;
}

// The slots of a chain: of its tiles, of its groups, and of its groups up to each, in memory that
// starts as zeros. The last group has no slots: nobody waits for it.
struct LzChain {
  LzWord* tiles;
  LzWord* groups;
  LzWord* totals;
  long long step;  // from a tile or group to the next: the chains' slots lie side by side
  long long last;  // the last tile

  __device__ __forceinline__ LzChain(unsigned long long* state, long long chain, long long chains,
                                     long long count) {
    step = chains * LZ_WORDS;
    last = count - 1;
    tiles = state + LZ_HEADER + chain * LZ_WORDS;
    groups = tiles + count * step;
    totals = groups + last / LZ_GROUP * step;
  }
};

// Publishes what a tile combines, for the later tiles of its group.
__device__ __forceinline__ void lz_publish_tile(const LzChain& chain, long long tile,
                                                const LZ_A& own) {
  if (tile < chain.last && tile % LZ_GROUP < LZ_GROUP - 1)
    lz_publish(chain.tiles + tile * chain.step, own);
}

// What the tiles before a tile combine (of tile 0, nothing that may be used): `sum` are those of
// its group. The last tile of a group publishes for later groups. A Reader is one thread, or a warp
// whose lanes all get the result.
template <class Reader>
__device__ __forceinline__ LZ_A lz_before_tile(const LzChain& chain, long long tile,
                                               const LZ_A& own, const LZ_A& sum) {
  const long long group = tile / LZ_GROUP;
  const long long place = tile % LZ_GROUP;
  const bool publishes = Reader::publishes() && place == LZ_GROUP - 1 && tile < chain.last;
  const LZ_A whole = lz_combine(sum, own);
  if (publishes) lz_publish(chain.groups + group * chain.step, whole);
  if (group == 0) {
    if (publishes) lz_publish(chain.totals, whole);
    return sum;
  }
  const LZ_A total = Reader::fold_groups(chain, group);
  if (publishes) lz_publish(chain.totals + group * chain.step, lz_combine(total, whole));
  return place > 0 ? lz_combine(total, sum) : total;
}
