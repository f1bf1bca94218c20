/* Chains over two slots: a part of the slot's ops, one behind the other, with ops of the other slot (links) that begin
 * and end within it.
 *
 * Where a chain ends is where something from outside comes in or looks in: an op that waits for anything but links, an
 * op after which somebody who stays waits, an op that is not plain.  An op x of the other slot is a link of a chain when
 *   - it waits for an op of the chain, or comes behind another link of it; what is before x on its own slot is in this
 *     or an earlier chain, or is waited for before the chain begins;
 *   - it is waited for within the chain, or by the op behind it (then nobody looks in between the two), and by nobody
 *     else before;
 *   - what is behind x on its own slot is a link too, or waits for all of the chain anyway.
 * These depend on each other: from all ops that might be links those that are none are taken away until none is left
 * to be. */
#include "config.h"

#include "sim/fuse.h"
#include "sim/layout.h"

#define NOWHERE G_MAXUINT32

typedef struct {
    guint32 fork;  /* waits for so many ops of the slot; NOWHERE: for none */
    guint32 join;  /* the first op of the slot that waits for it; NOWHERE: none does */
    guint32 chain; /* first op of the chain that it is a link of; NOWHERE: it stays */
    gboolean may;  /* be a link, for all that is known */
} Other;

typedef struct {
    const SimTemplate *t;
    const SimChain *how;
    guint slot, n, m;     /* ops on the slot, on the other slot */
    guint32 *joins;       /* [n] waits for so many ops of the other slot; NOWHERE: for none */
    guint32 *over;        /* [n] 1 + how many of the other slot are over by then; 0: nobody knows */
    guint32 *waits_slot;  /* [n + 1] waits for so many ops of the slot, by ops of all other slots */
    guint32 *waits_third; /* [n + 1] of these, by ops of neither slot */
    Other *others;        /* [m] */
    guint8 *begins;       /* [n] a chain begins with this op */
    guint32 *ends;        /* [n] the op behind the chain of this op */
    guint32 *chains_before; /* [n + 1] */
    guint32 *kept_before;   /* [m + 1] ops of the other slot that stay */
} Chaining;

static const SimOp *
op_at(const Chaining *c, guint k)
{
    return &sim_template_ops(c->t, c->slot)[k];
}

static const SimOp *
other_at(const Chaining *c, guint x)
{
    return &sim_template_ops(c->t, c->how->other)[x];
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
    return (SimLink){.tag = op->tag,
                     .duration_ns = op->duration_ns,
                     .kind = op->kind,
                     .other = other,
                     .load = loads + (gsize)op->index * SIM_LOADS};
}

/* Waits of ops of all slots but the slot itself; who of neither waits for an op of the other slot keeps it. */
static void
read_waits(Chaining *c)
{
    for (guint slot = 0; slot < SIM_SLOTS; slot++)
        for (guint k = 0; k < sim_template_count(c->t, slot); k++)
            for (guint32 i = sim_template_ops(c->t, slot)[k].wait; i;) {
                const SimOpWait *wait = &g_array_index(c->t->waits, SimOpWait, i);
                if (wait->slot == c->slot)
                    c->waits_slot[wait->count]++;
                if (wait->slot == c->slot && slot != c->how->other)
                    c->waits_third[wait->count]++;
                if (wait->slot == c->how->other && slot != c->slot && wait->count > 0)
                    c->others[wait->count - 1].may = FALSE;
                i = wait->next;
            }
}

static void
read_ops(Chaining *c)
{
    gboolean only;
    for (guint x = 0; x < c->m; x++) {
        const SimOp *op = other_at(c, x);
        SimLink link = link_of(c, op, TRUE);
        c->others[x] = (Other){.fork = waited_for(c, op, c->slot, &only), .join = NOWHERE};
        c->others[x].may = only && op->join == SIM_JOIN_ALL && c->how->serial(c->how->user, &link);
    }
    guint32 over = 0;
    for (guint k = 0; k < c->n; k++) {
        c->joins[k] = waited_for(c, op_at(c, k), c->how->other, &only);
        for (guint x = MAX(over, 1) - 1; c->joins[k] != NOWHERE && x < c->joins[k]; x++)
            c->others[x].join = k;
        if (c->joins[k] != NOWHERE)
            over = MAX(over, c->joins[k] + 1);
        c->over[k] = over;
    }
    for (guint x = 0; x < c->m; x++)
        c->others[x].may = c->others[x].may && c->others[x].join != NOWHERE;
}

