// Kernels of rows, a block to a row, which most of them hold in registers. Each says what one ideal pass moves, in bytes
// an element; what is read once a row or column is left out.
#include "calib/kernels.cuh"

namespace {

constexpr int CHUNKS = CALIB_MOST_WIDTH / (8 * THREADS); // of 8 elements, of one row in one thread

// RMSNorm: 2 read, 2 written
__global__ void norm(const bf16 *x, bf16 *y, const bf16 *weight, float *inverse, int width)
{
    int64_t row = blockIdx.x;
    Eight e[CHUNKS];
    float sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            e[c] = load(x + row * width + column);
            for (int j = 0; j < 8; j++)
                sum += e[c].v[j] * e[c].v[j];
        }
    }
    float scale = rsqrtf(over_block<Add>(sum) / width + 1e-5f);
    if (threadIdx.x == 0)
        inverse[row] = scale;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            Eight w = load(weight + column);
            for (int j = 0; j < 8; j++)
                e[c].v[j] *= scale * w.v[j];
            store(y + row * width + column, e[c]);
        }
    }
}

// x and dy read, 4, dx written, 2; each block keeps its rows' part of the weight's gradient in registers
__global__ void norm_backward(const bf16 *x, const bf16 *dy, bf16 *dx, const bf16 *weight,
                              const float *inverse, float *parts, int64_t rows, int width)
{
    Eight part[CHUNKS] = {}, e[CHUNKS], g[CHUNKS];
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float scale = inverse[row], sum = 0;
        for (int c = 0; c < CHUNKS; c++) {
            int column = 8 * (c * THREADS + threadIdx.x);
            if (column >= width)
                continue;
            e[c] = load(x + row * width + column);
            g[c] = load(dy + row * width + column);
            Eight w = load(weight + column);
            for (int j = 0; j < 8; j++) {
                e[c].v[j] *= scale; // the normalised x
                part[c].v[j] += g[c].v[j] * e[c].v[j];
                g[c].v[j] *= w.v[j];
                sum += g[c].v[j] * e[c].v[j];
            }
        }
        float mean = over_block<Add>(sum) / width;
        for (int c = 0; c < CHUNKS; c++) {
            int column = 8 * (c * THREADS + threadIdx.x);
            if (column >= width)
                continue;
            for (int j = 0; j < 8; j++)
                g[c].v[j] = scale * (g[c].v[j] - e[c].v[j] * mean);
            store(dx + row * width + column, g[c]);
        }
    }
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width)
            store(parts + int64_t(blockIdx.x) * width + column, part[c]);
    }
}

// The parts of all blocks, added up: threads of (32 columns, 8 rows).
__global__ void add_parts(const float *parts, float *sums, int n, int width)
{
    __shared__ float seen[8][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int i = threadIdx.y; i < n && column < width; i += 8)
        sum += parts[int64_t(i) * width + column];
    seen[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= width)
        return;
    for (int i = 1; i < 8; i++)
        sum += seen[i][threadIdx.x];
    sums[column] = sum;
}

// 2 read, 2 written
__global__ void softmax(const bf16 *x, bf16 *y, int width)
{
    int64_t row = blockIdx.x;
    Eight e[CHUNKS];
    float most = Most::none, sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            e[c] = load(x + row * width + column);
            for (int j = 0; j < 8; j++)
                most = fmaxf(most, e[c].v[j]);
        }
    }
    most = over_block<Most>(most);
    for (int c = 0; c < CHUNKS; c++)
        if (8 * (c * THREADS + threadIdx.x) < width)
            for (int j = 0; j < 8; j++) {
                e[c].v[j] = __expf(e[c].v[j] - most);
                sum += e[c].v[j];
            }
    float scale = 1.0f / over_block<Add>(sum);
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            for (int j = 0; j < 8; j++)
                e[c].v[j] *= scale;
            store(y + row * width + column, e[c]);
        }
    }
}

// y and dy read, 4, dx written, 2
__global__ void softmax_backward(const bf16 *y, const bf16 *dy, bf16 *dx, int width)
{
    int64_t row = blockIdx.x;
    Eight p[CHUNKS], g[CHUNKS];
    float sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            p[c] = load(y + row * width + column);
            g[c] = load(dy + row * width + column);
            for (int j = 0; j < 8; j++)
                sum += p[c].v[j] * g[c].v[j];
        }
    }
    sum = over_block<Add>(sum);
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            for (int j = 0; j < 8; j++)
                g[c].v[j] = p[c].v[j] * (g[c].v[j] - sum);
            store(dx + row * width + column, g[c]);
        }
    }
}

