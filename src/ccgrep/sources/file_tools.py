"""The tools of all agents that read or change files, or run commands, by their lower-case names.

Inputs are stored as the clients wrote them. So this table has the names of their fields too.
"""

from typing import Literal

Action = Literal["read", "wrote", "edited", "deleted"]

ACTIONS: dict[str, Action] = {
    **dict.fromkeys(
        ("read", "notebookread", "read_file", "view_image", "view", "copilot_readfile"), "read"
    ),
    **dict.fromkeys(
        ("write", "write_file", "create_file", "create", "write_to_file", "copilot_createfile"),
        "wrote",
    ),
    **dict.fromkeys(
        (
            *("edit", "multiedit", "notebookedit", "edit_file", "replace", "strreplace"),
            *("str_replace", "str_replace_editor", "search_replace", "replace_in_file"),
            *("apply_diff", "copilot_replacestring", "replace_string_in_file"),
            *("editor", "apply_edit"),
        ),
        "edited",
    ),
    **dict.fromkeys(("delete", "delete_file"), "deleted"),
}

PATH_FIELDS = (*("file_path", "notebook_path", "path", "filePath", "absolute_path", "target_file"),)
CONTENT_FIELDS = ("content", "contents", "file_text")
"""The whole text of a written file."""
REPLACED_FIELDS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
)
"""A text in a file, and what takes its place."""
REPEAT_FIELDS = ("replace_all", "replaceAll")
DIFF_FIELD = "diff"
"""Blocks of a text to search and its replacement, between lines of marks."""

SHELL_TOOLS = frozenset(
    "bash shell shell_command exec_command exec local_shell run_shell_command run_terminal_cmd"
    " run_in_terminal execute_command".split()
)
"""Tools that run a command, which may contain a patch."""
