/* Reads the XML of NCCL's topologies: what NCCL_TOPO_DUMP_FILE writes, what NCCL_TOPO_FILE is given, RCCL's dumps.
 *
 *   system > cpu > pci (a switch) > pci (a device) > gpu > nvlink | xgmi
 *                                                  > nic > net
 * PCI classes: 02.... network, 03.... GPU, 0604.. switch, 068000 NVSwitch. Files for NCCL_TOPO_FILE have no gpu and net:
 * there the classes say what a device is. */
#include "config.h"

#include "cluster/topo_node.h"

#include "cluster/error.h"

#include <string.h>

#define MOST_PCI 4096
#define MOST_LINKS 64 /* that one element may name */

typedef enum { SYSTEM, CPU, PCI, GPU, NVLINK, XGMI, NIC, NET, OTHER } Element;
static const char *const elements[] = {
    [SYSTEM] = "system", [CPU] = "cpu",   [PCI] = "pci", [GPU] = "gpu",
    [NVLINK] = "nvlink", [XGMI] = "xgmi", [NIC] = "nic", [NET] = "net",
};

typedef struct {
    int parent, numa; /* -1: none */
    guint class, vendor, device, lanes;
    double GTps;
    gboolean leaf;
    char busid[24];
} Pci;

/* A GPU or a card, where it is plugged in. */
typedef struct {
    ClusterTopoDevice device;
    int pci, numa;
} Place;

typedef struct {
    guint gpu, count, class, line;
    char target[24];
} Link;

typedef struct {
    const char *name;
    GMarkupParseContext *context;
    GArray *stack; /* of Element */
    GArray *pci, *gpus, *cards, *links;
    int at, numa; /* the pci and cpu that are open */
    guint n_numa;
    gboolean xgmi;
    char *cpu;
} Reader;

static gboolean G_GNUC_PRINTF(4, 5)
    complain(const Reader *r, guint line, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "%s:%u: %s", r->name, line, what);
    return FALSE;
}

static guint
line_of(const Reader *r)
{
    int line;
    g_markup_parse_context_get_position(r->context, &line, NULL);
    return (guint)line;
}

static const char *
find(const char **names, const char **values, const char *name)
{
    for (guint i = 0; names[i] != NULL; i++)
        if (g_str_equal(names[i], name))
            return values[i];
    return "";
}

/* A whole number, 0 where it is empty. */
static gboolean
read_number(const Reader *r, const char **names, const char **values, const char *name, guint base,
            guint most, guint *ret, GError **error)
{
    const char *text = find(names, values, name);
    char *end;
    gint64 value = g_ascii_strtoll(text, &end, (int)base);
    if (*end != '\0' || (end == text && *text != '\0') || value > most)
        return complain(r, line_of(r), error, "%s: '%s' is no number up to %u; write one", name,
                        text, most);
    *ret = (guint)MAX(value, 0);
    return TRUE;
}

/* "16 GT/s", "8.0 GT/s PCIe", "Unknown speed", "": of a lane. */
static gboolean
read_speed(const Reader *r, const char *text, double *ret, GError **error)
{
    *ret = 0;
    if (*text == '\0' || g_str_has_prefix(text, "Unknown"))
        return TRUE;
    char *end;
    double speed = g_ascii_strtod(text, &end);
    while (*end == ' ')
        end++;
    if (!g_str_has_prefix(end, "GT/s") || !(speed > 0 && speed <= 1024))
        return complain(r, line_of(r), error,
                        "link_speed: '%s' is no speed of a lane; write for example 16 GT/s", text);
    *ret = speed;
    return TRUE;
}

static gboolean
open_cpu(Reader *r, const char **names, const char **values)
{
    if (*r->cpu == '\0') {
        g_free(r->cpu);
        r->cpu = g_strstrip(
            g_strdup_printf("%s %s", find(names, values, "arch"), find(names, values, "vendor")));
    }
    r->numa = (int)r->n_numa++;
    r->at = -1;
    return TRUE;
}