/* Does the k-th op wait for an op of the other slot that stays and is not known to be over? */
static gboolean
waits_for_kept(const Chaining *c, guint k)
{
    guint32 over = k > 0 ? c->over[k - 1] : 0;
    if (c->joins[k] == NOWHERE || c->joins[k] + 1 <= over)
        return FALSE;
    if (over == 0) /* earlier calls' */
        return TRUE;
    for (guint x = over - 1; x < c->joins[k]; x++)
        if (!c->others[x].may)
            return TRUE;
    return FALSE;
}

/* Where chains begin and end if the links are what they are now. */
static void
cut(Chaining *c)
{
    guint32 waited[SIM_SLOTS] = {0};
    g_autofree guint32 *waits = g_memdup2(c->waits_slot, (c->n + 1) * sizeof(guint32));
    for (guint x = 0; x < c->m; x++)
        if (c->others[x].may && c->others[x].fork != NOWHERE)
            waits[c->others[x].fork]--;
    for (guint k = 0; k < c->n; k++) {
        const SimOp *op = op_at(c, k), *before = k > 0 ? op_at(c, k - 1) : op;
        waited[c->how->other] = NOWHERE; /* waits_for_kept looks at these */
        gboolean anew = sim_op_waits_anew(c->t, op, waited);
        c->begins[k] = k == 0 || anew || waits_for_kept(c, k) || waits[k] > 0 ||
                       op->join != SIM_JOIN_NONE || before->join != SIM_JOIN_NONE ||
                       !c->how->plain(c->how->user, op->tag) ||
                       !c->how->plain(c->how->user, before->tag);
    }
    for (guint k = c->n; k-- > 0;)
        c->ends[k] = k + 1 == c->n || c->begins[k + 1] ? k + 1 : c->ends[k + 1];
}

static guint
begin_of(const Chaining *c, guint k)
{
    while (!c->begins[k])
        k--;
    return k;
}

/* The chain that op x of the other slot is a link of, if those before it are what they are; NOWHERE: of none. */
static guint32
chain_for(const Chaining *c, guint x)
{
    const Other *o = &c->others[x], *before = x > 0 ? o - 1 : NULL;
    guint32 chain = o->fork == NOWHERE || o->fork == 0 ? NOWHERE : begin_of(c, o->fork - 1);
    if (before != NULL && before->chain != NOWHERE)
        chain = chain == NOWHERE ? before->chain : MAX(chain, before->chain);
    else if (chain != NOWHERE && c->over[chain] < x + 1)
        return NOWHERE;
    if (chain == NOWHERE || o->join > c->ends[chain])
        return NOWHERE;
    /* the chain would end later than its ops of the slot do */
    gboolean seen = o->join == c->ends[chain] && c->waits_third[o->join] > 0;
    return seen ? NOWHERE : chain;
}

/* Takes away what is no link; FALSE: all are. */
static gboolean
take_away(Chaining *c)
{
    gboolean changed = FALSE;
    for (guint x = 0; x < c->m; x++) {
        Other *o = &c->others[x];
        o->chain = o->may ? chain_for(c, x) : NOWHERE;
        gboolean lost = o->may && o->chain == NOWHERE;
        if (o->chain != NOWHERE && x + 1 < c->m && !o[1].may)
            lost = o[1].fork == NOWHERE || o[1].fork < c->ends[o->chain];
        if (lost) {
            o->may = FALSE;
            o->chain = NOWHERE;
            changed = TRUE;
        }
    }
    return changed;
}

/* Links behind op k of a chain and before the next: those that wait for no later one. */
static void
append_links(const Chaining *c, guint chain, guint k, guint *x, GArray *links)
{
    for (; *x < c->m; (*x)++) {
        const Other *o = &c->others[*x];
        if (o->chain == NOWHERE)
            continue;
        if (o->chain != chain || (o->fork != NOWHERE && o->fork > k + 1))
            return;
        SimLink link = link_of(c, other_at(c, *x), TRUE);
        link.after = o->fork != NOWHERE && o->fork > chain ? o->fork - chain : 0;
        g_array_append_val(links, link);
    }
}

