/* Writes system.conf. */
#include "config.h"

#include "calib/system.h"

#include "calib/derive.h"
#include "calib/grow.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where nothing was measured: typical of PyTorch training on such machines. */
#define DEFAULT_LAUNCH_US 45 /* eager PyTorch, Python included */
#define DEFAULT_SYNC_US 20
#define DEFAULT_FIXED_GiB 2.5
#define DEFAULT_HOP_US 2
#define DEFAULT_MESSAGE_US 15
#define DEFAULT_NIC_Gbps 100
#define DEFAULT_HOST_GBps 200
#define DEFAULT_LINK_FRAC 0.8
#define DEFAULT_NIC_FRAC 0.9
/* 16 lanes of generation 5; how much faster than what goes to the host is no PCIe any more. */
#define PCIE_MOST_GBps 64
#define LINK_OVER_PCIE 1.5

typedef struct {
    char *text;
    size_t n, room;
} Text;

__attribute__((format(printf, 2, 3))) static void
put(Text *t, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (const char *at = line; *at != '\0'; at++) {
        t->text = calib_grow(t->text, t->n + 1, &t->room, 1);
        t->text[t->n++] = *at;
        t->text[t->n] = '\0';
    }
}

/* "# why" and "key = value" with a unit. */
static void
quantity(Text *t, const char *why, const char *key, double value, const char *unit)
{
    char number[32];
    snprintf(number, sizeof number, "%.6g", value);
    if (strchr(number, 'e') != NULL)
        snprintf(number, sizeof number, "%.0f", value);
    put(t, "# %s\n%s = %s%s\n", why, key, number, unit);
}

/* Measured where it is above 0, else the default. */
static void
measured(Text *t, const char *what, const char *key, double value, double fallback,
         const char *unit)
{
    char why[256];
    snprintf(why, sizeof why, value > 0 ? "measured: %s" : "default, not measured: %s", what);
    quantity(t, why, key, value > 0 ? value : fallback, unit);
}

static void
share(Text *t, const char *what, const char *key, double achieved, double nominal, double fallback)
{
    char why[256];
    double frac = achieved > 0 && nominal > 0 ? achieved / nominal : 0;
    if (frac > 0)
        snprintf(why, sizeof why, "measured: %.5g GBps %s", achieved / 1e9, what);
    else
        snprintf(why, sizeof why, "default, not measured: %s", what);
    put(t, "# %s\n%s = %.4f\n", why, key, frac > 0 ? fmin(frac, 1) : fallback);
}

static void
put_gpu(Text *t, const CalibMachine *m, const CalibNominal *gpu, const CalibFigures *f)
{
    put(t, "\n[gpu]\nname = %s\n", *m->gpu_name != '\0' ? m->gpu_name : "GPU");
    put(t, "# peaks: dense operations of an SM in a clock (NVIDIA's white papers) x SMs x clock\n");
    for (int d = 0; d < CALIB_N_DTYPES; d++)
        put(t, "peak-%s = %.1fTFLOPS\n", calib_dtype_name((CalibDtype)d),
            gpu->peak_flops[d] / 1e12);
    put(t,
        "# driver: what CUDA sees, so a little less than is on the card\nmemory = %" PRId64
        "B\nmemory-usable = %" PRId64 "B\n",
        m->memory_bytes, m->memory_bytes);
    quantity(t, gpu->memory_known ? "driver: bus width x 2 x memory clock" : "data sheet",
             "memory-rate", gpu->memory_Bps / 1e9, "GBps");
    share(t, "by a long copy", "memory-efficiency", f->copy_Bps, gpu->memory_Bps, gpu->memory_frac);
    quantity(t, m->l2_bytes > 0 ? "driver" : "default, not known", "l2",
             m->l2_bytes > 0 ? (double)m->l2_bytes : 40e6, "B");
    put(t, "# driver\nsms = %d\n", m->sms > 0 ? m->sms : 1);
    quantity(t,
             gpu->clock_of_sheet ? "data sheet: the clock behind its peaks"
             : m->clock_khz > 0  ? "driver: highest clock"
                                 : "default, not known",
             "clock", gpu->clock_Hz / 1e6, "MHz");
    put(t, "# clocks: %s\n", *m->clocks != '\0' ? m->clocks : "not looked at");
    measured(t, "interval of empty kernels launched back to back", "kernel-floor", f->floor_us,
             gpu->floor_us, "us");
}

/* Containers often lack NVML, which tells of links: what went from GPU to GPU faster than PCIe carries went over them. */
static bool
is_link_seen(const CalibFigures *f)
{
    return f->node_Bps > fmax(PCIE_MOST_GBps * 1e9, LINK_OVER_PCIE * f->host_Bps);
}

