# How does a quantity depend on an axis?  For the bubble, the closed form for equal stages is dotted beside.
# gnuplot -c sweep.gp DATA PICTURE svg|png TITLE<tab>AXIS<tab>QUANTITY<tab>0|1 (closed form)|2 (errors)
# DATA: one block a curve; columns x, y, closed form (or NaN), the curve's name, one
# sigma (or NaN).

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

set datafile separator tab
stats data using 1:2 nooutput
doubling = STATS_min_x > 0 && STATS_max_x / STATS_min_x >= 16
blocks = STATS_blocks
array names[blocks]
do for [i = 1:blocks] {
    stats data index i - 1 every ::0::0 using (names[i] = strcol(4), 0) nooutput
}

many = blocks > 6
width = many ? 1180 : 900
if (ARG3 eq "svg") {
    set terminal svg size width,560 font "Helvetica,14" background rgb "white"
} else {
    set terminal pngcairo size 1.5 * width,840 font "Helvetica,14" fontscale 1.3
}
set output ARG2
if (many) { set key outside right top vertical Left reverse samplen 2 font ",11" } else { set key top right }
if (doubling) { set logscale x 2 }

set title title noenhanced
set xlabel axis noenhanced
set ylabel quantity noenhanced
set yrange [0:*]
set border 3
set xtics nomirror out
set ytics nomirror out
set grid ytics linecolor rgb "#dddddd" linewidth 1

# Colours told apart by colour-blind readers.
array colors[8] = [0x4477aa, 0xcc6677, 0x228833, 0xddaa33, 0x66ccee, 0xaa3377, 0x555555, 0x997700]
color(i) = colors[(i - 1) % 8 + 1]
point(i) = word("7 5 9 13 11", int((i - 1) / 8) % 5 + 1) + 0

errors = closed == 2
if (closed == 1) {
    plot for [i = 1:blocks] data index i - 1 using 1:2 with linespoints pointtype point(i) \
             pointsize 0.7 linewidth 2 linecolor rgb color(i) title names[i] noenhanced, \
         for [i = 1:blocks] data index i - 1 using 1:3 with lines dashtype 3 linewidth 2 \
             linecolor rgb color(i) title (i == 1 ? "closed form, equal stages" : "")
} else {
    plot for [i = 1:blocks] data index i - 1 using 1:2:5 with yerrorbars pointtype 0 \
             linewidth 1 linecolor rgb color(i) title (i == 1 && errors ? "one sigma" : ""), \
         for [i = 1:blocks] data index i - 1 using 1:2 with linespoints pointtype point(i) \
             pointsize 0.7 linewidth 2 linecolor rgb color(i) title names[i] noenhanced
}
