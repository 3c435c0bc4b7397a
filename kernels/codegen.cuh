// What generated kernels use beside the maths of lazyarr.cuh: vectors, division, lane exchange.

template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) LzVec {
  T v[N];
};

// n / d for 0 <= n < 2^31, with the multiplier and shift that the host computed for d.
__device__ __forceinline__ unsigned int lz_div(unsigned int n, unsigned int m, unsigned int s) {
  return (__umulhi(n, m) + n) >> s;
}

// A value of any type as the words that lanes exchange.
template <class T>
union LzWords {
  T value;
  int word[(sizeof(T) + 3) / 4];
  __device__ __forceinline__ LzWords(const T& x) {
    word[0] = 0;
    value = x;
  }
};

// The value that the lane `delta` above (or below) holds, word by word.
template <class T>
__device__ __forceinline__ T lz_shift_down(const T& x, int delta) {
  LzWords<T> words(x);
#pragma unroll
  for (int k = 0; k < (int)(sizeof(words) / 4); ++k)
    words.word[k] = __shfl_down_sync(0xffffffffu, words.word[k], delta);
  return words.value;
}

template <class T>
__device__ __forceinline__ T lz_shift_up(const T& x, int delta) {
  LzWords<T> words(x);
#pragma unroll
  for (int k = 0; k < (int)(sizeof(words) / 4); ++k)
    words.word[k] = __shfl_up_sync(0xffffffffu, words.word[k], delta);
  return words.value;
}

// The value that one lane of the warp holds.
template <class T>
__device__ __forceinline__ T lz_from_lane(const T& x, int lane) {
  LzWords<T> words(x);
#pragma unroll
  for (int k = 0; k < (int)(sizeof(words) / 4); ++k)
    words.word[k] = __shfl_sync(0xffffffffu, words.word[k], lane);
  return words.value;
}

// Storage for a T that has constructors or not: shared memory must not be constructed.
template <class T>
struct LzRaw {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ __forceinline__ void put(const T& x) { *(T*)bytes = x; }
  __device__ __forceinline__ T get() const { return *(const T*)bytes; }
};

// Room for one accumulator of any type.
struct alignas(16) LzBox {
  unsigned char bytes[16];
};

// An index of any integer type. One that is too large for 64 bits with a sign is out of range, and
// stays so.
template <typename T>
__device__ __forceinline__ long long lz_place(T i) {
  return (long long)i;
}
__device__ __forceinline__ long long lz_place(unsigned long long i) {
  return i >> 63 ? 0x7fffffffffffffffll : (long long)i;
}

// An index counted from the front, or -1 if it is out of range.
__device__ __forceinline__ long long lz_wrapped(long long i, long long size) {
  if (i < 0) i += size;
  return i >= 0 && i < size ? i : -1;
}

// An index that the host has checked already.
__device__ __forceinline__ long long lz_index(long long i, long long size) {
  return i < 0 ? i + size : i;
}

// The first index that is out of range goes to the error slot {site, index, axis, size}; read as 0.
// ``site`` is the number of the user's line, not 0.
__device__ __forceinline__ long long lz_checked(long long i, long long size, int axis,
                                                long long site, unsigned long long* error) {
  const long long at = lz_wrapped(i, size);
  if (at >= 0) return at;
  if (atomicCAS(error, 0ull, (unsigned long long)site) == 0ull) {
    error[1] = (unsigned long long)i;
    error[2] = (unsigned long long)axis;
    error[3] = (unsigned long long)size;
  }
  return 0;
}
