// A copy whose fastest axis changes: out[b, r, c] = in[b, r, c], where `in` is fastest along r and
// `out` along c. Tiles go through shared memory, so both sides are read in order; one more column
// keeps the banks apart. LZ_T is any type of the element's size, LZ_ROWS and LZ_COLUMNS are the
// tile's edges, LZ_THREADS a multiple of both, LZ_BATCH the number of further axes. Tiles are counted
// in 32 bits, for 64-bit divisions would cost more than the copy.

struct LzBatch {
  long long in[LZ_BATCH + 1];
  long long out[LZ_BATCH + 1];
  unsigned int size[(LZ_BATCH + 2) / 2 * 2];  // even: the host packs no padding
};

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_transpose(LZ_T* out, const LZ_T* in, long long rows, long long columns, long long in_column,
             long long out_row, unsigned int row_tiles, unsigned int column_tiles, LzBatch batch) {
  __shared__ LZ_T tile[LZ_COLUMNS][LZ_ROWS + 1];
  unsigned int t = blockIdx.x;
  unsigned int rest = t / column_tiles;
  const long long column0 = (long long)(t - rest * column_tiles) * LZ_COLUMNS;
  t = rest;
  rest = t / row_tiles;
  const long long row0 = (long long)(t - rest * row_tiles) * LZ_ROWS;
#pragma unroll
  for (int d = LZ_BATCH - 1; d >= 0; --d) {
    t = rest;
    rest = t / batch.size[d];
    const long long k = t - rest * batch.size[d];
    in += k * batch.in[d];
    out += k * batch.out[d];
  }
  const bool whole = row0 + LZ_ROWS <= rows && column0 + LZ_COLUMNS <= columns;
  const int from_x = threadIdx.x % LZ_ROWS, from_y = threadIdx.x / LZ_ROWS;
  const LZ_T* from = in + row0 + from_x + (column0 + from_y) * in_column;
#pragma unroll
  for (int y = 0; y < LZ_COLUMNS; y += LZ_THREADS / LZ_ROWS)
    if (whole || (row0 + from_x < rows && column0 + from_y + y < columns))
      tile[from_y + y][from_x] = from[y * in_column];
  __syncthreads();
  const int to_x = threadIdx.x % LZ_COLUMNS, to_y = threadIdx.x / LZ_COLUMNS;
  LZ_T* to = out + column0 + to_x + (row0 + to_y) * out_row;
#pragma unroll
  for (int y = 0; y < LZ_ROWS; y += LZ_THREADS / LZ_COLUMNS)
    if (whole || (column0 + to_x < columns && row0 + to_y + y < rows))
      to[y * out_row] = tile[to_x][to_y + y];
}
