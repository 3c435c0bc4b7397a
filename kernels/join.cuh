// Pieces side by side: each row of the result takes a run of neighbours from every piece in turn.
// LZ_T is any type of the unit's size, LZ_PIECES the number of pieces (empty ones at the end begin
// where the row ends), LZ_ITEMS how many units a thread takes, LZ_THREADS apart, LZ_U the unsigned
// type that counts all units of the result.

struct LzPieces {
  const LZ_T* start[LZ_PIECES];
  long long stride[LZ_PIECES];  // from row to row
  long long first[LZ_PIECES];   // where the piece begins in a row of the result
};

#define LZ_STRETCH (LZ_THREADS * LZ_ITEMS)

// Rows that are filled by whole stretches, nearly: a block takes a stretch of one row.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_join_long(LZ_T* out, const __grid_constant__ LzPieces pieces, long long width,
             long long out_stride, unsigned int stretches) {
  const unsigned int row = blockIdx.x / stretches;
  const long long begin = (long long)(blockIdx.x - row * stretches) * LZ_STRETCH;
  const long long end = begin + LZ_STRETCH < width ? begin + LZ_STRETCH : width;
  out += row * out_stride;
  int k = 0;
#pragma unroll
  for (int j = 1; j < LZ_PIECES; ++j) k += begin >= pieces.first[j];
  const long long next = k + 1 < LZ_PIECES ? pieces.first[k + 1] : width;
  long long c = begin + threadIdx.x;
  LZ_T held[LZ_ITEMS];
  if (begin + LZ_STRETCH <= next) {
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
    if (at >= end) continue;
    while (k + 1 < LZ_PIECES && at >= pieces.first[k + 1]) ++k;
    held[u] = pieces.start[k][row * pieces.stride[k] + (at - pieces.first[k])];
  }
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u)
    if (c + u * LZ_THREADS < end) out[c + u * LZ_THREADS] = held[u];
}

// Shorter rows: a block takes a stretch of all units. (width, multiplier, shift) divide by a row's.
extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_join_short(LZ_T* out, const __grid_constant__ LzPieces pieces, long long count,
              long long out_stride, unsigned int width, unsigned int multiplier,
              unsigned int shift) {
  const LZ_U begin = (LZ_U)blockIdx.x * LZ_STRETCH;
  const LZ_U row0 = begin / width;
  const unsigned int left = (unsigned int)(begin - row0 * width) + threadIdx.x;
  const LZ_U more = (LZ_U)count - begin;
  LZ_T held[LZ_ITEMS];
  long long to[LZ_ITEMS];
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u) {
    if (threadIdx.x + u * LZ_THREADS >= more) continue;
    const unsigned int n = left + u * LZ_THREADS;
    const unsigned int rows = (__umulhi(n, multiplier) + n) >> shift;
    const unsigned int c = n - rows * width;
    const long long row = (long long)(row0 + rows);
    const LZ_T* in = pieces.start[0];
    long long stride = pieces.stride[0];
    unsigned int first = 0;
#pragma unroll
    for (int j = 1; j < LZ_PIECES; ++j) {
      const bool there = c >= (unsigned int)pieces.first[j];
      in = there ? pieces.start[j] : in;
      stride = there ? pieces.stride[j] : stride;
      first = there ? (unsigned int)pieces.first[j] : first;
    }
    held[u] = in[row * stride + (long long)(c - first)];
    to[u] = row * out_stride + c;
  }
#pragma unroll
  for (int u = 0; u < LZ_ITEMS; ++u)
    if (threadIdx.x + u * LZ_THREADS < more) out[to[u]] = held[u];
}