static gboolean
open_pci(Reader *r, const char **names, const char **values, GError **error)
{
    Pci pci = {.parent = r->at, .numa = r->numa, .leaf = TRUE};
    if (r->pci->len == MOST_PCI)
        return complain(r, line_of(r), error, "has more than %d PCI devices; write one node's",
                        MOST_PCI);
    if (!read_number(r, names, values, "class", 16, 0xffffff, &pci.class, error) ||
        !read_number(r, names, values, "vendor", 16, 0xffff, &pci.vendor, error) ||
        !read_number(r, names, values, "device", 16, 0xffff, &pci.device, error) ||
        !read_number(r, names, values, "link_width", 10, 64, &pci.lanes, error) ||
        !read_speed(r, find(names, values, "link_speed"), &pci.GTps, error))
        return FALSE;
    g_strlcpy(pci.busid, find(names, values, "busid"), sizeof pci.busid);
    if (r->at >= 0)
        g_array_index(r->pci, Pci, r->at).leaf = FALSE;
    r->at = (int)r->pci->len;
    g_array_append_val(r->pci, pci);
    return TRUE;
}

static void
add_place(Reader *r, GArray *places, ClusterTopoDevice device, int at)
{
    Place place = {.device = device, .pci = at, .numa = r->numa};
    if (at >= 0) {
        const Pci *pci = &g_array_index(r->pci, Pci, at);
        place.numa = pci->numa;
        place.device.vendor = pci->vendor;
        place.device.device = pci->device;
        place.device.pcie_GTps = pci->GTps;
        place.device.pcie_lanes = pci->lanes;
    }
    place.device.numa = place.numa;
    g_array_append_val(places, place);
}

/* RCCL writes the number of compute units where NCCL has the compute capability. */
static gboolean
open_gpu(Reader *r, const char **names, const char **values, GError **error)
{
    ClusterTopoDevice gpu = {.gdr = !g_str_equal(find(names, values, "gdr"), "0")};
    if (r->at < 0)
        return complain(r, line_of(r), error, "<gpu> stands in no <pci>; write it there");
    if (!read_number(r, names, values, "sm", 10, 9999, &gpu.sm, error) ||
        !read_number(r, names, values, "gcn", 16, 0xffff, &gpu.gfx, error))
        return FALSE;
    if (gpu.gfx != 0)
        gpu.sm = 0;
    gpu.name = g_strdup_printf("GPU%u", r->gpus->len);
    add_place(r, r->gpus, gpu, r->at);
    return TRUE;
}

static gboolean
open_link(Reader *r, const char **names, const char **values, GError **error)
{
    Link link = {.gpu = r->gpus->len - 1, .line = line_of(r)};
    if (!read_number(r, names, values, "count", 10, MOST_LINKS, &link.count, error) ||
        !read_number(r, names, values, "tclass", 16, 0xffffff, &link.class, error))
        return FALSE;
    g_strlcpy(link.target, find(names, values, "target"), sizeof link.target);
    g_array_append_val(r->links, link);
    return TRUE;
}

static gboolean
open_net(Reader *r, const char **names, const char **values, GError **error)
{
    guint speed;
    if (!read_number(r, names, values, "speed", 10, 100000000, &speed, error))
        return FALSE;
    const char *name = find(names, values, "name");
    ClusterTopoDevice card = {.name = *name != '\0' ? g_strdup(name)
                                                    : g_strdup_printf("NIC%u", r->cards->len),
                              .rate_Mbit = speed,
                              .gdr = !g_str_equal(find(names, values, "gdr"), "0")};
    add_place(r, r->cards, card, r->at);
    return TRUE;
}

/* What an element is where it stands; OTHER: nothing that is read. */
static Element
element_of(const Reader *r, const char *name)
{
    static const guint parents[] = {
        [SYSTEM] = 0,        [CPU] = 1 << SYSTEM, [PCI] = 1 << CPU | 1 << PCI, [GPU] = 1 << PCI,
        [NVLINK] = 1 << GPU, [XGMI] = 1 << GPU,   [NIC] = 1 << PCI | 1 << CPU, [NET] = 1 << NIC};
    for (guint e = SYSTEM; r->stack->len > 0 && e < OTHER; e++)
        if (g_str_equal(elements[e], name))
            return parents[e] >> g_array_index(r->stack, Element, r->stack->len - 1) & 1 ? e
                                                                                         : OTHER;
    return r->stack->len == 0 && g_str_equal(name, "system") ? SYSTEM : OTHER;
}

