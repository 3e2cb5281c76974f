# What each does is in scripts/. Arguments: make bench ARGS='--scales 0.1'
.PHONY: test long bench demo

test:
	sh scripts/test $(ARGS)

long:
	sh scripts/long $(ARGS)

bench:
	sh scripts/bench $(ARGS)

demo:
	sh scripts/demo
