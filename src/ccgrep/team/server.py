"""Calls the functions of a team's server.

One call is one query and one answer. It uses libpq without waiting in it, so that a server that
does not answer costs no more than the time limit.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import msgspec

from ccgrep.errors import RemoteError
from ccgrep.team import libpq
from ccgrep.team.address import Address, hide_password
from ccgrep.team.libpq import BrokenConnectionError, Connection, MissingLibraryError, Result
from ccgrep.text import one_line

TIMEOUT_S = 3.0
_CONNECT_TIMEOUT_S = 10.0
VERSION = 3
"""The version of the schema that this ccgrep calls and `team init` makes."""
_OPTIONS = "-c client_min_messages=warning"
_KEEP_ALIVE = "keepalives_idle=20&keepalives_interval=5&keepalives_count=3"
"""A push notices within a minute that the network is gone."""


class TeamError(RemoteError):
    """The team's server cannot be reached, refuses the call or does not answer in time."""


class LockedError(TeamError):
    """A statement waited longer for a lock than it may."""


class Server:
    """A connection to a team's server, opened by the first call."""

    def __init__(self, address: Address, timeout_s: float | None = TIMEOUT_S) -> None:
        """Without `timeout_s`, only connecting is limited."""
        self._address = address
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self._deadline: float | None = None
        self._is_pending = False

    @property
    def url(self) -> str:
        return hide_password(self._address.url)

    def call(self, function: str, question: dict[str, Any]) -> list[Any]:
        """Call `cc.<function>` and return its rows."""
        self.start(function, question)
        return self.finish()

    def start(self, function: str, question: dict[str, Any]) -> None:
        """Begin a call. The server works on it until `finish` returns its rows."""
        data = msgspec.json.encode({"version": VERSION, **question})
        self._send(f"select cc.{function}($1)::text", [data])

    def advance(self) -> None:
        """Send what the network takes of a call, without waiting."""
        if self._is_pending:
            with self._closed_on_failure() as connection:
                connection.flush()

    def finish(self) -> list[Any]:
        return [msgspec.json.decode(row[0]) for row in self._receive().rows]

    def query(self, sql: str, values: list[bytes] | None = None) -> list[list[bytes]]:
        """Run one statement with parameters in text format, and return its rows."""
        return self._run(sql, values or []).rows

    def run_script(self, sql: str) -> None:
        """Run several statements without parameters as one transaction."""
        self._run(sql, None)

    def close(self) -> None:
        self._is_pending = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, sql: str, values: list[bytes] | None) -> Result:
        self._send(sql, values)
        return self._receive()

    def _send(self, sql: str, values: list[bytes] | None) -> None:
        if self._is_pending:
            self.close()  # An interrupted call left it.
        limit = self._timeout_s
        self._deadline = None if limit is None else time.monotonic() + limit
        self._open(self._deadline or time.monotonic() + _CONNECT_TIMEOUT_S)
        with self._closed_on_failure() as connection:
            connection.send(sql, values)
            connection.flush()
        self._is_pending = True

    def _receive(self) -> Result:
        """Return the result of the statement that was sent."""
        with self._closed_on_failure() as connection:
            result = self._wait(connection, self._deadline)
        self._is_pending = False
        if not result.is_error:
            return result
        if connection.is_bad:
            self.close()
        raise self._refusal(result)

    @contextmanager
    def _closed_on_failure(self) -> Iterator[Connection]:
        """Yield the connection. One that fails is not used again."""
        assert self._connection is not None
        try:
            yield self._connection
        except TeamError:
            self.close()
            raise
        except BrokenConnectionError as error:
            self.close()
            raise self._error(str(error)) from error

    def _open(self, deadline: float) -> Connection:
        if self._connection is None:
            try:
                self._connection = self._connect(deadline)
            except MissingLibraryError:
                raise TeamError(
                    "a team's server needs libpq: run `pip install 'ccgrep[team]'`"
                ) from None
        return self._connection

    def _connect(self, deadline: float) -> Connection:
        limit = "" if self._timeout_s is None else f" -c statement_timeout={self._timeout_s}s"
        whole = self._address.whole()
        mark = "&" if "?" in whole else "?"
        options = f"{_OPTIONS}{limit}".replace(" ", "%20").replace("=", "%3D")
        url = (
            f"{whole}{mark}application_name=ccgrep&client_encoding=UTF8&options={options}"
            f"&{_KEEP_ALIVE}"
        )
        connection = self._start(url, deadline)
        while not connection.is_bad:
            state = connection.connect()
            if state == libpq.READY:
                return connection
            if state == libpq.FAILED:
                break
            is_reading = state == libpq.READING
            self._wait_for(connection, deadline, is_reading, not is_reading)
        message = connection.message
        connection.close()
        raise self._error(message)

    def _start(self, url: str, deadline: float) -> Connection:
        """Start to connect, in a thread: libpq looks up names, which may take long."""
        started: list[Connection | Exception] = []

        def start() -> None:
            try:
                started.append(Connection(url))
            except (BrokenConnectionError, MissingLibraryError) as error:
                started.append(error)

        thread = Thread(target=start, daemon=True)
        thread.start()
        thread.join(max(deadline - time.monotonic(), 0))
        if not started:
            raise self._timeout()
        if isinstance(started[0], Exception):
            raise started[0]
        return started[0]

    def _wait(self, connection: Connection, deadline: float | None) -> Result:
        """Return the last result, or the first error."""
        found: Result | None = None
        while True:
            is_flushed = connection.flush()
            while is_flushed and not connection.is_busy:
                result = connection.result()
                if result is None:
                    if found is None:
                        raise BrokenConnectionError(connection.message)
                    return found
                found = found if found is not None and found.is_error else result
            self._wait_for(connection, deadline, True, not is_flushed)
            connection.receive()

    def _wait_for(
        self, connection: Connection, deadline: float | None, is_reading: bool, is_writing: bool
    ) -> None:
        events = select.POLLIN * is_reading | select.POLLOUT * is_writing
        poll = select.poll()
        poll.register(connection.socket, events)
        left = None if deadline is None else max(deadline - time.monotonic(), 0) * 1000
        if not poll.poll(left):
            raise self._timeout()

    def _timeout(self) -> TeamError:
        if self._timeout_s is None:
            return TeamError(f"{self.url} did not answer within {_CONNECT_TIMEOUT_S:g} s")
        return TeamError(
            f"{self.url} did not answer within {self._timeout_s:g} s: search without -R, or "
            "raise the setting `team_timeout_s`"
        )

    def _error(self, message: str) -> TeamError:
        lines = hide_password(message).strip().splitlines()
        return TeamError(f"cannot reach {self.url}: {lines[0] if lines else 'no answer'}")

    def _refusal(self, result: Result) -> TeamError:
        code, text = result.code, result.message
        if code == "57014" and self._timeout_s is not None:
            return self._timeout()
        if code == "55P03":
            return LockedError(f"{self.url}: {one_line(text)}")
        if code in ("3F000", "42883", "42501", "42P01"):
            return TeamError(
                f"{self.url} is not a team's server for you: ask for `ccgrep team init` and "
                f"`ccgrep team grant` ({text})"
            )
        # Errors of ccgrep's own functions begin with `cc:`, PL/Proxy names the server before them.
        return TeamError(f"{self.url}: {one_line(text.partition('cc: ')[2] or text)}")
