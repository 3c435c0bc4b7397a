// Pieces side by side: each row of the result takes a run of neighbours from every piece in turn.
// LZ_T is any type of the unit's size, LZ_PIECES the number of pieces (empty ones at the end begin
// where the row ends), LZ_ITEMS how many units a thread takes, LZ_THREADS apart, LZ_LINE the bytes of
// a line of memory, LZ_U the unsigned type that counts all units of the result.

struct LzPieces {
  const LZ_T* start[LZ_PIECES];
  long long stride[LZ_PIECES];  // from row to row
  long long first[LZ_PIECES];   // where the piece begins in a row of the result
};

#define LZ_STRETCH (LZ_THREADS * LZ_ITEMS)

// Long rows: a block takes a stretch of one row. Stretches begin on lines of memory of the result, so
// that a row's first and last may be short; row 0 begins `lead` units after one.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_join_long(LZ_T* out, const __grid_constant__ LzPieces pieces, long long width,
             long long out_stride, unsigned int stretches, unsigned int lead) {
  const unsigned int row = blockIdx.x / stretches;
  out += row * out_stride;
  const int ahead = (unsigned int)(row * out_stride + lead) % (LZ_LINE / sizeof(LZ_T));
  const long long begin = (long long)(blockIdx.x - row * stretches) * LZ_STRETCH - ahead;
  int k = 0;
#pragma unroll
  for (int j = 1; j < LZ_PIECES; ++j) k += begin >= pieces.first[j];
  const long long next = k + 1 < LZ_PIECES ? pieces.first[k + 1] : width;
  const long long c = begin + threadIdx.x;
  LZ_T held[LZ_ITEMS];
  if (begin >= 0 && begin + LZ_STRETCH <= next) {
    const LZ_T* in = pieces.start[k] + (row * pieces.stride[k] + (c - pieces.first[k]));
#pragma unroll
    for (int u = 0; u < LZ_ITEMS; ++u) held[u] = in[u * LZ_THREADS];
#pragma unroll
    for (int u = 0; u < LZ_ITEMS; ++u) out[c + u * LZ_THREADS] = held[u];
    return;
  }
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u) {
    const long long at = c + u * LZ_THREADS;
    if (at < 0 || at >= width) continue;
    while (k + 1 < LZ_PIECES && at >= pieces.first[k + 1]) ++k;
    held[u] = pieces.start[k][row * pieces.stride[k] + (at - pieces.first[k])];
  }
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u) {
    const long long at = c + u * LZ_THREADS;
    if (at >= 0 && at < width) out[at] = held[u];
  }
}

// Shorter rows: a block takes a stretch of all units. (width, multiplier, shift) divide by a row's.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_join_short(LZ_T* out, const __grid_constant__ LzPieces pieces, long long count,
              long long out_stride, unsigned int width, unsigned int multiplier,
              unsigned int shift) {
  const LZ_U begin = (LZ_U)blockIdx.x * LZ_STRETCH;
  const LZ_U row0 = begin / width;
  const unsigned int left = (unsigned int)(begin - row0 * width) + threadIdx.x;
  const LZ_U last = (LZ_U)count - 1 - begin;
  if (threadIdx.x > last) return;
  // By sums of differences: a choice among parameters would become a load that diverges.
  long long place[LZ_PIECES], stride[LZ_PIECES];
#pragma unroll
  for (int j = LZ_PIECES - 1; j >= 0; --j) {
    place[j] = (const char*)(pieces.start[j] - pieces.first[j]) - (const char*)pieces.start[0];
    stride[j] = pieces.stride[j] * (long long)sizeof(LZ_T);
    if (j + 1 < LZ_PIECES) {
      place[j + 1] -= place[j];
      stride[j + 1] -= stride[j];
    }
  }
  LZ_T held[LZ_ITEMS];
  long long to[LZ_ITEMS];
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u) {  // beyond the end a thread reads its first unit again
    const LZ_U beyond = threadIdx.x + u * LZ_THREADS;
    const unsigned int n = beyond <= last ? left + u * LZ_THREADS : left;
    const unsigned int rows = (__umulhi(n, multiplier) + n) >> shift;
    const unsigned int c = n - rows * width;
    const long long row = (long long)(row0 + rows);
    long long in = place[0], step = stride[0];
#pragma unroll
    for (int j = 1; j < LZ_PIECES; ++j) {
      const bool there = c >= (unsigned int)pieces.first[j];
      in += there ? place[j] : 0;
      step += there ? stride[j] : 0;
    }
    in += row * step + c * (long long)sizeof(LZ_T);
    held[u] = *(const LZ_T*)((const char*)pieces.start[0] + in);
    to[u] = row * out_stride + c;
  }
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u)
    if (threadIdx.x + u * LZ_THREADS <= last) out[to[u]] = held[u];
}
