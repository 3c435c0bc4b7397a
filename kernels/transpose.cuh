// A copy whose fastest axis changes: out[b, r, c] = in[b, r, c], where `in` is fastest along r and
// `out` along c. Tiles of 32 x 32 go through shared memory, so both sides are read in order; the
// 33rd column keeps the banks apart. LZ_T is any type of the element's size, LZ_BATCH the number of
// further axes. Tiles are counted in 32 bits, for 64-bit divisions would cost more than the copy.

struct LzBatch {
  long long in[LZ_BATCH + 1];
  long long out[LZ_BATCH + 1];
  unsigned int size[(LZ_BATCH + 2) / 2 * 2];  // even: the host packs no padding
};

extern "C" __global__ void __launch_bounds__(256)
lz_transpose(LZ_T* out, const LZ_T* in, long long rows, long long columns, long long in_column,
             long long out_row, unsigned int row_tiles, unsigned int column_tiles, LzBatch batch) {
  __shared__ LZ_T tile[32][33];
  unsigned int t = blockIdx.x;
  unsigned int rest = t / column_tiles;
  const long long column0 = (long long)(t - rest * column_tiles) * 32;
  t = rest;
  rest = t / row_tiles;
  const long long row0 = (long long)(t - rest * row_tiles) * 32;
#pragma unroll
  for (int d = LZ_BATCH - 1; d >= 0; --d) {
    t = rest;
    rest = t / batch.size[d];
    const long long k = t - rest * batch.size[d];
    in += k * batch.in[d];
    out += k * batch.out[d];
  }
  const int x = threadIdx.x;
  const long long r_in = row0 + x;
  const LZ_T* from = in + r_in + (column0 + threadIdx.y) * in_column;
  if (r_in < rows) {
#pragma unroll
    for (int y = 0; y < 32; y += 8)
      if (column0 + threadIdx.y + y < columns) tile[threadIdx.y + y][x] = from[y * in_column];
  }
  __syncthreads();
  const long long c_out = column0 + x;
  LZ_T* to = out + c_out + (row0 + threadIdx.y) * out_row;
  if (c_out < columns) {
#pragma unroll
    for (int y = 0; y < 32; y += 8)
      if (row0 + threadIdx.y + y < rows) to[y * out_row] = tile[x][threadIdx.y + y];
  }
}
