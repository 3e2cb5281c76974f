"""ccgrep restore: write deleted transcripts back to disk."""

import os
from types import SimpleNamespace

from ccgrep.cli.context import Context, read_refs
from ccgrep.errors import UsageError
from ccgrep.ops.restore import (
    NotRestorableError,
    RestoredFile,
    RestoreOptions,
    list_versions,
    restore,
)
from ccgrep.output.json_document import encode_document, restore_fields, version_fields
from ccgrep.output.report_text import restore_lines, version_lines
from ccgrep.text import one_line


def run(arguments: SimpleNamespace, context: Context) -> int:
    config = context.config()
    refs = read_refs(arguments.ref)
    if len(refs) > 1 and (arguments.versions or arguments.version is not None):
        raise UsageError("--version and --versions take one REF")
    if arguments.versions:
        versions = list_versions(config, refs[0])
        if arguments.json:
            context.write(encode_document(version_fields(versions)))
        else:
            context.write_lines(version_lines(versions, context.now_ms))
        return 0
    if arguments.to and os.path.exists(arguments.to) and not os.path.isdir(arguments.to):
        raise UsageError(f"{one_line(arguments.to)} is not a directory: name another one with --to")
    options = RestoreOptions(
        directory=os.path.abspath(arguments.to) if arguments.to else "",
        version=arguments.version,
        is_forced=arguments.force,
        is_dry_run=arguments.dry_run,
    )
    files: list[RestoredFile] = []
    is_complete = True
    for ref in refs:
        try:
            files += restore(config, ref, options)
        except NotRestorableError as error:
            is_complete = False
            context.warn(str(error))
    if arguments.json:
        context.write(encode_document(restore_fields(files)))
    else:
        context.write_lines(restore_lines(files))
    if any(file.state == "different" for file in files):
        is_complete = False
        context.warn("a file differs from the stored one: use --force to replace it with a backup")
    if any(file.state == "rebuilt" for file in files):
        context.warn("rebuilt from turns, without thinking and images: their bytes are not stored")
    return 0 if is_complete else 2
