// A program that uses one card as it is told, line by line on standard input. One line of JSON is
// the answer to each:
//   info               multiprocessors, MiB free and in all
//   alloc HOW MIB      HOW: malloc, async, managed, create; frees it again
//   keep MIB           allocates and keeps
//   matmul SECONDS     GFLOP/s of a product of 4096 x 4096 matrices
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstring>

constexpr int kSize = 4096;
constexpr int kTile = 16;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < kSize; at += kTile) {
    left[threadIdx.y][threadIdx.x] = a[row * kSize + at + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * kSize + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

int create(std::size_t bytes) {
  CUmemAllocationProp wish{};
  wish.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wish.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle{};
  const CUresult code = cuMemCreate(&handle, bytes, &wish, 0);
  if (code == CUDA_SUCCESS) cuMemRelease(handle);
  return code;
}

int alloc(const char* how, std::size_t bytes) {
  void* memory = nullptr;
  int code = -1;
  if (std::strcmp(how, "malloc") == 0) code = cudaMalloc(&memory, bytes);
  if (std::strcmp(how, "managed") == 0) code = cudaMallocManaged(&memory, bytes);
  if (std::strcmp(how, "create") == 0) return create(bytes);
  if (std::strcmp(how, "async") == 0) {
    code = cudaMallocAsync(&memory, bytes, nullptr);
    if (code == cudaSuccess) code = cudaFreeAsync(memory, nullptr);
    cudaDeviceSynchronize();
    memory = nullptr;
  }
  if (memory != nullptr) cudaFree(memory);
  cudaGetLastError();
  return code;
}

void matmul(double seconds) {
  float* matrices[3] = {};
  for (float*& matrix : matrices) {
    if (cudaMalloc(&matrix, sizeof(float) * kSize * kSize) != cudaSuccess) {
      std::puts("{\"code\": 2}");
      return;
    }
    cudaMemset(matrix, 0, sizeof(float) * kSize * kSize);
  }
  const dim3 block(kTile, kTile);
  const dim3 grid(kSize / kTile, kSize / kTile);
  multiply<<<grid, block>>>(matrices[0], matrices[1], matrices[2]);
  int code = cudaDeviceSynchronize();
  const auto start = std::chrono::steady_clock::now();
  double spent = 0;
  long products = 0;
  while (code == 0 && spent < seconds) {
    multiply<<<grid, block>>>(matrices[0], matrices[1], matrices[2]);
    code = cudaDeviceSynchronize();
    ++products;
    spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  for (float* matrix : matrices) cudaFree(matrix);
  std::printf("{\"code\": %d, \"gflops\": %.0f}\n", code,
              spent > 0 ? 2.0 * kSize * kSize * kSize * products / spent / 1e9 : 0.0);
}

int main() {
  const int code = cudaFree(nullptr);  // connects
  std::printf("{\"code\": %d}\n", code);
  std::fflush(stdout);
  char line[128];
  while (code == 0 && std::fgets(line, sizeof(line), stdin) != nullptr) {
    char how[16] = "";
    unsigned long mib = 0;
    double seconds = 0;
    if (std::strncmp(line, "info", 4) == 0) {
      int processors = 0;
      std::size_t free = 0;
      std::size_t total = 0;
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
      const int result = cudaMemGetInfo(&free, &total);
      std::printf("{\"code\": %d, \"processors\": %d, \"freeMiB\": %zu, \"totalMiB\": %zu}\n",
                  result, processors, free >> 20U, total >> 20U);
    } else if (std::sscanf(line, "alloc %15s %lu", how, &mib) == 2) {
      std::printf("{\"code\": %d}\n", alloc(how, std::size_t{mib} << 20U));
    } else if (std::sscanf(line, "keep %lu", &mib) == 1) {
      void* kept = nullptr;
      const int result = cudaMalloc(&kept, std::size_t{mib} << 20U);
      cudaGetLastError();
      std::printf("{\"code\": %d}\n", result);
    } else if (std::sscanf(line, "matmul %lf", &seconds) == 1) {
      matmul(seconds);
    } else {
      std::puts("{\"code\": -2}");
    }
    std::fflush(stdout);
  }
  return 0;
}
