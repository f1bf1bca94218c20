## Unit tests and fuzz targets, layer by layer.
include %D%/units.mk
include %D%/conf.mk
include %D%/sim.mk
include %D%/cluster.mk
include %D%/cost.mk
include %D%/net.mk
include %D%/calibrate.mk
include %D%/llm.mk
include %D%/plan.mk
include %D%/schedule.mk
include %D%/step.mk
include %D%/job.mk
include %D%/search.mk
include %D%/report.mk
include %D%/cli.mk
include %D%/calib.mk
