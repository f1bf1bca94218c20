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
row = rows_most <= 4 ? 28 : rows_most <= 8 ? (n > 8 ? 21 : 25) : rows_most <= 16 ? 15 : rows_most <= 32 ? 8 : 5
row = n == 1 ? 1.5 * row : row
head = 62
foot = 56
above = 30 # of a panel: its title
panel = above + row * rows_most + 40
width = columns == 1 ? 1280 : columns == 2 ? 1800 : 2400
height = head + lines * panel + foot
left = 44
gap = 20
cell = (width - 2 * gap) / columns
inner = cell - left - gap
zoom = ARG3 eq "png" ? 1.5 : 1
font = "Helvetica"
if (ARG3 eq "svg") {
    set terminal svg size width,height font font.",13" background rgb "white"
} else {
    set terminal pngcairo size width * zoom,height * zoom font font.",13" fontscale 1.2
}
set output ARG2

# Dark to light in this order, so that a grey print tells them apart: F, I, B, W; idle lightest.
fill(kind) = kind eq "F" ? 0x2b5d8c : kind eq "I" ? 0xd2603f : kind eq "B" ? 0xeaa83a : 0xa9d59b
ink(kind) = kind eq "F" || kind eq "I" ? 0xffffff : 0x1c1c1c
phrase(kind) = kind eq "F" ? "forward" : kind eq "I" ? "backward: input gradient" \
             : kind eq "B" ? "backward, both gradients" : kind eq "W" ? "weight gradient" \
             : kind eq "2" ? "banded: a later chunk, or the second replica" : kind

idle = "#dfe2e8"
band = "#59ffffff"

# The halves of a pair lie one above the other in its box.
low(half) = half == 2 ? 0.0 : -0.44
high(half) = half == 1 ? 0.0 : 0.44
pixels(start, end) = (end - start) / scale * inner
label(kind, start, end, half, m) = \
    half == 0 && pixels(start, end) >= 8 * strlen(sprintf("%s%d", kind, m)) + 3 && row >= 13 \
        ? sprintf("%s%d", kind, m) \
    : pixels(start, end) >= 7 * strlen(sprintf("%d", m)) + 1 && row >= (half == 0 ? 13 : 20) \
        ? sprintf("%d", m) : ""

# A title is a name and, after ": ", facts.
name(title) = strstrt(title, ": ") > 0 ? title[1:strstrt(title, ": ") - 1] : title
facts(title) = strstrt(title, ": ") > 0 ? title[strstrt(title, ": ") + 2:*] : ""

set multiplot
set border 0
unset key
set style fill solid 1.0 noborder
set tics nomirror out scale 0.4 font font.",11" textcolor rgb "#555555"

# Title and legend, on the page itself.
px(x) = x / real(width)
py(y) = 1 - y / real(height)
set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0
set xrange [0:1]
set yrange [0:1]
unset xtics
unset ytics
set label 1 page_title at screen px(gap), screen py(28) left font font.",20" noenhanced
names = "F I B W"
x = gap
do for [k = 1:6] {
    kind = k <= 4 ? word(names, k) : k == 5 ? "2" : "idle"
    if (k == 6 || strstrt(present, kind) > 0) {
        set object k rectangle from screen px(x), screen py(height - 34) to screen px(x + 20), screen py(height - 16) \
            fillcolor rgb (k == 6 ? idle : fill(k == 5 ? "F" : kind)) fillstyle solid noborder
        if (k == 5) {
            set object 10 rectangle from screen px(x), screen py(height - 21) to screen px(x + 20), screen py(height - 16) \
                fillcolor rgb band fillstyle solid noborder
        }
        set label k + 1 phrase(kind) at screen px(x + 28), screen py(height - 25) left font font.",13"
        x = x + 66 + 6.8 * strlen(phrase(kind))
    }
}
plot 2 with lines
unset object
unset label

do for [i = 1:n] {
    own = spans[i] > common
    scale = own ? spans[i] : common
    x = gap + ((i - 1) % columns) * cell + left
    y = head + int((i - 1) / columns) * panel + above
    set lmargin at screen px(x)
    set rmargin at screen px(x + inner)
    set tmargin at screen py(y)
    set bmargin at screen py(y + row * ranks[i])
    set xrange [0:scale]
    set yrange [ranks[i] - 0.5 : -0.5]
    step = ranks[i] <= 16 ? 1 : ranks[i] <= 32 ? 4 : 8
    set ytics nomirror out 0, step
    set xtics nomirror out autofreq
    set label 1 name(titles[i]) at graph 0, screen py(y - 12) left \
        font font.":Bold".(n == 1 ? ",15" : ",14") noenhanced
    set label 2 facts(titles[i]).(own ? " (own time scale)" : "") at graph 1, screen py(y - 12) right \
        font font.",13" textcolor rgb "#333333" noenhanced
    set label 3 unit at graph 1, screen py(y + row * ranks[i] + 26) right font font.",11" textcolor rgb "#555555"
    set label 4 "rank" at screen px(x - 24), screen py(y - 10) center font font.",10" textcolor rgb "#777777"
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
             with labels font font.",10" textcolor rgb variable
    unset object 1
}
unset multiplot
