"""ccgrep model: show the embedding model, `list` the tried ones, or download one with `pull`."""

from types import SimpleNamespace

from ccgrep.cli.context import Context
from ccgrep.errors import UsageError
from ccgrep.ops.model import describe_model, list_models, pull_model
from ccgrep.output.json_document import encode_document
from ccgrep.output.report_text import model_lines, tried_model_lines
from ccgrep.text import one_line


def run(arguments: SimpleNamespace, context: Context) -> int:
    context.prepare_encoders()
    config = context.config(model=arguments.model)
    words = arguments.action
    if words == ["list"]:
        return _list(arguments, context)
    if words and (words[0] != "pull" or len(words) != 2):
        raise UsageError(
            f"invalid arguments '{one_line(' '.join(words))}': use `ccgrep model`, "
            "`ccgrep model list` or `ccgrep model pull NAME`"
        )
    info = pull_model(config, words[1]) if words else describe_model(config)
    if arguments.json:
        context.write(encode_document(info._asdict()))
    else:
        context.write_lines(model_lines(info))
    return 0


def _list(arguments: SimpleNamespace, context: Context) -> int:
    models = list_models()
    if arguments.json:
        context.write(encode_document({"models": [model._asdict() for model in models]}))
    else:
        context.write_lines(tried_model_lines(models))
    return 0
