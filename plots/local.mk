## gnuplot scripts, installed.
nobase_dist_pkgdata_DATA += %D%/calibration.gp
nobase_dist_pkgdata_DATA += %D%/collective.gp
nobase_dist_pkgdata_DATA += %D%/memory.gp
nobase_dist_pkgdata_DATA += %D%/samples.gp
nobase_dist_pkgdata_DATA += %D%/schedules.gp
nobase_dist_pkgdata_DATA += %D%/sweep.gp
