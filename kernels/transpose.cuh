// A copy whose fastest axis changes: out[b, r, c] = in[b, r, c], where `in` is fastest along r and
// `out` along c. Square tiles go through shared memory, so both sides are read in order; one more
// column keeps the banks apart. LZ_T is any type of the element's size, LZ_TILE the tile's edge,
// LZ_LINES how many lines of it the threads take at once, LZ_BATCH the number of further axes. Tiles
// are counted in 32 bits, for 64-bit divisions would cost more than the copy.

struct LzBatch {
  long long in[LZ_BATCH + 1];
  long long out[LZ_BATCH + 1];
  unsigned int size[(LZ_BATCH + 2) / 2 * 2];  // even: the host packs no padding
};

extern "C" __global__ void __launch_bounds__(LZ_TILE * LZ_LINES)
lz_transpose(LZ_T* out, const LZ_T* in, long long rows, long long columns, long long in_column,
             long long out_row, unsigned int row_tiles, unsigned int column_tiles, LzBatch batch) {
  __shared__ LZ_T tile[LZ_TILE][LZ_TILE + 1];
  unsigned int t = blockIdx.x;
  unsigned int rest = t / column_tiles;
  const long long column0 = (long long)(t - rest * column_tiles) * LZ_TILE;
  t = rest;
  rest = t / row_tiles;
  const long long row0 = (long long)(t - rest * row_tiles) * LZ_TILE;
#pragma unroll
  for (int d = LZ_BATCH - 1; d >= 0; --d) {
    t = rest;
    rest = t / batch.size[d];
    const long long k = t - rest * batch.size[d];
    in += k * batch.in[d];
    out += k * batch.out[d];
  }
  const int x = threadIdx.x, y0 = threadIdx.y;
  const LZ_T* from = in + row0 + x + (column0 + y0) * in_column;
  LZ_T* to = out + column0 + x + (row0 + y0) * out_row;
  const bool whole = row0 + LZ_TILE <= rows && column0 + LZ_TILE <= columns;
#pragma unroll
  for (int y = 0; y < LZ_TILE; y += LZ_LINES)
    if (whole || (row0 + x < rows && column0 + y0 + y < columns))
      tile[y0 + y][x] = from[y * in_column];
  __syncthreads();
#pragma unroll
  for (int y = 0; y < LZ_TILE; y += LZ_LINES)
    if (whole || (column0 + x < columns && row0 + y0 + y < rows))
      to[y * out_row] = tile[x][y0 + y];
}
