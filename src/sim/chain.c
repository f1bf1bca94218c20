/* Chains over two slots.  An op x of the other slot is a link when it waits for all of the slot launched before it, the
 * next op of the slot waits for x, nothing else waits for what is in between, and what was before x on its own slot is
 * over by then: so x begins when the op before it ends, and the op behind it begins when x ends.  What comes behind x
 * on its own slot must not begin before that: unless it waits for more of the slot anyway, the chain ends with x, and
 * it waits for that. */
#include "config.h"

#include "sim/fuse.h"
#include "sim/layout.h"

#define NOWHERE G_MAXUINT32

typedef struct {
    const SimTemplate *t;
    const SimChain *how;
    guint slot, n, m;       /* ops on the slot, on the other slot */
    guint32 *waits_slot;    /* [n + 1] waits for so many ops of the slot, by ops of other slots */
    guint32 *waits_other;   /* [m + 1] waits for so many ops of the other slot, by ops of neither */
    guint32 *behind;        /* [m] is a link behind so many ops of the slot; NOWHERE: stays */
    guint8 *begins;         /* [n] a chain begins with this op */
    guint32 *chains_before; /* [n + 1] */
    guint32 *kept_before;   /* [m + 1] ops of the other slot that stay */
} Chaining;

static void
count_waits(Chaining *c)
{
    for (guint slot = 0; slot < SIM_SLOTS; slot++)
        for (guint k = 0; k < sim_template_count(c->t, slot); k++)
            for (guint32 i = sim_template_ops(c->t, slot)[k].wait; i;) {
                const SimOpWait *wait = &g_array_index(c->t->waits, SimOpWait, i);
                if (wait->slot == c->slot)
                    c->waits_slot[wait->count]++;
                if (wait->slot == c->how->other && slot != c->slot)
                    c->waits_other[wait->count]++;
                i = wait->next;
            }
}

/* How many ops of a slot the op waits for; NOWHERE: it does not. `ret_only`: it waits for no other slot. */
static guint32
waited_for(const Chaining *c, const SimOp *op, guint slot, gboolean *ret_only)
{
    guint32 count = NOWHERE;
    *ret_only = TRUE;
    for (guint32 i = op->wait; i;) {
        const SimOpWait *wait = &g_array_index(c->t->waits, SimOpWait, i);
        if (wait->slot == slot)
            count = wait->count;
        else
            *ret_only = FALSE;
        i = wait->next;
    }
    return count;
}

static SimLink
link_of(const Chaining *c, const SimOp *op, gboolean other)
{
    const double *loads = (const double *)(const void *)c->t->loads->data;
    return (SimLink){op->tag, op->duration_ns, other, loads + (gsize)op->index * SIM_LOADS};
}

static gboolean
is_serial(const Chaining *c, const SimOp *op)
{
    SimLink link = link_of(c, op, TRUE);
    return c->how->serial(c->how->user, &link);
}

static void
append_link(const Chaining *c, GArray *links, const SimOp *op, gboolean other)
{
    SimLink link = link_of(c, op, other);
    g_array_append_val(links, link);
}

/* Are ops [from, to) of the other slot, one behind the other, links between the k-th op of the slot and the one before? */
static gboolean
are_links(const Chaining *c, guint k, guint from, guint to)
{
    const SimOp *ops = sim_template_ops(c->t, c->slot),
                *others = sim_template_ops(c->t, c->how->other);
    guint32 here = 0;
    if (ops[k - 1].join != SIM_JOIN_NONE || !c->how->plain(c->how->user, ops[k - 1].tag))
        return FALSE;
    for (guint x = from; x < to; x++) {
        gboolean only;
        guint32 count = waited_for(c, &others[x], c->slot, &only);
        if (others[x].join != SIM_JOIN_ALL || !is_serial(c, &others[x]) || !only ||
            (count == NOWHERE ? x == from : count > k || (x == from && count != k)) ||
            c->waits_other[x + 1] > 0)
            return FALSE;
        here += count == k;
    }
    return c->waits_slot[k] == here;
}

static void
find_links(Chaining *c)
{
    const SimOp *ops = sim_template_ops(c->t, c->slot);
    guint32 over =
        NOWHERE; /* ops of the other slot that are over before the op at hand begins; NOWHERE: not known */
    for (guint k = 0; k < c->n; k++) {
        gboolean only;
        guint32 count = waited_for(c, &ops[k], c->how->other, &only);
        if (count == NOWHERE)
            continue;
        if (k > 0 && over != NOWHERE && count > over && are_links(c, k, over, count))
            for (guint x = over; x < count; x++)
                c->behind[x] = k;
        over = over == NOWHERE ? count : MAX(over, count);
    }
}

/* An op of the other slot that stays waits for at least so many ops of the slot. */
static void
wait_for(SimTemplate *t, SimOp *op, guint slot, guint32 count)
{
    for (guint32 i = op->wait; i;) {
        SimOpWait *wait = &g_array_index(t->waits, SimOpWait, i);
        if (wait->slot == slot) {
            wait->count = MAX(wait->count, count);
            return;
        }
        i = wait->next;
    }
    SimOpWait wait = {.slot = slot, .count = count, .next = op->wait};
    op->wait = t->waits->len;
    g_array_append_val(t->waits, wait);
}

static void
keep_order(Chaining *c, SimTemplate *t)
{
    SimOp *others = sim_template_ops(t, c->how->other);
    for (guint x = 0; x + 1 < c->m; x++) {
        gboolean only;
        if (c->behind[x] == NOWHERE || c->behind[x + 1] != NOWHERE)
            continue;
        guint32 count = waited_for(c, &others[x + 1], c->slot, &only);
        if (count != NOWHERE && count > c->behind[x])
            continue;
        if (count != NOWHERE)
            c->waits_slot[count]--;
        wait_for(t, &others[x + 1], c->slot, c->behind[x]);
        c->waits_slot[c->behind[x]]++;
    }
}

