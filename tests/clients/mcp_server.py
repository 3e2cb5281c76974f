"""A tiny MCP server over standard input and output, with one tool: it counts animals."""

import json
import sys
from typing import Any

_TOOL = {
    "name": "count",
    "description": "Count animals.",
    "inputSchema": {
        "type": "object",
        "properties": {"animal": {"type": "string"}},
        "required": ["animal"],
    },
}


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request. Unknown methods have an empty one."""
    params = request.get("params") or {}
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "zoo", "version": "1"},
            }
        case "tools/list":
            return {"tools": [_TOOL]}
        case "tools/call":
            text = f"7 {params['arguments']['animal']}s"
            return {"content": [{"type": "text", "text": text}]}
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": reply(request)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
