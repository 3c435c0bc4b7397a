// Binary search of `count` elements in a sorted array of `length`, one thread an element.
//
// Specialised by LZ_T, lz_less(a, b) (an order in which NaN comes last) and lz_equal(a, b).

#define LZ_THREADS 256

__device__ __forceinline__ long long lz_bound(const LZ_T* sorted, long long length, LZ_T x,
                                              bool right) {
  long long low = 0, high = length;
  while (low < high) {
    const long long middle = low + (high - low) / 2;
    const bool after = right ? !lz_less(x, sorted[middle]) : lz_less(sorted[middle], x);
    if (after) low = middle + 1;
    else high = middle;
  }
  return low;
}

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_searchsorted(long long* out, const LZ_T* sorted, const LZ_T* x, long long length,
                long long count, int right) {
  const long long i = (long long)blockIdx.x * LZ_THREADS + threadIdx.x;
  if (i < count) out[i] = lz_bound(sorted, length, x[i], right != 0);
}

extern "C" __global__ void __launch_bounds__(LZ_THREADS)
lz_isin(bool* out, const LZ_T* sorted, const LZ_T* x, long long length, long long count,
        int invert) {
  const long long i = (long long)blockIdx.x * LZ_THREADS + threadIdx.x;
  if (i >= count) return;
  const long long at = lz_bound(sorted, length, x[i], false);
  out[i] = (at < length && lz_equal(sorted[at], x[i])) != (invert != 0);
}
