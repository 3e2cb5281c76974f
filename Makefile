# Shortcuts for scripts/. Arguments: make bench ARGS='--scales 0.1'
.PHONY: test long matrix clients bench demo

test:
	sh scripts/test $(ARGS)

long:
	sh scripts/long $(ARGS)

matrix:
	sh scripts/matrix $(ARGS)

clients:
	sh scripts/clients $(ARGS)

bench:
	sh scripts/bench $(ARGS)

demo:
	sh scripts/demo