static void
start(GMarkupParseContext *context G_GNUC_UNUSED, const char *name, const char **names,
      const char **values, gpointer user, GError **error)
{
    Reader *r = user;
    Element element = element_of(r, name);
    if (r->stack->len == 0 && element != SYSTEM) {
        complain(r, line_of(r), error,
                 "begins with <%s>; write the <system> of NCCL_TOPO_DUMP_FILE", name);
        return;
    }
    gboolean ok = TRUE;
    if (element == CPU)
        ok = open_cpu(r, names, values);
    else if (element == PCI)
        ok = open_pci(r, names, values, error);
    else if (element == GPU)
        ok = open_gpu(r, names, values, error);
    else if (element == NVLINK || element == XGMI)
        ok = open_link(r, names, values, error);
    else if (element == NET)
        ok = open_net(r, names, values, error);
    r->xgmi = r->xgmi || element == XGMI;
    if (ok && r->gpus->len + r->cards->len > CLUSTER_TOPO_MAX_DEVICES)
        complain(r, line_of(r), error, "has more than %d GPUs and cards; write one node's",
                 CLUSTER_TOPO_MAX_DEVICES);
    g_array_append_val(r->stack, element);
}

static void
end(GMarkupParseContext *context G_GNUC_UNUSED, const char *name G_GNUC_UNUSED, gpointer user,
    GError **error G_GNUC_UNUSED)
{
    Reader *r = user;
    Element element = g_array_index(r->stack, Element, r->stack->len - 1);
    g_array_set_size(r->stack, r->stack->len - 1);
    if (element == PCI)
        r->at = g_array_index(r->pci, Pci, r->at).parent;
    else if (element == CPU)
        r->numa = -1;
}

/* Devices that have no element of their own, by their class: in files that are written by hand. */
static void
add_by_class(Reader *r)
{
    gboolean gpus = r->gpus->len == 0, cards = r->cards->len == 0;
    for (guint i = 0; i < r->pci->len; i++) {
        const Pci *pci = &g_array_index(r->pci, Pci, i);
        gboolean of_gpus = pci->vendor == 0x10de || pci->vendor == 0x1002;
        if (!pci->leaf || r->gpus->len + r->cards->len >= CLUSTER_TOPO_MAX_DEVICES)
            continue;
        if (gpus && (pci->class >> 8 == 0x0302 || (pci->class >> 16 == 0x03 && of_gpus))) {
            ClusterTopoDevice gpu = {.name = g_strdup_printf("GPU%u", r->gpus->len), .gdr = TRUE};
            add_place(r, r->gpus, gpu, (int)i);
        } else if (cards && pci->class >> 16 == 0x02) {
            ClusterTopoDevice card = {.name = g_strdup_printf("NIC%u", r->cards->len), .gdr = TRUE};
            add_place(r, r->cards, card, (int)i);
        }
    }
}

static ClusterNear
near_of(const Reader *r, const Place *a, const Place *b)
{
    if (a->numa != b->numa || a->numa < 0)
        return CLUSTER_NEAR_SYS;
    if (a->pci < 0 || b->pci < 0)
        return CLUSTER_NEAR_PHB;
    int above_a = g_array_index(r->pci, Pci, a->pci).parent;
    int above_b = g_array_index(r->pci, Pci, b->pci).parent;
    if (a->pci == b->pci || (above_a >= 0 && above_a == above_b))
        return CLUSTER_NEAR_PIX;
    for (int i = above_a; i >= 0; i = g_array_index(r->pci, Pci, i).parent)
        for (int j = above_b; j >= 0; j = g_array_index(r->pci, Pci, j).parent)
            if (i == j)
                return CLUSTER_NEAR_PXB;
    return CLUSTER_NEAR_PHB;
}

static gboolean
join(const Reader *r, ClusterTopoNode *node, GError **error)
{
    guint n = node->n_gpus;
    for (guint i = 0; i < r->links->len; i++) {
        const Link *link = &g_array_index(r->links, Link, i);
        guint to = 0;
        while (to < n &&
               g_ascii_strcasecmp(
                   g_array_index(r->pci, Pci, g_array_index(r->gpus, Place, to).pci).busid,
                   link->target) != 0)
            to++;
        guint8 *links = to < n ? &node->links[link->gpu * n + to] : NULL;
        guint *to_switch = &g_array_index(node->devices, ClusterTopoDevice, link->gpu).switch_links;
        if (to == link->gpu || (links != NULL && *links > 0) || *to_switch + link->count > 255)
            return complain(r, link->line, error,
                            "GPU%u has a link to '%s' already; write the links of a pair as one",
                            link->gpu, link->target);
        if (links != NULL)
            *links = (guint8)link->count;
        else if (link->class == 0x068000)
            *to_switch += link->count;
        else
            node->foreign_links += link->count;
    }
    for (guint i = 0; i < r->links->len; i++) {
        const Link *link = &g_array_index(r->links, Link, i);
        for (guint j = 0; j < n; j++)
            if (node->links[link->gpu * n + j] != node->links[j * n + link->gpu])
                return complain(r, link->line, error,
                                "GPU%u and GPU%u have %u links one way and %u the other; write the "
                                "same count in both",
                                link->gpu, j, node->links[link->gpu * n + j],
                                node->links[j * n + link->gpu]);
    }
    return TRUE;
}