// Rotates the halves of each head by angles of the row, the cosines and sines of which lie in `angles`: 2 read, 2
// written. A thread takes 8 elements of both halves.
__global__ void rope(const bf16 *x, bf16 *y, const float *angles, int width)
{
    constexpr int HALF = CALIB_ROPE_HEAD / 2;
    int64_t row = blockIdx.x;
    for (int i = 8 * threadIdx.x; i < width / 2; i += 8 * THREADS) {
        int at = i % HALF;
        int64_t low = row * width + i / HALF * CALIB_ROPE_HEAD + at;
        Eight a = load(x + low), b = load(x + low + HALF);
        Eight cosine = load(angles + row * CALIB_ROPE_HEAD + at);
        Eight sine = load(angles + row * CALIB_ROPE_HEAD + HALF + at);
        for (int j = 0; j < 8; j++) {
            float first = a.v[j] * cosine.v[j] - b.v[j] * sine.v[j];
            b.v[j] = b.v[j] * cosine.v[j] + a.v[j] * sine.v[j];
            a.v[j] = first;
        }
        store(y + low, a);
        store(y + low + HALF, b);
    }
}

// Rows from where `index` says: 2 read, 2 written
__global__ void gather(const bf16 *x, bf16 *y, const int *index, int width)
{
    int64_t row = blockIdx.x, source = index[row];
    for (int i = 8 * threadIdx.x; i < width; i += 8 * THREADS)
        *reinterpret_cast<uint4 *>(y + row * width + i) =
            *reinterpret_cast<const uint4 *>(x + source * width + i);
}

// Gradients added into an fp32 table with atomics: 2 read, 4 added
__global__ void scatter_add(const bf16 *gradient, float *table, const int *index, int width)
{
    int64_t row = blockIdx.x, target = index[row];
    for (int i = 8 * threadIdx.x; i < width; i += 8 * THREADS) {
        Eight g = load(gradient + row * width + i);
        for (int j = 0; j < 8; j++)
            atomicAdd(table + target * width + i + j, g.v[j]);
    }
}

// Sums of the columns, as a bias' gradient: 2 read. Threads of (32 x 8 columns, 8 rows); 64 rows a block.
__global__ void reduce(const bf16 *x, float *sums, int64_t rows, int width)
{
    __shared__ Eight seen[8][32];
    int column = 8 * (blockIdx.x * 32 + threadIdx.x);
    int64_t row = int64_t(blockIdx.y) * 64 + threadIdx.y, end = int64_t(blockIdx.y) * 64 + 64;
    Eight sum = {};
    for (; row < rows && row < end && column < width; row += 8) {
        Eight e = load(x + row * width + column);
        for (int j = 0; j < 8; j++)
            sum.v[j] += e.v[j];
    }
    seen[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= width)
        return;
    for (int i = 1; i < 8; i++)
        for (int j = 0; j < 8; j++)
            sum.v[j] += seen[i][threadIdx.x].v[j];
    for (int j = 0; j < 8; j++)
        atomicAdd(sums + column + j, sum.v[j]);
}

void launch_norms(CalibKernel kernel, const Task &t)
{
    unsigned rows = unsigned(t.rows), parts = rows < CALIB_NORM_PARTS ? rows : CALIB_NORM_PARTS;
    if (kernel == CALIB_NORM) {
        norm<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.array<bf16>(2),
                                             t.array<float>(3), t.width);
        return;
    }
    norm_backward<<<parts, THREADS, 0, t.stream>>>(
        t.array<bf16>(0), t.array<bf16>(1), t.array<bf16>(2), t.array<bf16>(3), t.array<float>(4),
        t.array<float>(5), t.rows, t.width);
    add_parts<<<unsigned(t.width + 31) / 32, dim3(32, 8), 0, t.stream>>>(
        t.array<float>(5), t.array<float>(6), int(parts), t.width);
}

} // namespace

bool
calib_kernels_rows(CalibKernel kernel, const Task &t)
{
    unsigned rows = unsigned(t.rows);
    switch (kernel) {
    case CALIB_NORM:
    case CALIB_NORM_BACKWARD:
        launch_norms(kernel, t);
        return true;
    case CALIB_SOFTMAX:
        softmax<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.width);
        return true;
    case CALIB_SOFTMAX_BACKWARD:
        softmax_backward<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1),
                                                         t.array<bf16>(2), t.width);
        return true;
    case CALIB_ROPE:
        rope<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.array<float>(2),
                                             t.width);
        return true;
    case CALIB_EMBEDDING:
    case CALIB_PERMUTE:
        gather<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.array<int>(2),
                                               t.width);
        return true;
    case CALIB_EMBEDDING_BACKWARD:
        scatter_add<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<float>(1),
                                                    t.array<int>(2), t.width);
        return true;
    case CALIB_REDUCE:
        reduce<<<dim3(unsigned(t.width + 255) / 256, unsigned(t.rows + 63) / 64), dim3(32, 8), 0,
                 t.stream>>>(t.array<bf16>(0), t.array<float>(1), t.rows, t.width);
        return true;
    default:
        return false;
    }
}
