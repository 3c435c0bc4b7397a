// What generated kernels use beside the maths of lazyarr.cuh: vectors, division, lane exchange.

template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) LzVec {
  T v[N];
};

// n / d for 0 <= n < 2^31, with the multiplier and shift that the host computed for d.
__device__ __forceinline__ unsigned int lz_div(unsigned int n, unsigned int m, unsigned int s) {
  return (__umulhi(n, m) + n) >> s;
}

// The value that the lane `delta` above holds, for any type, word by word.
template <class T>
__device__ __forceinline__ T lz_shift_down(T x, int delta) {
  union Words {
    T value;
    int word[(sizeof(T) + 3) / 4];
    __device__ Words() {}
  } words;
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k) words.word[k] = 0;
  words.value = x;
#pragma unroll
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k)
    words.word[k] = __shfl_down_sync(0xffffffffu, words.word[k], delta);
  return words.value;
}

// Storage for a T that has constructors or not: shared memory must not be constructed.
template <class T>
struct LzRaw {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ __forceinline__ void put(const T& x) { *(T*)bytes = x; }
  __device__ __forceinline__ T get() const { return *(const T*)bytes; }
};
