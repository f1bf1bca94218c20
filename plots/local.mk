## gnuplot scripts, installed.
nobase_dist_pkgdata_DATA += %D%/gantt.gp
nobase_dist_pkgdata_DATA += %D%/sweep.gp