/* Volta's 8 are DGX-1's cube, later ones' 4 are joined in pairs (HGX A100 4-GPU); larger nodes have switches. */
static bool
are_many(const CalibMachine *m)
{
    return m->gpus > (m->compute_capability < 80 ? 8 : 4);
}

/* Does each GPU reach each other over links, or over one GPU between? Bridges often join pairs only. */
static bool
is_mesh_whole(const CalibMachine *m)
{
    for (int i = 0; i < m->gpus; i++)
        for (int j = i + 1; j < m->gpus; j++) {
            bool reached = m->mesh[i][j] > 0;
            for (int k = 0; k < m->gpus && !reached; k++)
                reached = m->mesh[i][k] > 0 && m->mesh[k][j] > 0;
            if (!reached)
                return false;
        }
    return true;
}

static bool
is_mesh_known(const CalibMachine *m)
{
    bool known = false;
    for (int i = 0; i < CALIB_MESH_GPUS; i++)
        for (int j = 0; j < CALIB_MESH_GPUS; j++)
            known = known || m->mesh[i][j] > 0;
    return known && m->gpus <= CALIB_MESH_GPUS;
}

static void
put_mesh(Text *t, const CalibMachine *m)
{
    for (int i = 0; i < m->gpus; i++)
        for (int j = i + 1; j < m->gpus; j++)
            if (m->mesh[i][j] > 0)
                put(t, " %d-%d:%d", i, j, m->mesh[i][j]);
    put(t, "\n");
}

typedef enum { PCIE, SWITCHES, MESH, BRIDGES } Joint;

/* Switches join the GPUs, links do, links join some of them only, or only PCIe does. */
static Joint
joint_of(const CalibMachine *m, const CalibNominal *gpu, const CalibFigures *f)
{
    bool told = gpu->nvlink_Bps > 0;
    if (!told && !is_link_seen(f))
        return PCIE;
    if (m->nvswitch || m->gpus < 2 || (!told && are_many(m)))
        return SWITCHES;
    return is_mesh_known(m) && !is_mesh_whole(m) ? BRIDGES : MESH;
}

static void
put_link(Text *t, const CalibMachine *m, const CalibNominal *gpu, const CalibFigures *f)
{
    static const char *const names[] = {"pcie", "nvswitch", "mesh", "pcie"};
    Joint joint = joint_of(m, gpu, f);
    bool linked = joint == SWITCHES || joint == MESH;
    bool told = gpu->nvlink_Bps > 0;
    double link_Bps = !linked ? gpu->pcie_Bps / 0.85
                      : told  ? gpu->nvlink_Bps
                              : fmax(gpu->nvlink_sheet_Bps, f->node_Bps);
    if (joint == BRIDGES) {
        put(t, "# driver: links join some GPUs only, and what all do together goes over PCIe:");
        put_mesh(t, m);
    } else {
        put(t, "# %s\n",
            linked && !told ? "measured: faster than PCIe, and no driver told of links" : "driver");
    }
    put(t, "link = %s\n", names[joint]);
    if (joint == MESH && is_mesh_known(m)) {
        put(t, "# driver: links of each two GPUs\nmesh =");
        put_mesh(t, m);
    } else if (joint == MESH) {
        put(t, "# which GPUs the links join was not read: mesh stays empty, dtsim's usual one\n");
    }
    quantity(t,
             !linked                                ? "PCIe, by generation and width"
             : m->nvlinks > 0 && m->nvlink_GBps > 0 ? "driver: active links x rate of one"
                                                    : "data sheet of this generation",
             "nvlink-rate", link_Bps / 1e9, "GBps");
    share(t, "sent by each GPU in a large all-gather or copy to a peer", "nvlink-efficiency",
          f->node_Bps, link_Bps, DEFAULT_LINK_FRAC);
}

static void
put_node(Text *t, const CalibMachine *m, const CalibNominal *gpu, const CalibFigures *f)
{
    double pcie_Bps = f->host_Bps > 0 ? f->host_Bps : gpu->pcie_Bps;
    put(t, "\n[node]\n# driver\ngpus = %d\n", m->gpus > 0 ? m->gpus : 1);
    if (m->hosts > 1)
        put(t, "# hosts that NVLink joins, as the driver tells\nhosts = %d\n", m->hosts);
    put_link(t, m, gpu, f);
    measured(t, "what one more rank adds to a small all-gather", "nvlink-latency", f->hop_us,
             DEFAULT_HOP_US, "us");
    measured(t, "pinned memory, the slower of both directions", "pcie-rate",
             f->host_Bps > 0 ? pcie_Bps / 1e9 : 0, pcie_Bps / 1e9, "GBps");
    Joint joint = joint_of(m, gpu, f);
    if ((joint == PCIE || joint == BRIDGES) && m->sockets > 1 && m->gpus % m->sockets == 0)
        put(t, "# operating system\nsockets = %d\n", m->sockets);
}

