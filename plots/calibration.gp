# What did the tables of a machine measure?  Maps of the efficiency of products; bandwidth over sizes, with the fit
# through the rows; attention over lengths.
# gnuplot -c calibration.gp DATA PICTURE svg|png|pdf
# DATA, tabs between columns. Block 0: lines of text, the title first, then what stands at the foot. Block 1: a line a
# panel: map or curves, its blocks, a ceiling in y (or NaN) and its name, title, label of x, label of y. Then the
# blocks of all panels: of a map x_low x_high y_low y_high value; of a curve x, y measured, y fitted (NaN: none), name.

data = ARG1
set datafile separator "\t"
set datafile commentschars ""
stats data index 0 using (1) nooutput
n_lines = int(STATS_records)
array lines[n_lines]
do for [i = 1:n_lines] { stats data index 0 every ::(i - 1)::(i - 1) using (lines[i] = strcol(1), 0) nooutput }
stats data index 1 using (1) nooutput
n = int(STATS_records)
array kinds[n]
array blocks[n]
array firsts[n]
array ceilings[n]
array ceiling_names[n]
array titles[n]
array x_labels[n]
array y_labels[n]
next = 2
do for [i = 1:n] {
    stats data index 1 every ::(i - 1)::(i - 1) using ( \
        kinds[i] = strcol(1), blocks[i] = int($2), ceilings[i] = strcol(3), ceiling_names[i] = strcol(4), \
        titles[i] = strcol(5), x_labels[i] = strcol(6), y_labels[i] = strcol(7), 0) nooutput
    firsts[i] = next
    next = next + blocks[i]
}

columns = n == 1 ? 1 : n <= 4 ? 2 : 3
page_lines = int((n + columns - 1) / columns)
cell = 640
above = 44
inner_height = 300
panel = above + inner_height + 66
head = 62
foot = 20 + 19 * (n_lines - 1)
width = columns * cell + 20 < 820 ? 820 : columns * cell + 20
height = head + page_lines * panel + foot
left = 92
right = 190 # legend or scale
zoom = ARG3 eq "png" ? 1.5 : 1
if (ARG3 eq "svg") {
    set terminal svg size width,height font "Helvetica,13" background rgb "white"
} else {
    if (ARG3 eq "pdf") {
        set terminal pdfcairo size width / 96.0,height / 96.0 font "Helvetica,10"
    } else {
        set terminal pngcairo size width * zoom,height * zoom font "Helvetica,13" fontscale 1.25
    }
}
set output ARG2

array colors[12] = [0x4477aa, 0xcc6677, 0x228833, 0xddaa33, 0x66ccee, 0xaa3377, 0x777777, 0x882255, \
                    0x999933, 0x332288, 0xee8866, 0x44aa99]
color(k) = colors[(k - 1) % 12 + 1]
mark(k) = k <= 12 ? 7 : k <= 24 ? 5 : 9
# dark blue, green, yellow: also in grey the brighter the better
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
is_bytes(label) = label eq "size" || label eq "bytes moved"
# A power of two between tics, for five of them or so.
apart(ratio) = 2.0**ceil(log(ratio) / log(2.0) / 6 < 1 ? 1 : log(ratio) / log(2.0) / 6)

px(x) = x / real(width)
py(y) = 1 - y / real(height)
set multiplot
set border 0
unset key
unset xtics
unset ytics
set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0
set xrange [0:1]
set yrange [0:1]
set label 1 lines[1] at screen px(20), screen py(30) left font ",17" noenhanced
do for [i = 2:n_lines] {
    set label i lines[i] at screen px(20), screen py(height - foot + 19 * (i - 1)) left font ",10" \
        textcolor rgb "#555555" noenhanced
}
plot 2 with lines
do for [i = 1:n_lines] { unset label i }

