"""One module a command; each has `run(arguments, context)`."""