static int
hosts_of(const CalibMachine *m)
{
    return m->hosts > 1 ? m->hosts : 1;
}

/* The simulator deals cards out to GPUs evenly. */
static int
cards_of(const CalibMachine *m)
{
    int gpus = m->gpus > 0 ? m->gpus : 1, nics = m->nics > 0 ? m->nics * hosts_of(m) : 1;
    while (nics > 1 && nics % gpus != 0 && gpus % nics != 0)
        nics--;
    return nics;
}

static void
put_network(Text *t, const CalibMachine *m, const CalibFigures *f)
{
    int nics = cards_of(m);
    bool known = m->nics > 0 && m->nic_Gbps > 0;
    double Gbps = known ? m->nic_Gbps : DEFAULT_NIC_Gbps;
    put(t, "\n[nic]\n# %s\ncount = %d\n",
        m->nics <= 0                    ? "default: no card was found"
        : nics != m->nics * hosts_of(m) ? "fewer than were found: as many as GPUs can share evenly"
                                        : "operating system: cards that are up",
        nics);
    quantity(t, known ? "operating system" : "default, not known", "rate", Gbps, "Gbps");
    share(t, "sent by all cards of a node in a large all-gather over nodes", "efficiency",
          f->network_Bps, nics * Gbps * 1e9 / 8, DEFAULT_NIC_FRAC);
    measured(t, "smallest send and receive between nodes", "latency", f->message_us,
             DEFAULT_MESSAGE_US, "us");
    put(t, "# %s\ngpudirect = %s\n", m->nics > 0 ? "driver" : "default: no card was found",
        m->nic_through_host ? "no" : "yes");
    put(t, "\n[fabric]\n# default, not measured: full bisection; %s\nkind = %s\n",
        nics == m->gpus ? "a card a GPU, as rails" : "cards of a node on one switch",
        nics == m->gpus && nics > 1 ? "rail" : "fat-tree");
    put(t, "oversubscription = 1\n");
}

/* "2.28.9" where it is a version that the simulator follows. */
static void
put_nccl(Text *t, const CalibMachine *m)
{
    int major = 0, minor = 0;
    put(t, "\n[nccl]\n");
    if (sscanf(m->nccl, "%d.%d", &major, &minor) == 2 && major == 2 && minor >= 4 && minor < 100)
        put(t, "# NCCL's own\nversion = %d.%d\n", major, minor);
    else
        put(t, "# default: NCCL was not there\nversion = 2.27\n");
}

static void
put_host(Text *t, const CalibMachine *m, const CalibFigures *f)
{
    double used = (double)(m->memory_bytes - m->memory_free_bytes) / 1048576;
    double gap = f->sync_us > f->floor_us ? f->sync_us - f->floor_us : 0;
    double fixed = fmin(DEFAULT_FIXED_GiB, (double)m->memory_bytes / 4 / 1073741824);
    put(t, "\n[host]\n");
    quantity(t, "default: eager PyTorch, Python included; depends on the framework, not measured",
             "launch", DEFAULT_LAUNCH_US, "us");
    measured(t, "launch and synchronise, less a launch interval", "sync", gap, DEFAULT_SYNC_US,
             "us");
    put(t,
        "# default: PyTorch with NCCL; the context and libraries alone take %.0f MiB here\n"
        "fixed-memory = %.4gGiB\n",
        used > 0 ? used : 0, fixed);
    if (m->host_memory_bytes > 0)
        put(t, "# operating system\nmemory = %" PRId64 "B\n", m->host_memory_bytes);
    quantity(t, "default, not measured", "memory-rate", DEFAULT_HOST_GBps, "GBps");
}

char *
calib_system_text(const CalibMachine *m, const CalibStore *rows)
{
    Text text = {0};
    CalibNominal gpu = calib_nominal(m);
    CalibFigures figures = calib_derive(m, rows);
    for (const char *line = calib_store_head(rows); *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (strncmp(line, "# times:", 8) == 0)
            break;
        put(&text, "%.*s\n", (int)(end - line), line);
        line = end + 1;
    }
    put(&text,
        "# each value says where it is from; edit what is marked 'default' where you know better\n");
    put_gpu(&text, m, &gpu, &figures);
    put_node(&text, m, &gpu, &figures);
    put_network(&text, m, &figures);
    put_nccl(&text, m);
    put_host(&text, m, &figures);
    return text.text;
}
