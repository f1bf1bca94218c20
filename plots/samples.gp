# How is the time of an iteration distributed?  Bars: share of the samples; line: share that is not longer.
# gnuplot -c samples.gp DATA PICTURE svg|png TITLE<tab>UNIT<tab>UNDISTURBED<tab>ITS ERROR (one sigma)
# DATA: two blocks; middle, width and height of each bar; time, 0 and share of each sample.

data = ARG1
tab = "\t"
at = strstrt(ARG4, tab)
title = ARG4[1:at - 1]
rest = ARG4[at + 1:*]
at = strstrt(rest, tab)
unit = rest[1:at - 1]
rest = rest[at + 1:*]
at = strstrt(rest, tab)
undisturbed = real(rest[1:at - 1])
error = real(rest[at + 1:*])

set datafile separator tab
if (ARG3 eq "svg") {
    set terminal svg size 900,560 font "Helvetica,14" background rgb "white"
} else {
    set terminal pngcairo size 1350,840 font "Helvetica,14" fontscale 1.3
}
set output ARG2
stats data index 0 using 1:3 nooutput
left = STATS_min_x < undisturbed ? STATS_min_x : undisturbed
right = STATS_max_x > undisturbed ? STATS_max_x : undisturbed
margin = right > left ? 0.06 * (right - left) : 0.01 * right
top = STATS_max_y * 1.3

set title title noenhanced
set xlabel sprintf("iteration (%s)", unit)
set ylabel "share of samples"
set y2label "share not longer"
set xrange [left - margin:right + margin]
set yrange [0:top]
set y2range [0:1.3]
set border 11
set xtics nomirror out
set ytics nomirror out
set y2tics 0, 0.25, 1 nomirror out
set grid ytics linecolor rgb "#dddddd" linewidth 1
set key top left
set style fill solid 0.55 noborder
set arrow from undisturbed, 0 to undisturbed, top nohead dashtype 3 linewidth 2 linecolor rgb "#555555"

plot data index 0 using 1:3:2 with boxes linecolor rgb "#4477aa" title "samples", \
     data index 1 using 1:3 axes x1y2 with steps linewidth 2 linecolor rgb "#cc6677" \
         title "not longer (right axis)", \
     NaN with lines dashtype 3 linewidth 2 linecolor rgb "#555555" title sprintf("undisturbed, +- %.3g %s", error, unit)