set border 3 linecolor rgb "#888888"
set tics out scale 0.5 font ",10" textcolor rgb "#333333"
set grid xtics ytics linecolor rgb "#e4e4e4" linewidth 0.8
do for [i = 1:n] {
    column = (i - 1) % columns
    x = column * cell + left
    y = head + int((i - 1) / columns) * panel + above
    inner = cell - left - right
    set lmargin at screen px(x)
    set rmargin at screen px(x + inner)
    set tmargin at screen py(y)
    set bmargin at screen py(y + inner_height)
    set label 1 titles[i] at screen px(x), screen py(y - 18) left font ":Bold,13" noenhanced
    set xlabel x_labels[i] font ",11" offset 0,0.3 noenhanced
    set ylabel y_labels[i] font ",11" offset 0.6,0 noenhanced
    set logscale x 2
    set autoscale
    set format x (is_bytes(x_labels[i]) ? "%.0b%BB" : kinds[i] eq "map" ? "%.0b%B" : "%.0f")
    unset arrow
    unset label 2
    if (kinds[i] eq "map") {
        unset key
        set logscale y 2
        set format y "%.0b%B"
        set cbrange [0:1]
        set format cb "%.1f"
        set colorbox user origin screen px(x + inner + 14),screen py(y + inner_height) \
            size screen px(14),screen (py(y) - py(y + inner_height))
        set cbtics scale 0.4 font ",10"
        stats data index firsts[i] using 1 nooutput name "X"
        stats data index firsts[i] using 2 nooutput name "X2"
        stats data index firsts[i] using 3 nooutput name "Y"
        stats data index firsts[i] using 4 nooutput name "Y2"
        set xrange [X_min:X2_max]
        set yrange [Y_min:Y2_max]
        step = apart(X2_max / X_min)
        set xtics nomirror step**ceil(log(X_min) / log(step)),step
        step = apart(Y2_max / Y_min)
        set ytics nomirror step**ceil(log(Y_min) / log(step)),step
        plot data index firsts[i] using (sqrt($1 * $2)):(sqrt($3 * $4)):1:2:3:4:5 with boxxyerror \
            fillstyle solid noborder linecolor palette notitle
    } else {
        unset colorbox
        array names[blocks[i]]
        do for [k = 1:blocks[i]] {
            stats data index firsts[i] + k - 1 every ::0::0 using (names[k] = strcol(4), 0) nooutput
        }
        high = 0
        low = 1e300
        from = 1e300
        to = 0
        do for [k = 0:blocks[i] - 1] {
            stats data index firsts[i] + k using 1 nooutput name "X"
            stats data index firsts[i] + k using 2 nooutput name "Y"
            high = Y_max > high ? Y_max : high
            low = Y_min < low ? Y_min : low
            to = X_max > to ? X_max : to
            from = X_min < from ? X_min : from
        }
        if (from == to) { from = from / 2; to = to * 2 }
        set xrange [from / 1.1:to * 1.1]
        step = apart(to / from)
        set xtics nomirror step**ceil(log(from / 1.1) / log(step)),step
        if (high / low > 30) {
            set logscale y 10
            set format y "%g"
            set yrange [low / 1.5:high * 1.5]
            set ytics nomirror autofreq
        } else {
            unset logscale y
            set format y "%g"
            set yrange [0:(ceilings[i] eq "NaN" ? 1.08 : 1.15) * high]
            set ytics nomirror autofreq
        }
        set key at screen px(x + inner + 12),screen py(y - 2) left top Left reverse samplen 1.4 spacing 1.05 \
            font ",10" noenhanced
        if (ceilings[i] ne "NaN") {
            top = real(ceilings[i])
            if (high / low <= 30 && top > 1.1 * high) { set yrange [0:1.08 * top] }
            if (high / low > 30 && top > high) { set yrange [low / 1.5:top * 1.5] }
            set arrow 1 from graph 0, first top to graph 1, first top nohead dashtype 2 linecolor rgb "#888888"
            set label 2 ceiling_names[i] at graph 0.98, first top right offset 0,0.5 font ",10" \
                textcolor rgb "#666666" noenhanced
        }
        plot for [k = 1:blocks[i]] data index firsts[i] + k - 1 using 1:3 with lines linewidth 1.4 \
                 linecolor rgb color(k) notitle, \
             for [k = 1:blocks[i]] data index firsts[i] + k - 1 using 1:2 with points pointtype mark(k) \
                 pointsize 0.7 linecolor rgb color(k) title names[k]
        undefine names
    }
    unset label 1
}
unset multiplot