static void
find_chains(Chaining *c)
{
    const SimOp *ops = sim_template_ops(c->t, c->slot);
    guint32 waited[SIM_SLOTS] = {0};
    for (guint k = 0; k < c->n; k++) {
        gboolean only;
        guint32 count = waited_for(c, &ops[k], c->how->other, &only);
        if (count != NOWHERE && count > 0 && c->behind[count - 1] == k)
            waited[c->how->other] =
                MAX(waited[c->how->other], count + 1); /* the chain is its wait */
        gboolean anew = sim_op_waits_anew(c->t, &ops[k], waited);
        c->begins[k] = k == 0 || anew || ops[k].join != SIM_JOIN_NONE ||
                       ops[k - 1].join != SIM_JOIN_NONE ||
                       !c->how->plain(c->how->user, ops[k - 1].tag) ||
                       !c->how->plain(c->how->user, ops[k].tag);
    }
    for (guint x = 0; x < c->m; x++) {
        gboolean only;
        guint32 count = waited_for(c, &sim_template_ops(c->t, c->how->other)[x], c->slot, &only);
        if (c->behind[x] != NOWHERE && count != NOWHERE)
            c->waits_slot[count]--; /* goes with it */
        c->kept_before[x + 1] = c->kept_before[x] + (c->behind[x] == NOWHERE);
    }
    for (guint k = 0; k < c->n; k++) {
        c->begins[k] |= c->waits_slot[k] > 0;
        c->chains_before[k + 1] = c->chains_before[k] + c->begins[k];
    }
}

/* The chain that begins with the k-th op; *ret_next: the op behind it. */
static SimOp
chain_of(const Chaining *c, guint k, guint *x, guint *ret_next)
{
    const SimOp *ops = sim_template_ops(c->t, c->slot),
                *others = sim_template_ops(c->t, c->how->other);
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(SimLink));
    SimOp chain = ops[k];
    gint64 longest_ns = -1, sum_ns = 0;
    guint first = k;
    for (; k == first || (k < c->n && !c->begins[k]); k++) {
        append_link(c, links, &ops[k], FALSE);
        if (ops[k].duration_ns > longest_ns)
            chain.kind = ops[k].kind;
        longest_ns = MAX(longest_ns, ops[k].duration_ns);
        for (; *x < c->m && (c->behind[*x] == NOWHERE || c->behind[*x] == k + 1); (*x)++)
            if (c->behind[*x] != NOWHERE)
                append_link(c, links, &others[*x], TRUE);
    }
    for (guint i = 0; i < links->len; i++)
        sum_ns += g_array_index(links, SimLink, i).duration_ns;
    g_assert(sum_ns < SIM_TIME_LIMIT_NS);
    chain.duration_ns = sum_ns;
    if (links->len > 1)
        chain.tag =
            c->how->tag(c->how->user, (const SimLink *)(gconstpointer)links->data, links->len);
    *ret_next = k;
    return chain;
}

/* Both slots anew, and what is dropped of them. */
static void
rewrite(const Chaining *c, SimTemplate *t, guint8 *dropped)
{
    const SimOp *ops = sim_template_ops(t, c->slot), *others = sim_template_ops(t, c->how->other);
    GArray *chains = g_array_new(FALSE, FALSE, sizeof(SimOp));
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(SimOp));
    guint x = 0;
    for (guint k = 0; k < c->n;) {
        SimOp chain = chain_of(c, k, &x, &k);
        g_array_append_val(chains, chain);
    }
    for (guint k = 0; k < c->n; k++)
        dropped[ops[k].index] = !c->begins[k];
    for (x = 0; x < c->m; x++) {
        dropped[others[x].index] = c->behind[x] != NOWHERE;
        if (c->behind[x] == NOWHERE)
            g_array_append_val(kept, others[x]);
    }
    g_array_unref(t->ops[c->slot]);
    g_array_unref(t->ops[c->how->other]);
    t->ops[c->slot] = chains;
    t->ops[c->how->other] = kept;
}

void
sim_template_chain(SimTemplate *t, guint slot, const SimChain *how)
{
    Chaining c = {.t = t,
                  .how = how,
                  .slot = slot,
                  .n = sim_template_count(t, slot),
                  .m = sim_template_count(t, how->other)};
    g_assert(slot != how->other);
    if (c.n < 2 || c.m == 0)
        return;
    c.waits_slot = g_new0(guint32, c.n + 1);
    c.waits_other = g_new0(guint32, c.m + 1);
    c.behind = g_new(guint32, c.m);
    c.begins = g_new(guint8, c.n);
    c.chains_before = g_new0(guint32, c.n + 1);
    c.kept_before = g_new0(guint32, c.m + 1);
    for (guint x = 0; x < c.m; x++)
        c.behind[x] = NOWHERE;
    count_waits(&c);
    find_links(&c);
    keep_order(&c, t);
    find_chains(&c);
    g_autofree guint8 *dropped = g_new0(guint8, t->places->len);
    rewrite(&c, t, dropped);
    sim_template_compact(t, dropped);
    for (guint i = 1; i < t->waits->len; i++) {
        SimOpWait *wait = &g_array_index(t->waits, SimOpWait, i);
        if (wait->slot == slot)
            wait->count = c.chains_before[wait->count];
        else if (wait->slot == how->other)
            wait->count = c.kept_before[wait->count];
    }
    guint32 *const arrays[] = {c.waits_slot, c.waits_other, c.behind, c.chains_before,
                               c.kept_before};
    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_free(arrays[i]);
    g_free(c.begins);
}
