/* The list of versions, and what is the same in all of them. */
#include "config.h"

#include "net/nccl.h"

#include <math.h>

static const NetNccl *const versions[] = {&net_nccl_2_10, &net_nccl_2_18, &net_nccl_2_21,
                                          &net_nccl_2_23, &net_nccl_2_27, &net_nccl_2_28,
                                          &net_nccl_2_30};

#define DEFAULT_VERSION 22700
#define N_SIZES 23 /* 64 B, 128 B ... */

/* treeCorrectionFactor of tuning.cc */
static const double tree_fracs[NET_N_PROTOCOLS][N_SIZES] = {
    [NET_LL] = {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
                0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0},
    [NET_LL128] = {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
                   0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0},
    [NET_SIMPLE] = {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
                    0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9},
};

guint
net_nccl_version(guint version)
{
    return version != 0 ? version : DEFAULT_VERSION;
}

const NetNccl *
net_nccl_of(guint version)
{
    const NetNccl *found = versions[0];
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++)
        if (versions[i]->since <= net_nccl_version(version))
            found = versions[i];
    return found;
}

double
net_nccl_tree_frac(NetProtocol protocol, double bytes)
{
    if (bytes < 64.0)
        return 1.0;
    int exponent;
    frexp(bytes / 64.0, &exponent);
    return exponent - 1 < N_SIZES ? tree_fracs[protocol][exponent - 1] : 1.0;
}

const double *
net_nccl_speeds(NetGeneration generation, gboolean across_nodes)
{
    static const double ampere[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 0};
    static const double ampere_net[] = {48, 30, 28, 24, 20, 18,  15,  12,  10,  9,
                                        7,  6,  5,  4,  3,  2.4, 1.2, .24, .12, 0};
    static const double hopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3, 0};
    static const double hopper_net[] = {48, 45, 42, 40, 30,  24,  22,  20,  17.5,
                                        15, 12, 6,  3,  2.4, 1.2, .24, .12, 0};
    static const double blackwell[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18, 0};
    static const double blackwell_net[] = {96,   86, 80, 47.9, 45, 42,  40,  30,  24,  22, 20,
                                           17.5, 15, 12, 6,    3,  2.4, 1.2, .24, .12, 0};
    if (generation == NET_HOPPER)
        return across_nodes ? hopper_net : hopper;
    if (generation == NET_BLACKWELL)
        return across_nodes ? blackwell_net : blackwell;
    return across_nodes ? ampere_net : ampere;
}
