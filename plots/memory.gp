# What does each GPU hold when, and how far is that from its limit?  Stacked areas over time, a panel a pipeline rank.
# gnuplot -c memory.gp DATA PICTURE svg|png TITLE<tab>LIMIT<tab>KIND KIND ...
# DATA: one block a rank. First line: its number. Then a line before and one after each change: time in ms, and in GB
# the upper edge of the area of each kind, from the bottom.

data = ARG1
tab = "\t"
at = strstrt(ARG4, tab)
page_title = ARG4[1:at - 1]
rest = ARG4[at + 1:*]
at = strstrt(rest, tab)
limit = real(rest[1:at - 1])
kinds = rest[at + 1:*]
n_kinds = words(kinds)
set datafile separator tab

stats data using 1 nooutput
n = STATS_blocks
array ranks[n]
array spans[n]
array tops[n]
present = ""
do for [i = 1:n] {
    stats data index i - 1 every ::0::0 using (ranks[i] = $1, $1) nooutput
    stats data index i - 1 every ::1 using 1:(column(n_kinds + 1)) nooutput
    spans[i] = STATS_max_x
    tops[i] = STATS_max_y
}
# Kinds that no rank has are not in the legend.
array shown[n_kinds]
do for [k = 1:n_kinds] {
    shown[k] = 0
    do for [i = 1:n] {
        stats data index i - 1 every ::1 using (column(k + 1) - (k > 1 ? column(k) : 0)) nooutput
        if (STATS_max > 0) { shown[k] = 1 }
    }
}
span = spans[1]
top = tops[1]
do for [i = 2:n] {
    if (spans[i] > span) { span = spans[i] }
    if (tops[i] > top) { top = tops[i] }
}
within = limit < 3 * top # else the limit would make the areas flat, and is told in words
ceiling = within && limit > top ? limit : top

columns = n == 1 ? 1 : n <= 8 ? 2 : 3
lines = int((n + columns - 1) / columns)
head = 70
foot = 50
above = 26
inner_height = n == 1 ? 460 : n <= 4 ? 260 : n <= 16 ? 190 : 130
panel = above + inner_height + 40
width = columns == 1 ? 1280 : columns == 2 ? 1600 : 2100
height = head + lines * panel + foot
left = 70
gap = 20
cell = (width - 2 * gap) / columns
inner = cell - left - gap
zoom = ARG3 eq "png" ? 1.5 : 1
if (ARG3 eq "svg") {
    set terminal svg size width,height font "Helvetica,13" background rgb "white"
} else {
    set terminal pngcairo size width * zoom,height * zoom font "Helvetica,13" fontscale 1.2
}
set output ARG2

# What stays is cool, what comes and goes is warm, what the plan does not decide is grey.
array colors[9] = [0xb4b8c0, 0xa9d59b, 0x2b5d8c, 0x5b8db8, 0x9bc1de, 0x8c6bb1, 0xeaa83a, 0xd2603f, 0xf3d08a]
color(k) = colors[(k - 1) % 9 + 1]

px(x) = x / real(width)
py(y) = 1 - y / real(height)
set multiplot
set border 0
unset key
set tics nomirror out scale 0.4 font ",11" textcolor rgb "#555555"
set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0
set xrange [0:1]
set yrange [0:1]
unset xtics
unset ytics
set label 1 page_title at screen px(gap), screen py(28) left font ",20" noenhanced
x = gap
do for [k = 1:n_kinds] {
    if (shown[k]) {
        set object k rectangle from screen px(x), screen py(height - 34) to screen px(x + 20), screen py(height - 16) \
            fillcolor rgb color(k) fillstyle solid noborder
        set label k + 1 word(kinds, k) at screen px(x + 28), screen py(height - 25) left font ",13"
        x = x + 60 + 7.2 * strlen(word(kinds, k))
    }
}
set label 100 (within ? sprintf("dashed: limit, %.1f GB", limit) : sprintf("limit: %.1f GB, above the pictures", limit)) \
    at screen px(width - gap), screen py(28) right font ",13"
plot 2 with lines
unset object
unset label

do for [i = 1:n] {
    x = gap + ((i - 1) % columns) * cell + left
    y = head + int((i - 1) / columns) * panel + above
    set lmargin at screen px(x)
    set rmargin at screen px(x + inner)
    set tmargin at screen py(y)
    set bmargin at screen py(y + inner_height)
    set xrange [0:span]
    set yrange [0:1.04 * ceiling]
    set xtics nomirror out autofreq
    set ytics nomirror out autofreq
    set label 1 sprintf("pipeline rank %d", ranks[i]) at graph 0, screen py(y - 10) left font ":Bold,13"
    set label 2 sprintf("peak %.1f GB", tops[i]) at graph 1, screen py(y - 10) right font ",12" textcolor rgb "#333333"
    set label 3 "ms" at graph 1, screen py(y + inner_height + 28) left offset 0.5,0 font ",11" textcolor rgb "#555555"
    set label 4 "GB" at screen px(x - 8), screen py(y - 10) right font ",11" textcolor rgb "#555555"
    if (within) {
        set arrow 1 from 0, limit to span, limit nohead front linecolor rgb "#a02020" linewidth 1.5 dashtype 2
    }
    plot for [k = n_kinds:1:-1] data index i - 1 every ::1 using 1:(column(k + 1)) \
             with filledcurves y1=0 fillcolor rgb color(k) fillstyle solid noborder
    unset arrow 1
}
unset multiplot
