# How fast is a collective at each size, and how long does it take?
# gnuplot -c collective.gp DATA PICTURE svg|png TITLE
# DATA: one block a curve (the prediction, then a log); columns bytes, busbw in GB/s, time in us, the curve's name.

data = ARG1
set datafile separator "\t"
stats data using 1:2 nooutput
blocks = STATS_blocks
octaves = log(STATS_max_x / STATS_min_x) / log(2)
step = octaves > 16 ? 32 : octaves > 8 ? 8 : 2
array names[2]
do for [i = 1:blocks] {
    stats data index i - 1 every ::0::0 using (names[i] = strcol(4), 0) nooutput
}
if (ARG3 eq "svg") {
    set terminal svg size 900,760 font "Helvetica,14" background rgb "white"
} else {
    set terminal pngcairo size 1350,1140 font "Helvetica,14" fontscale 1.3
}
set output ARG2
array colors[2] = [0x4477aa, 0xcc6677]
set border 3
set logscale x 2
set logscale y
set xtics nomirror out step
set ytics nomirror out
set grid ytics linecolor rgb "#dddddd" linewidth 1
set format x "%.0b %BB"
set key top left Left reverse
set lmargin 12

set multiplot layout 2,1 title ARG4 noenhanced
set ylabel "busbw, GB/s"
plot data index 0 using 1:2 with linespoints pointtype 7 pointsize 0.6 linewidth 2 \
         linecolor rgb colors[1] title names[1] noenhanced, \
     for [i = 2:blocks] data index i - 1 using 1:2 with points pointtype 6 pointsize 1.6 \
         linewidth 2 linecolor rgb colors[2] title names[i] noenhanced
set ylabel "time, us"
set xlabel "size"
plot data index 0 using 1:3 with linespoints pointtype 7 pointsize 0.6 linewidth 2 \
         linecolor rgb colors[1] notitle, \
     for [i = 2:blocks] data index i - 1 using 1:3 with points pointtype 6 pointsize 1.6 \
         linewidth 2 linecolor rgb colors[2] notitle
unset multiplot
