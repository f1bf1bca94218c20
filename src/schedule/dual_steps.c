/* The eight steps that DualPipe and DualPipeV share.
 *
 * A rank works in two phases: phase 0 is the stage nearer to its microbatches' first one, phase 1
 * the other. h is its distance from the end of the pipe, H how many ranks such a half pipe has, n the
 * microbatches of a phase. (x;y) is an overlapped pair, W the oldest weight gradient put off:
 *   1  2(H-h-1) F0                 5  (H-h-1) of B1 (F1;B0)
 *   2  (h+1) of F0 F1              6  (h+1) of B1 B0, from the middle on as I with W put off
 *   3  (H-h-1) of I1 W F1          7  (H-h-1) of W I0
 *   4  (n-2H+h+1) of (F0;B1) (F1;B0)   8  (h+1) W
 * On the rank in the middle, h = H-1, the first (F0;B1) of step 4 is not overlapped: its B1 needs
 * what that F0 sends on (SPEC.md 3.13). */
#include "config.h"

#include "schedule/types.h"

typedef struct {
    const ScheduleDual *dual;
    GArray *tokens;
    GArray *put_off; /* of ScheduleToken: the W still to come */
    guint next_w;
    guint n_f[2], n_b[2];
} Steps;

static void
forward(Steps *s, guint phase)
{
    schedule_append(s->tokens, SCHEDULE_F, s->dual->stage[phase],
                    s->dual->first[phase] + s->n_f[phase]++);
}

static void
backward(Steps *s, guint phase, gboolean split)
{
    guint stage = s->dual->stage[phase], m = s->dual->first[phase] + s->n_b[phase]++;

    schedule_append(s->tokens, split ? SCHEDULE_I : SCHEDULE_B, stage, m);
    if (split)
        schedule_append(s->put_off, SCHEDULE_W, stage, m);
}

static void
weight(Steps *s)
{
    g_assert(s->next_w < s->put_off->len);
    g_array_append_val(s->tokens, g_array_index(s->put_off, ScheduleToken, s->next_w));
    s->next_w++;
}

static void
pair(Steps *s, guint forward_phase)
{
    guint m_f = s->n_f[forward_phase]++, m_b = s->n_b[1 - forward_phase]++;

    schedule_append_pair(s->tokens, s->dual->stage[forward_phase],
                         s->dual->first[forward_phase] + m_f, s->dual->stage[1 - forward_phase],
                         s->dual->first[1 - forward_phase] + m_b);
}

static void
warm_up(Steps *s, guint H, guint h)
{
    for (guint i = 0; i < 2 * (H - h - 1); i++)
        forward(s, 0);
    for (guint i = 0; i < h + 1; i++) {
        forward(s, 0);
        forward(s, 1);
    }
    for (guint i = 0; i < H - h - 1; i++) {
        backward(s, 1, TRUE);
        weight(s);
        forward(s, 1);
    }
}

static void
cool_down(Steps *s, guint H, guint h)
{
    gboolean split = FALSE;

    for (guint i = 0; i < H - h - 1; i++) {
        backward(s, 1, FALSE);
        pair(s, 1);
    }
    for (guint i = 0; i < h + 1; i++) {
        gboolean middle = i == (h + 1) / 2;
        split = split || (middle && h % 2 == 1);
        backward(s, 1, split);
        split = split || (middle && h % 2 == 0);
        backward(s, 0, split);
    }
    for (guint i = 0; i < H - h - 1; i++) {
        weight(s);
        backward(s, 0, TRUE);
    }
    for (guint i = 0; i < h + 1; i++)
        weight(s);
}

void
schedule_build_dual(const ScheduleDual *dual, GArray *ret_tokens)
{
    guint H = dual->half, h = dual->from_end;
    g_autoptr(GArray) put_off = g_array_new(FALSE, FALSE, sizeof(ScheduleToken));
    Steps s = {.dual = dual, .tokens = ret_tokens, .put_off = put_off};

    g_assert(dual->microbatches >= 2 * H && h < H);
    warm_up(&s, H, h);
    for (guint i = 0; i < dual->microbatches - 2 * H + h + 1; i++) {
        if (i == 0 && h == H - 1) {
            forward(&s, 0);
            backward(&s, 1, FALSE);
        } else {
            pair(&s, 0);
        }
        pair(&s, 1);
    }
    cool_down(&s, H, h);
    g_assert(s.next_w == put_off->len);
}