static ClusterTopoNode *
build(Reader *r, GError **error)
{
    gboolean tagged = r->gpus->len > 0;
    add_by_class(r);
    if (r->gpus->len == 0) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "%s: names no GPU; write <gpu> in the <pci> of each, or its class 0x030200",
                    r->name);
        return NULL;
    }
    GArray *devices = g_array_new(FALSE, TRUE, sizeof(ClusterTopoDevice));
    g_array_set_clear_func(devices, (GDestroyNotify)cluster_topo_device_clear);
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
    g_array_append_vals(places, r->gpus->data, r->gpus->len);
    g_array_append_vals(places, r->cards->data, r->cards->len);
    for (guint i = 0; i < places->len; i++) {
        ClusterTopoDevice device = g_array_index(places, Place, i).device;
        device.name = g_strdup(device.name);
        g_array_append_val(devices, device);
    }
    g_autoptr(ClusterTopoNode) node = cluster_topo_node_new("NCCL topology", devices, r->gpus->len);
    for (guint i = 0; i < places->len; i++)
        for (guint j = 0; j < places->len; j++)
            if (i != j)
                node->near[i * places->len + j] = (guint8)near_of(
                    r, &g_array_index(places, Place, i), &g_array_index(places, Place, j));
    g_free(node->cpu);
    node->cpu = g_steal_pointer(&r->cpu);
    node->n_numa = r->n_numa;
    node->links_said = tagged;
    node->xgmi = r->xgmi;
    return join(r, node, error) ? g_steal_pointer(&node) : NULL;
}

/* GMarkup says "Error on line 3 char 7: ...". */
static void
put_place(const Reader *r, GError *cause, GError **error)
{
    if (cause->domain == CLUSTER_ERROR) {
        g_propagate_error(error, cause);
        return;
    }
    const char *colon = strstr(cause->message, ": ");
    g_autofree char *what = g_strdup(
        g_str_has_prefix(cause->message, "Error on line") && colon ? colon + 2 : cause->message);
    g_strdelimit(what, "\r\n\t", ' ');
    complain(r, line_of(r), error, "is no XML: %s; write what NCCL_TOPO_DUMP_FILE does", what);
    g_error_free(cause);
}

static void
clear_place(Place *place)
{
    cluster_topo_device_clear(&place->device);
}

ClusterTopoNode *
cluster_topo_xml_parse(const char *name, const char *text, GError **error)
{
    static const GMarkupParser parser = {.start_element = start, .end_element = end};
    g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(Element));
    g_autoptr(GArray) pci = g_array_new(FALSE, TRUE, sizeof(Pci));
    g_autoptr(GArray) gpus = g_array_new(FALSE, TRUE, sizeof(Place));
    g_autoptr(GArray) cards = g_array_new(FALSE, TRUE, sizeof(Place));
    g_autoptr(GArray) links = g_array_new(FALSE, TRUE, sizeof(Link));
    g_array_set_clear_func(gpus, (GDestroyNotify)clear_place);
    g_array_set_clear_func(cards, (GDestroyNotify)clear_place);
    Reader r = {.name = name,
                .stack = stack,
                .pci = pci,
                .gpus = gpus,
                .cards = cards,
                .links = links,
                .at = -1,
                .numa = -1,
                .cpu = g_strdup("")};
    r.context = g_markup_parse_context_new(&parser, 0, &r, NULL);
    GError *cause = NULL;
    ClusterTopoNode *node = NULL;
    if (g_markup_parse_context_parse(r.context, text, -1, &cause) &&
        g_markup_parse_context_end_parse(r.context, &cause))
        node = build(&r, error);
    else
        put_place(&r, cause, error);
    g_markup_parse_context_free(r.context);
    g_free(r.cpu);
    return node;
}
