# How does a quantity depend on an axis?  For the bubble, the closed form for equal stages is dotted beside.
# gnuplot -c sweep.gp DATA PICTURE svg|png TITLE<tab>AXIS<tab>QUANTITY<tab>0|1 (closed form)
# DATA: one block a curve; columns x, y, closed form (or NaN), the curve's name.

data = ARG1
tab = "\t"
at = strstrt(ARG4, tab)
title = ARG4[1:at - 1]
rest = ARG4[at + 1:*]
at = strstrt(rest, tab)
axis = rest[1:at - 1]
rest = rest[at + 1:*]
at = strstrt(rest, tab)
quantity = rest[1:at - 1]
closed = int(rest[at + 1:*])

if (ARG3 eq "svg") {
    set terminal svg size 900,560 font "Helvetica,14" background rgb "white"
} else {
    set terminal pngcairo size 1350,840 font "Helvetica,14" fontscale 1.3
}
set output ARG2

set title title noenhanced
set xlabel axis noenhanced
set ylabel quantity noenhanced
set yrange [0:*]
set border 3
set format "%h"
set xtics nomirror out
set ytics nomirror out
set grid ytics linetype 1 linecolor rgb "#dddddd" dashtype solid
set datafile separator tab

stats data using 1:2 nooutput
blocks = STATS_blocks
# Powers and long ranges lie on a logarithmic axis; a few points are their own tics.
low = STATS_min_x
high = STATS_max_x
ratio = low > 0 ? high / low : 1
each = STATS_records / blocks
if (ratio >= 16 || (ratio >= 4 && each <= log(ratio) / log(2) + 1.5)) { set logscale x 2 }
if (each <= 10) {
    tics = ""
    has(x) = strstrt(tics . ",", "," . x . ",")
    stats data using (tics = has(strcol(1)) ? tics : tics . "," . strcol(1), 0) nooutput
    if (words(tics) > 0) { eval "set xtics nomirror out (" . tics[2:*] . ")" }
}
# A hair wider than the points: a tic on the very end of a logarithmic axis is lost.
set xrange [low == high ? low - 1 : low : low == high ? low + 1 : high * 1.0001]
if (blocks > 1) {
    set key outside right top reverse Left
} else {
    if (closed) { set key outside top right horizontal } else { unset key }
}
array names[blocks]
do for [i = 1:blocks] {
    stats data index i - 1 every ::0::0 using (names[i] = strcol(4), 0) nooutput
}

# Colours told apart by colour-blind readers; another mark when they are used up.
array colors[6] = [0x4477aa, 0xcc6677, 0x228833, 0xddaa33, 0x66ccee, 0xaa3377]
color(i) = colors[(i - 1) % 6 + 1]
array marks[4] = [7, 5, 9, 13]
mark(i) = marks[((i - 1) / 6) % 4 + 1]

if (closed) {
    plot for [i = 1:blocks] data index i - 1 using 1:2 with linespoints pointtype mark(i) \
             pointsize 0.7 linewidth 2 linecolor rgb color(i) title names[i], \
         for [i = 1:blocks] data index i - 1 using 1:3 with lines dashtype 3 linewidth 2 \
             linecolor rgb color(i) title (i > 1 ? "" : blocks > 1 ? "closed form" : "closed form, equal stages")
} else {
    plot for [i = 1:blocks] data index i - 1 using 1:2 with linespoints pointtype mark(i) \
             pointsize 0.7 linewidth 2 linecolor rgb color(i) title names[i]
}
