## The library: every layer, bottom to top.
include %D%/units/local.mk
include %D%/conf/local.mk
include %D%/sim/local.mk
include %D%/cluster/local.mk
include %D%/cost/local.mk
include %D%/net/local.mk
include %D%/calibrate/local.mk
include %D%/llm/local.mk
include %D%/plan/local.mk
include %D%/schedule/local.mk
include %D%/step/local.mk
include %D%/job/local.mk
include %D%/search/local.mk
include %D%/report/local.mk
include %D%/cli/local.mk
