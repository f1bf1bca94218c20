# What does each pipeline rank do when?  One picture a schedule, one box an operation; grey is idle.
# gnuplot -c schedules.gp DATA PICTURE svg|png TITLE<tab>UNIT
# DATA: one block a schedule. First line: title, ranks, makespan. Then a line an operation: kind (F B I W), rank,
# start, end, 0 (or 1, 2: first or second half of an overlapped pair), microbatch, 1: not of the first chunk.

data = ARG1
tab = "\t"
at = strstrt(ARG4, tab)
page_title = ARG4[1:at - 1]
unit = ARG4[at + 1:*]
set datafile separator tab

stats data using 2 nooutput
n = STATS_blocks
array titles[n]
array ranks[n]
array spans[n]
array means[n] # of an operation
do for [i = 1:n] {
    stats data index i - 1 every ::0::0 using (titles[i] = strcol(1), ranks[i] = $2, spans[i] = $3, 0) nooutput
    stats data index i - 1 every ::1 using ($4 - $3) nooutput
    means[i] = STATS_mean
}

present = ""
stats data using (present = strstrt(present, strcol(1)) == 0 && strlen(strcol(1)) == 1 ? present.strcol(1) : present, \
                  present = $7 > 0 && strstrt(present, "2") == 0 ? present."2" : present, 0) nooutput

# One time scale for all, so that lengths compare; those far longer than the shortest have their own.
shortest = spans[1]
rows_most = ranks[1]
do for [i = 2:n] {
    if (spans[i] < shortest) { shortest = spans[i] }
    if (ranks[i] > rows_most) { rows_most = ranks[i] }
}
common = 0
do for [i = 1:n] {
    if (spans[i] <= 2 * shortest && spans[i] > common) { common = spans[i] }
}

# The page in pixels: columns of panels, a title above and a legend below.
columns = n == 1 ? 1 : n <= 8 ? 2 : 3
lines = int((n + columns - 1) / columns)
row = rows_most <= 4 ? 26 : rows_most <= 8 ? 20 : rows_most <= 16 ? 13 : rows_most <= 32 ? 8 : 5
row = n == 1 ? 1.5 * row : row
head = 58
foot = 50
panel = 24 + row * rows_most + 34
width = columns == 1 ? 1280 : 1680
height = head + lines * panel + foot
left = 46
gap = 14
cell = (width - 2 * gap) / columns
inner = cell - left - gap
zoom = ARG3 eq "png" ? 1.5 : 1
font = "Helvetica"
if (ARG3 eq "svg") {
    set terminal svg size width,height font font.",12" background rgb "white"
} else {
    set terminal pngcairo size width * zoom,height * zoom font font.",12" fontscale 1.5
}
set output ARG2

# Dark to light in this order, so that a grey print tells them apart: F, I, B, W; idle lightest.
fill(kind) = kind eq "F" ? 0x2b5d8c : kind eq "I" ? 0xd2603f : kind eq "B" ? 0xeaa83a : 0xa9d59b
ink(kind) = kind eq "F" || kind eq "I" ? 0xffffff : 0x1c1c1c
phrase(kind) = kind eq "F" ? "forward" : kind eq "I" ? "backward: input gradient" \
             : kind eq "B" ? "backward, both gradients" : "weight gradient"

idle = "#dfe2e8"
band = "#59ffffff"

# The halves of a pair lie one above the other in its box.
low(half) = half == 1 ? 0.0 : -0.44
high(half) = half == 2 ? 0.0 : 0.44
pixels(start, end) = (end - start) / scale * inner
label(kind, start, end, half, m) = \
    half == 0 && pixels(start, end) >= 8 * strlen(sprintf("%s%d", kind, m)) + 3 && row >= 13 \
        ? sprintf("%s%d", kind, m) \
    : pixels(start, end) >= 7 * strlen(sprintf("%d", m)) + 1 && row >= (half == 0 ? 13 : 20) \
        ? sprintf("%d", m) : ""

