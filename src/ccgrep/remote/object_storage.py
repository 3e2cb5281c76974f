"""Buckets: S3, Google Cloud Storage and Azure through obstore.

obstore takes credentials from the environment, such as AWS_ACCESS_KEY_ID. It does not know the
files of the AWS command line, so ccgrep reads them.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PreconditionError,
)
from obstore.store import from_url

from ccgrep.errors import RemoteError
from ccgrep.remote.storage import (
    ChangedFileError,
    ListedFile,
    MissingFileError,
    StorageError,
)

T = TypeVar("T")

_NO_ETAG = "no etag "
_METADATA = "169.254.169.254"
"""The address that tells credentials to a machine of the cloud itself. obstore tries it last."""

_PROFILE_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token", "region")
_REQUESTS = 3
"""A push uploads two packs at once."""

_RETRY = {"max_retries": 3, "retry_timeout": timedelta(minutes=5)}
_TIMEOUTS = {"connect_timeout": timedelta(seconds=30), "timeout": timedelta(minutes=15)}
"""A pack has 32 MB. The default of 30 seconds is too short for it on most home connections."""


class _UnsupportedError(StorageError):
    """The server knows no preconditions, and says so."""


class ObjectStorage:
    """A bucket, or the files below a prefix of it."""

    def __init__(self, url: str, endpoint: str, variables: Mapping[str, str]) -> None:
        self._url = url
        self._endpoint = endpoint
        options: dict[str, Any] = {"client_options": dict(_TIMEOUTS)}
        if url.startswith("s3://") and not variables.get("AWS_ACCESS_KEY_ID"):
            options |= _read_profile(variables)
        if endpoint:
            if not _is_http(endpoint):
                raise RemoteError(f"'{endpoint}' is not an endpoint: use https://HOST")
            options["endpoint"] = endpoint
            options["virtual_hosted_style_request"] = False
            options["client_options"]["allow_http"] = endpoint.startswith("http://")
        with self._explain("open", ""):
            self._store: Any = from_url(url, retry_config=_RETRY, **options)
        self._pool = ThreadPoolExecutor(_REQUESTS)

    def list(self) -> list[ListedFile]:
        with self._explain("list", ""):
            return self._wait(
                lambda: [_describe(one) for part in obstore.list(self._store) for one in part]
            )

    def get(self, path: str) -> bytes:
        with self._explain("read", path):
            return self._wait(lambda: bytes(obstore.get(self._store, path).bytes()))

    def put(self, path: str, data: bytes) -> None:
        self._put(path, data, "overwrite")

    def replace(self, path: str, data: bytes, tag: str) -> None:
        """Send a precondition, unless the server has no ETags. Some servers ignore it."""
        mode: Any = {"e_tag": tag} if tag else "create"
        if tag.startswith(_NO_ETAG):
            mode = "overwrite"
        try:
            self._put(path, data, mode)
        except _UnsupportedError:
            self.put(path, data)

    def delete(self, path: str) -> None:
        with self._explain("delete", path):
            self._wait(lambda: obstore.delete(self._store, path))

    def _put(self, path: str, data: bytes, mode: Any) -> None:
        with self._explain("write", path):
            self._wait(lambda: obstore.put(self._store, path, data, use_multipart=False, mode=mode))

    def _wait(self, request: Callable[[], T]) -> T:
        """Run a request in a thread: Ctrl-C cannot end it, but can end the wait for it."""
        return self._pool.submit(request).result()

    @contextmanager
    def _explain(self, verb: str, path: str) -> Iterator[None]:
        """Turn an error of the library into one line."""
        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise ChangedFileError(f"{path} was changed by another machine") from None
        except (NotSupportedError, NotImplementedError):
            raise _UnsupportedError(f"{self._url} cannot {verb} {path} like this") from None
        except FileNotFoundError:
            if verb != "delete":
                raise MissingFileError(f"{path} is not in {self._url}") from None
        except (BaseError, OSError, ValueError) as error:
            text = str(error)
            if _METADATA in text:
                raise StorageError(
                    f"cannot {verb} {self._url}, there are no credentials: set AWS_ACCESS_KEY_ID "
                    "and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
                ) from error
            name = f"{self._url}/{path}" if path else self._url
            if "501 Not Implemented" in text:
                raise _UnsupportedError(f"{name} does not support this") from error
            place = f"{name} at {self._endpoint}" if self._endpoint else name
            cause = _find_cause(text)
            raise StorageError(
                f"cannot {verb} {place} ({cause}): check the address and the credentials"
            ) from error


def _find_cause(text: str) -> str:
    """Return the cause in a message of obstore, which first repeats request, time and settings.

    A server's answer is XML with one sentence for people.
    """
    line = " ".join(text.partition("Debug source")[0].split())
    cause, _, answer = line.split(" - ", 1)[-1].partition(": <")
    cause = cause.removeprefix("Server returned non-2xx status code: ")
    message = answer.partition("<Message>")[2].partition("</Message>")[0].rstrip(".")
    return ": ".join(filter(None, (cause, message)))[:300]


def _describe(file: Any) -> ListedFile:
    modified = file["last_modified"].timestamp()
    tag = file["e_tag"] or f"{_NO_ETAG}{modified}-{file['size']}"
    return ListedFile(file["path"], file["size"], modified, tag)


def _read_profile(variables: Mapping[str, str]) -> dict[str, str]:
    """Return credentials and region of the profile AWS_PROFILE in the files of the AWS tools."""
    profile = variables.get("AWS_PROFILE") or "default"
    folder = os.path.join(variables.get("HOME", ""), ".aws")
    config = variables.get("AWS_CONFIG_FILE") or os.path.join(folder, "config")
    shared = variables.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.join(folder, "credentials")
    found: dict[str, str] = {}
    for path, prefix in ((config, "profile "), (shared, "")):
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (ConfigError, UnicodeDecodeError) as error:
            raise RemoteError(f"{path} is damaged: {' '.join(str(error).split())}") from error
        section = profile if profile == "default" else f"{prefix}{profile}"
        if parser.has_section(section):
            found |= {name: value for name, value in parser[section].items() if value}
    if variables.get("AWS_REGION"):
        found.pop("region", None)
    return {name: found[name] for name in _PROFILE_KEYS if name in found}


def _is_http(url: str) -> bool:
    scheme, _, rest = url.partition("://")
    return scheme in ("http", "https") and rest.split() == [rest] and rest[0].isalnum()
