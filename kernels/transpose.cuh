// A copy whose fastest axis changes: out[b, r, c] = in[b, r, c], where `in` is fastest along r and
// `out` along c. Tiles of 32 x 32 go through shared memory, so both sides are read in order; the
// 33rd column keeps the banks apart. LZ_T is any type of the element's size.

struct LzBatch {
  long long size[6];
  long long in[6];
  long long out[6];
};

extern "C" __global__ void __launch_bounds__(256)
lz_transpose(LZ_T* out, const LZ_T* in, long long rows, long long columns, long long in_column,
             long long out_row, long long row_tiles, long long column_tiles, LzBatch batch) {
  __shared__ LZ_T tile[32][33];
  long long t = blockIdx.x;
  const long long column0 = t % column_tiles * 32;
  t /= column_tiles;
  const long long row0 = t % row_tiles * 32;
  t /= row_tiles;
#pragma unroll
  for (int d = 5; d >= 0; --d) {
    const long long k = t % batch.size[d];
    t /= batch.size[d];
    in += k * batch.in[d];
    out += k * batch.out[d];
  }
  const int x = threadIdx.x;
#pragma unroll
  for (int y = threadIdx.y; y < 32; y += 8) {
    const long long r = row0 + x;
    const long long c = column0 + y;
    if (r < rows && c < columns) tile[y][x] = in[r + c * in_column];
  }
  __syncthreads();
#pragma unroll
  for (int y = threadIdx.y; y < 32; y += 8) {
    const long long r = row0 + y;
    const long long c = column0 + x;
    if (r < rows && c < columns) out[r * out_row + c] = tile[x][y];
  }
}