set multiplot
set border 0
unset key
set style fill solid 1.0 noborder
set tics nomirror out scale 0.4 font font.",10"

# Title and legend, on the page itself.
px(x) = x / real(width)
py(y) = 1 - y / real(height)
set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0
set xrange [0:1]
set yrange [0:1]
unset xtics
unset ytics
set label 1 page_title at screen px(gap), screen py(26) left font font.",17" noenhanced
names = "F I B W"
x = gap
do for [k = 1:4] {
    kind = word(names, k)
    if (strstrt(present, kind) > 0) {
        set object 10 + k rectangle from screen px(x), screen py(height - 32) \
            to screen px(x + 18), screen py(height - 16) fillcolor rgb fill(kind) fillstyle solid noborder
        set label 10 + k phrase(kind) at screen px(x + 25), screen py(height - 23) left font font.",12"
        x = x + 50 + 6.4 * strlen(phrase(kind))
    }
}
if (strstrt(present, "2") > 0) {
    set object 20 rectangle from screen px(x), screen py(height - 32) \
        to screen px(x + 18), screen py(height - 16) fillcolor rgb fill("F") fillstyle solid noborder
    set object 21 rectangle from screen px(x), screen py(height - 20) \
        to screen px(x + 18), screen py(height - 16) fillcolor rgb band fillstyle solid noborder
    set label 20 "banded: a later chunk of the rank, or the second replica" \
        at screen px(x + 25), screen py(height - 23) left font font.",12"
    x = x + 50 + 6.4 * 55
}
set object 22 rectangle from screen px(x), screen py(height - 32) \
    to screen px(x + 18), screen py(height - 16) fillcolor rgb idle fillstyle solid noborder
set label 22 "idle" at screen px(x + 25), screen py(height - 23) left font font.",12"
plot 2 with lines
unset object
unset label

set ytics
set xtics
do for [i = 1:n] {
    own = spans[i] > common
    scale = own ? spans[i] : common
    x = gap + ((i - 1) % columns) * cell + left
    y = head + int((i - 1) / columns) * panel + 24
    set lmargin at screen px(x)
    set rmargin at screen px(x + inner)
    set tmargin at screen py(y)
    set bmargin at screen py(y + row * ranks[i])
    set xrange [0:scale]
    set yrange [ranks[i] - 0.5 : -0.5]
    step = ranks[i] <= 16 ? 1 : ranks[i] <= 32 ? 4 : 8
    set ytics 0, step
    set xtics autofreq
    set label 1 titles[i].(own ? "   (own time scale)" : "") at graph 0, screen py(y - 11) left \
        font font.(n == 1 ? ",14" : ",12") noenhanced
    set label 2 unit at graph 1, screen py(y + row * ranks[i] + 24) right font font.",10"
    set label 3 "rank" at screen px(x - 30), screen py(y - 11) center font font.",10" textcolor rgb "#666666"
    set object 1 rectangle from 0, -0.5 to spans[i], ranks[i] - 0.5 behind fillcolor rgb idle \
        fillstyle solid noborder
    line = means[i] / scale * inner > 4 ? 1.2 : 0.001
    set style fill solid 1.0 border rgb "#ffffff"
    if (line < 1) { set style fill solid 1.0 noborder }
    plot data index i - 1 every ::1 using 3:2:3:4:($2 + low($5)):($2 + high($5)):(fill(strcol(1))) \
             with boxxyerror linecolor rgb variable linewidth line, \
         data index i - 1 every ::1 using ($7 > 0 ? $3 : NaN):2:3:4:($2 + high($5) - 0.12 - (row < 13) * 0.1):($2 + high($5)) \
             with boxxyerror linecolor rgb band fillstyle solid noborder, \
         data index i - 1 every ::1 using (($3 + $4) / 2):($2 + (low($5) + high($5)) / 2 - 0.01): \
             (label(strcol(1), $3, $4, $5, $6)):(ink(strcol(1))) \
             with labels font font.",9" textcolor rgb variable
    unset object 1
}
unset multiplot
