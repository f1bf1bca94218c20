/* What one GPU of each pipeline rank sends in an iteration: its program's calls times their templates' ops, so
 * that it is what the engine ran. */
#include "config.h"

#include <string.h>

#include "step/chain.h"

GArray *
step_count_calls(const SimProgram *program)
{
    GArray *called = g_array_new(FALSE, FALSE, sizeof(StepCalled));
    g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL); /* template -> index + 1 */
    for (guint i = 0; i < sim_program_n_calls(program); i++) {
        StepCalled fresh = {sim_program_called(program, i), 0};
        gconstpointer key = fresh.template;
        guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, key));
        if (place == 0) {
            g_array_append_val(called, fresh);
            place = called->len;
            g_hash_table_insert(places, (gpointer)key, GUINT_TO_POINTER(place));
        }
        g_array_index(called, StepCalled, place - 1).calls++;
    }
    return called;
}

static void
add_traffic(GArray *traffic, const StepOp *op, const StepTransfer *transfer, guint64 calls)
{
    StepTraffic *at = NULL;
    for (guint i = 0; i < traffic->len && at == NULL; i++) {
        StepTraffic *known = &g_array_index(traffic, StepTraffic, i);
        if (known->op == transfer->op && known->ranks == transfer->ranks &&
            known->kind == op->kind && strcmp(known->name, op->name) == 0)
            at = known;
    }
    if (at == NULL) {
        StepTraffic fresh = {
            .name = op->name, .kind = op->kind, .op = transfer->op, .ranks = transfer->ranks};
        g_array_append_val(traffic, fresh);
        at = &g_array_index(traffic, StepTraffic, traffic->len - 1);
    }
    at->count += calls;
    at->bytes += (double)calls * transfer->bytes;
    at->sent_bytes += (double)calls * transfer->sent_bytes;
}

static void
add_template(const StepBuild *b, GArray *traffic, const StepCalled *called)
{
    double message = (double)plan_p2p_bytes(b->plan);
    StepTransfer wire = {NET_SEND_RECV, 2, message, message};
    for (guint i = 0; i < sim_template_n_ops(called->template); i++) {
        guint32 tag = sim_template_tag(called->template, i);
        guint slot = sim_template_slot(called->template, i);
        const StepOp *op = &g_array_index(b->ops, StepOp, tag);
        for (guint k = 0; k < op->n_links; k++) {
            const StepOp *part = &g_array_index(b->ops, StepOp, step_chain_link(b, op, k)->tag);
            if (part->transfer > 0)
                add_traffic(traffic, part,
                            &g_array_index(b->transfers, StepTransfer, part->transfer),
                            called->calls);
        }
        if (op->transfer > 0)
            add_traffic(traffic, op, &g_array_index(b->transfers, StepTransfer, op->transfer),
                        called->calls);
        else if (tag == b->wire_tag && (slot == STEP_SLOT_SEND_F || slot == STEP_SLOT_SEND_B))
            add_traffic(traffic, op, &wire, called->calls);
    }
}

GArray *
step_traffic(const StepBuild *b, guint rank)
{
    guint class = g_array_index(b->ranks, StepRank, rank).class;
    const StepLowered *lowered = g_ptr_array_index(b->lowered, class);
    GArray *traffic = g_array_new(FALSE, FALSE, sizeof(StepTraffic));
    g_autoptr(GArray) called = step_count_calls(lowered->program);
    for (guint i = 0; i < called->len; i++)
        add_template(b, traffic, &g_array_index(called, StepCalled, i));
    return traffic;
}
