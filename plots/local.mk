## gnuplot scripts, installed.
