// Scans of short chains, of one column or a few: a thread follows a chain in shared memory.
//
// Further definition: LZ_SPAN (elements that a block holds).

#define LZ_BATCH 8

// Where element k lies in shared memory: chains of 32 elements lie in different banks.
__device__ __forceinline__ int lz_place(int k) { return k + k / 32; }

// `together` outer indices a block, side by side.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_scan_small(LZ_A* out, const LZ_T* in, long long outer, int n, int inner, int together) {
  __shared__ LzRaw<LZ_A> memory[LZ_SPAN + LZ_SPAN / 32];
  const int thread = threadIdx.x;
  const int size = n * inner;
  const long long first = (long long)blockIdx.x * together;
  const int outers = outer - first < together ? (int)(outer - first) : together;
  const LZ_T* from = in + first * size;
  for (int base = 0; base < outers * size; base += LZ_BATCH * LZ_THREADS) {
    LZ_T x[LZ_BATCH];
#pragma unroll
    for (int u = 0; u < LZ_BATCH; ++u) {
      const int k = base + u * LZ_THREADS + thread;
      x[u] = from[k < outers * size ? k : outers * size - 1];
    }
#pragma unroll
    for (int u = 0; u < LZ_BATCH; ++u) {
      const int k = base + u * LZ_THREADS + thread;
      if (k < outers * size) memory[lz_place(k)].put(lz_load(x[u]));
    }
  }
  __syncthreads();
  for (int column = thread; column < outers * inner; column += LZ_THREADS) {
    const int start = column / inner * size + column % inner;
    LZ_A sum = memory[lz_place(start)].get();
    for (int base = 1; base < n; base += LZ_BATCH) {
      LZ_A x[LZ_BATCH];
#pragma unroll
      for (int u = 0; u < LZ_BATCH; ++u) {
        const int k = base + u < n ? base + u : n - 1;
        x[u] = memory[lz_place(start + k * inner)].get();
      }
#pragma unroll
      for (int u = 0; u < LZ_BATCH; ++u) {
        if (base + u >= n) continue;
        sum = lz_combine(sum, x[u]);
        memory[lz_place(start + (base + u) * inner)].put(sum);
      }
    }
  }
  __syncthreads();
  const int longer = size + LZ_INITIAL * inner;
  LZ_A* to = out + first * longer;
#pragma unroll 4
  for (int k = thread; k < outers * longer; k += LZ_THREADS) {
#if LZ_INITIAL
    const int of = k / longer;
    const int within = k - of * longer - inner;
    to[k] = within < 0 ? LZ_FIRST : memory[lz_place(of * size + within)].get();
#else
    to[k] = memory[lz_place(k)].get();
#endif
  }
}