/* How long a chain takes when nothing disturbs it: both slots in order, links and ops waiting for each other. */
static gint64
alone_ns(const SimLink *links, guint n)
{
    g_autofree gint64 *ends_ns = g_new0(gint64, 2 * (gsize)n + 2);
    gint64 *ends[2] = {ends_ns, ends_ns + n + 1}; /* of so many on the slot, on the other */
    guint done[2] = {0, 0};
    for (guint i = 0; i < n; i++) {
        guint side = links[i].other ? 1 : 0;
        gint64 start_ns = MAX(ends[side][done[side]], ends[1 - side][links[i].after]);
        ends[side][++done[side]] = start_ns + links[i].duration_ns;
        g_assert(ends[side][done[side]] < SIM_TIME_LIMIT_NS);
    }
    return MAX(ends[0][done[0]], ends[1][done[1]]);
}

/* The chain that begins with the k-th op; x: the next op of the other slot. */
static SimOp
chain_of(const Chaining *c, guint first, guint *x)
{
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(SimLink));
    SimOp chain = *op_at(c, first);
    gint64 longest_ns = -1;
    guint n_joined = 0;
    for (guint k = first, next = *x; k < c->ends[first]; k++) {
        SimLink link = link_of(c, op_at(c, k), FALSE);
        for (; next < c->m && (c->others[next].chain == NOWHERE ||
                               (c->others[next].chain == first && c->others[next].join <= k));
             next++)
            n_joined += c->others[next].chain != NOWHERE;
        link.after = n_joined;
        g_array_append_val(links, link);
        if (link.duration_ns > longest_ns)
            chain.kind = link.kind;
        longest_ns = MAX(longest_ns, link.duration_ns);
        append_links(c, first, k, x, links);
    }
    const SimLink *all = (const SimLink *)(gconstpointer)links->data;
    chain.duration_ns = alone_ns(all, links->len);
    if (links->len > 1)
        chain.tag = c->how->tag(c->how->user, all, links->len);
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
    for (guint k = 0; k < c->n; k = c->ends[k]) {
        SimOp chain = chain_of(c, k, &x);
        g_array_append_val(chains, chain);
    }
    for (guint k = 0; k < c->n; k++)
        dropped[ops[k].index] = !c->begins[k];
    for (x = 0; x < c->m; x++) {
        dropped[others[x].index] = c->others[x].chain != NOWHERE;
        if (c->others[x].chain == NOWHERE)
            g_array_append_val(kept, others[x]);
    }
    g_array_unref(t->ops[c->slot]);
    g_array_unref(t->ops[c->how->other]);
    t->ops[c->slot] = chains;
    t->ops[c->how->other] = kept;
}

static void
chaining_init(Chaining *c, const SimTemplate *t, guint slot, const SimChain *how)
{
    *c = (Chaining){.t = t,
                    .how = how,
                    .slot = slot,
                    .n = sim_template_count(t, slot),
                    .m = sim_template_count(t, how->other)};
    c->joins = g_new(guint32, c->n + 1);
    c->over = g_new(guint32, c->n + 1);
    c->waits_slot = g_new0(guint32, c->n + 1);
    c->waits_third = g_new0(guint32, c->n + 1);
    c->others = g_new0(Other, c->m + 1);
    c->begins = g_new(guint8, c->n + 1);
    c->ends = g_new(guint32, c->n + 1);
    c->chains_before = g_new0(guint32, c->n + 1);
    c->kept_before = g_new0(guint32, c->m + 1);
    read_ops(c);
    read_waits(c);
}

static void
chaining_clear(Chaining *c)
{
    guint32 *const arrays[] = {c->joins, c->over,          c->waits_slot, c->waits_third,
                               c->ends,  c->chains_before, c->kept_before};
    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_free(arrays[i]);
    g_free(c->others);
    g_free(c->begins);
}

void
sim_template_chain(SimTemplate *t, guint slot, const SimChain *how)
{
    Chaining c;
    g_assert(slot != how->other);
    if (sim_template_count(t, slot) < 2 || sim_template_count(t, how->other) == 0)
        return;
    chaining_init(&c, t, slot, how);
    do
        cut(&c);
    while (take_away(&c));
    for (guint k = 0; k < c.n; k++)
        c.chains_before[k + 1] = c.chains_before[k] + c.begins[k];
    for (guint x = 0; x < c.m; x++)
        c.kept_before[x + 1] = c.kept_before[x] + (c.others[x].chain == NOWHERE);
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
    chaining_clear(&c);
}
