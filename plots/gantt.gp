# What does each pipeline rank do when?  One box a token, idle time white.
# gnuplot -c gantt.gp DATA PICTURE svg|png TITLE<tab>UNIT<tab>RANKS
# DATA: one block a kind; columns kind (F B I W), rank, start, end, chunk, label ("-": none).

data = ARG1
tab = "\t"
first = strstrt(ARG4, tab)
title = ARG4[1:first - 1]
rest = ARG4[first + 1:*]
second = strstrt(rest, tab)
unit = rest[1:second - 1]
ranks = int(rest[second + 1:*])

set datafile separator tab
stats data using 2 nooutput
blocks = STATS_blocks
array kinds[blocks]
do for [i = 1:blocks] {
    stats data index i - 1 every ::0::0 using (kinds[i] = strcol(1), 0) nooutput
}

stats data using 4 nooutput name "END"
stats data using ($4 - $3) nooutput name "SPAN"
stats data using 5 nooutput name "CHUNK"
narrow = SPAN_mean < END_max / 400

height = 120 + 34 * (ranks < 3 ? 3 : ranks > 64 ? 64 : ranks)
if (ARG3 eq "svg") {
    set terminal svg size 1200,height font "Helvetica,13" background rgb "white"
} else {
    set terminal pngcairo size 1800,height * 1.5 font "Helvetica,13" fontscale 1.3
}
set output ARG2

set title title noenhanced
set xlabel sprintf("time (%s)", unit)
set ylabel "pipeline rank"
set xrange [0 : END_max]
set format "%h"
set yrange [ranks - 0.4 : -0.6]
set ytics 1 nomirror out
if (ranks > 24) { set ytics 4 }
set xtics nomirror out
set border 3
set key outside top right horizontal samplen 1.2
# A border parts neighbours; where boxes are hardly wider than it, it would hide them.
if (narrow) { set style fill solid 1.0 noborder } else { set style fill solid 1.0 border rgb "#ffffff" }

# Colours told apart in grey and by colour-blind readers; later chunks are lighter.
color(kind) = kind eq "F" ? 0x4477aa : kind eq "B" ? 0xddaa33 : kind eq "I" ? 0xcc6677 : 0x228833
name(kind) = kind eq "F" ? "forward" : kind eq "B" ? "backward" : kind eq "I" ? "input gradient" \
             : "weight gradient"

light(chunk) = CHUNK_max > 0 ? 0.6 * chunk / CHUNK_max : 0.0
mixed(part, by) = int(part + (255 - part) * by)
shade(c, by) = mixed(c / 65536, by) * 65536 + mixed((c / 256) % 256, by) * 256 + mixed(c % 256, by)
ink(kind, chunk) = kind eq "B" || light(chunk) >= 0.3 ? 0x000000 : 0xffffff
later = CHUNK_max > 0 ? " (later chunks lighter)" : ""

plot for [i = 1:blocks] data index i - 1 \
         using 3:2:3:4:($2 - 0.38):($2 + 0.38):(shade(color(kinds[i]), light($5))) \
         with boxxyerror linecolor rgb variable notitle, \
     for [i = 1:blocks] keyentry with boxes fillstyle solid 1.0 noborder \
         linecolor rgb color(kinds[i]) title name(kinds[i]) . (i == blocks ? later : ""), \
     data using (($3 + $4) / 2):2:(strcol(6) eq "-" ? "" : strcol(6)):(ink(strcol(1), $5)) \
         with labels textcolor rgb variable font ",9" notitle
