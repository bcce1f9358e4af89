"""Object stores: opens the store of a URL and lists its files."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from sqleval.common.imports import import_optional
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError, SourceError, SqlevalError, get_first_line
from sqleval.sources.formats import PREFIXES

#: Options of a store by name. Secrets come only from the environment.
OPTIONS = {
    "anonymous": "TRUE reads without credentials",
    "endpoint": "the URL of a server that speaks the store's protocol",
    "region": "the region of an S3 bucket",
    "account": "the account of an Azure container",
}
Storage = Mapping[str, str]
#: The number of attempts and the seconds of a request, after which an error names the file.
_ATTEMPTS, _CONNECT_SECONDS, _REQUEST_SECONDS = 5, 10, 60
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MAGIC = re.compile(r"[*?\[]")


class StoredFile(NamedTuple):
    """A file of a store: URL, path in the store, bytes, and time of modification in nanoseconds."""

    url: str
    path: str
    size: int
    modified: int


class ObjectStore(NamedTuple):
    """A file system of PyArrow, and the text before its paths in a URL."""

    filesystem: Any
    prefix: str


def _env(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _is_anonymous(storage: Storage) -> bool:
    return _TRUTHS[storage.get("anonymous", "false").lower()]


def _open_s3(fs: Any, storage: Storage, _: str) -> Any:
    # The AWS SDK reads keys, token, profile and region from its usual variables and files.
    region = {"region": storage["region"]} if "region" in storage else {}
    endpoint = storage.get("endpoint") or _env("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    return fs.S3FileSystem(
        anonymous=_is_anonymous(storage),
        endpoint_override=endpoint,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        **region,
    )


def _open_gcs(fs: Any, storage: Storage, _: str) -> Any:
    endpoint = storage.get("endpoint") or _env("STORAGE_EMULATOR_HOST")
    scheme, _, host = (endpoint or "").rpartition("://")
    server = {"endpoint_override": host, "scheme": scheme or "http"} if endpoint else {}
    limit = timedelta(seconds=_REQUEST_SECONDS)
    return fs.GcsFileSystem(anonymous=_is_anonymous(storage), retry_time_limit=limit, **server)


def _open_azure(fs: Any, storage: Storage, host: str) -> Any:
    account = storage.get("account") or host.partition(".")[0]
    account = account or _env("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    if not account:
        raise RequestError("az:// needs storage account=NAME, or AZURE_STORAGE_ACCOUNT_NAME")
    endpoint = storage.get("endpoint") or _env("AZURE_STORAGE_ENDPOINT")
    scheme, _, authority = (endpoint or "").rpartition("://")
    server = {"blob_storage_authority": authority, "blob_storage_scheme": scheme}
    server |= {"dfs_storage_authority": authority, "dfs_storage_scheme": scheme}
    return fs.AzureFileSystem(
        account,
        account_key=_env("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"),
        sas_token=_env("AZURE_STORAGE_SAS_TOKEN"),
        **(server if endpoint else {}),
    )


def _open_http(fs: Any, _: Storage, scheme: str) -> Any:
    fsspec = import_optional("fsspec", "http", f"{scheme}://")
    import_optional("aiohttp", "http", f"{scheme}://")
    # By default fsspec's cache reads 5 MB for each part of a file.
    site = fsspec.filesystem(scheme, cache_type="none")
    pa: Any = import_module("pyarrow")
    handler = fs.FSSpecHandler(site)
    # PyArrow's method would request the whole file to check that it exists, which is known here.
    handler.open_input_file = lambda path: pa.PythonFile(site.open(path), mode="r")  # pyright: ignore[reportUnknownLambdaType]
    return fs.PyFileSystem(handler)


_S3, _GCS, _AZURE, _HTTP = "s3", "gs", "az", "https"
#: The store of each scheme.
SCHEMES = {
    "s3": _S3, "s3a": _S3, "gs": _GCS, "gcs": _GCS, "az": _AZURE, "abfs": _AZURE,
    "abfss": _AZURE, "http": _HTTP, "https": _HTTP,
}  # fmt: skip
_OPENERS: dict[str, Callable[[Any, Storage, str], Any]] = {
    _S3: _open_s3, _GCS: _open_gcs, _AZURE: _open_azure, _HTTP: _open_http,
}  # fmt: skip


def check_storage(storage: object) -> dict[str, str]:
    """Return the options of a store as texts; raise `RequestError` for an unknown one."""
    if storage is None:
        return {}
    if not isinstance(storage, Mapping):
        raise RequestError(f"storage={storage!r} must map options to texts: {{'region': 'x'}}")
    texts = {str(name): value for name, value in cast("Mapping[object, object]", storage).items()}
    for name in texts:
        if name not in OPTIONS:
            listed = "; ".join(f"{option}: {what}" for option, what in OPTIONS.items())
            raise RequestError(
                f"storage= has no option {name!r}{find_nearest(name, OPTIONS)} ({listed}; keys and "
                "tokens come from the environment)"
            )
    options = {name: str(value) for name, value in texts.items() if value is not None}
    if (anonymous := options.get("anonymous", "false")).lower() not in _TRUTHS:
        raise RequestError(f"storage anonymous={anonymous!r} must be true or false")
    return options


@cache
def _open_store(scheme: str, host: str, storage: tuple[tuple[str, str], ...], _env: Any) -> Any:
    fs: Any = import_module("pyarrow.fs")
    about = scheme if SCHEMES[scheme] == _HTTP else host
    return _OPENERS[SCHEMES[scheme]](fs, dict(storage), about)


def open_store(url: str, storage: Storage) -> tuple[ObjectStore, str]:
    """Return the store of a URL, and the path of the URL there.

    Raises
    ------
    RequestError
        If the scheme is unknown, or the URL holds a password.
    SourceError
        If the store cannot be opened.
    """
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in SCHEMES:
        shown = re.sub(r"//.*@", "//...@", url)  # it may hold a password
        raise RequestError(
            f"{shown!r}: unknown scheme {scheme!r}{find_nearest(scheme, SCHEMES)}; known are "
            f"{', '.join(f'{name}://' for name in SCHEMES)}"
        )
    scheme = scheme.lower()
    authority = rest.partition("/")[0]
    if not authority or "\0" in url:
        raise RequestError(f"{url!r} names no bucket, container or server, or holds a NUL")
    if ":" in authority.rpartition("@")[0]:
        raise RequestError(
            f"a URL {scheme}://...@{authority.rpartition('@')[2]} may hold no password; keys come "
            "from the environment"
        )
    # Keep a connection until one of the variables changes with which it was opened.
    variables = tuple(sorted(kv for kv in os.environ.items() if kv[0].startswith(_VARIABLES)))
    host = ""
    if SCHEMES[scheme] == _HTTP:
        path, prefix = url, ""
    elif SCHEMES[scheme] == _AZURE and "@" in authority:
        parts = urlsplit(url)
        host, path = parts.hostname or "", f"{parts.username}{parts.path}"
        prefix = f"{scheme}://{parts.username}@{host}"
    else:
        path, prefix = rest, f"{scheme}://"
    pa: Any = import_module("pyarrow")
    try:
        filesystem = _open_store(scheme, host, tuple(sorted(storage.items())), variables)
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, SqlevalError):
            raise
        raise SourceError(f"cannot open the store of {url!r}: {shorten(error)}") from error
    return ObjectStore(filesystem, prefix), path.rstrip("/")


_KIND = re.compile(rf"(?:(?:delta|iceberg|lance)\+|ducklake:|{'|'.join(map(re.escape, PREFIXES))})")
_VARIABLES = ("AWS_", "GOOGLE_", "STORAGE_EMULATOR_HOST", "AZURE_")


def _write_url(prefix: str, path: str) -> str:
    # In abfss://container@account/path the container stands before the host.
    return f"{prefix}/{path.partition('/')[2]}" if "@" in prefix else f"{prefix}{path}"


def shorten(error: BaseException) -> str:
    """Return the first line of an error of PyArrow, without the detail that repeats it."""
    return get_first_line(error).partition(" Detail:")[0].strip()


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern with ``**/``, ``*``, ``?`` and ``[...]``."""
    tokens = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]]+\])", pattern)
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    written = (
        wildcards.get(token) or (_write_set(token) if _is_set(token) else re.escape(token))
        for token in tokens
    )
    try:
        return re.compile("".join(written))
    except re.error as error:
        raise RequestError(f"{pattern!r} is not a pattern: {error}") from error


def _is_set(token: str) -> bool:
    return token.startswith("[") and token.endswith("]") and len(token) > 2


def _write_set(token: str) -> str:
    # Like * and ?, a set that excludes characters does not match a slash. A bracket in a set is a
    # character.
    characters = token[1:-1].replace("[", r"\[")
    return f"[^/{characters[1:]}]" if token.startswith("[!") else f"[{characters}]"


def _find_reason(store: ObjectStore, base: str, error: Exception) -> Exception:
    """Return an error with the store's reason, if the first answer has none.

    An answer to HEAD has no body, but the answer to a listing names an expired token, for example.
    """
    pa: Any = import_module("pyarrow")
    fs: Any = import_module("pyarrow.fs")
    if "No response body" not in str(error):
        return error
    try:
        store.filesystem.get_file_info(fs.FileSelector(base, allow_not_found=True))
    except (OSError, pa.ArrowException) as refusal:
        return refusal
    return error


def _list_infos(store: ObjectStore, base: str, url: str, *, is_http: bool) -> tuple[Any, bool]:
    """Return the infos of the file at a path, or of the files below it; also whether it is one."""
    pa: Any = import_module("pyarrow")
    fs: Any = import_module("pyarrow.fs")
    try:
        infos = store.filesystem.get_file_info([base])
        is_file = infos[0].is_file
        if not is_file and not is_http:
            selector = fs.FileSelector(base, allow_not_found=True, recursive=True)
            infos = store.filesystem.get_file_info(selector)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = shorten(_find_reason(store, base, error))
        raise SourceError(f"cannot list {url!r}: {reason}") from error
    return [info for info in infos if info.is_file], is_file


def list_stored(url: str, storage: Storage) -> tuple[ObjectStore, list[StoredFile], bool]:
    """List the files of a URL, which may be a pattern or a folder.

    Returns
    -------
    tuple of ObjectStore, list of StoredFile, bool
        The store, its files in order, and whether the URL is a folder.

    Raises
    ------
    SourceError
        If nothing is there, or it cannot be listed.
    """
    store, path = open_store(url, storage)
    is_http = SCHEMES[url.partition("://")[0].lower()] == _HTTP
    magic = None if is_http else _MAGIC.search(path)
    matches: Sequence[Any] = []
    is_folder = False
    if magic:
        fits = compile_pattern(path).fullmatch
        base = path[: magic.start()].rpartition("/")[0]
        infos, _ = _list_infos(store, base, url, is_http=is_http)
        # The key of a file or folder may contain wildcard characters.
        is_key = any(f"{info.path}/".startswith(f"{path}/") for info in infos)
        matches = [] if is_key else [info for info in infos if fits(info.path)]
    if not matches:
        matches, is_file = _list_infos(store, path, url, is_http=is_http)
        is_folder = not is_file
    if not matches:
        raise SourceError(f"no file matches {url!r}" if magic else f"no such file: {url!r}")
    files = [
        StoredFile(
            _write_url(store.prefix, info.path), info.path, info.size or 0, info.mtime_ns or 0
        )
        for info in sorted(matches, key=lambda info: info.path)
    ]
    return store, files, is_folder


def split_kind(path: str) -> tuple[str, str]:
    """Return the kind that precedes a path, such as ``delta+`` or ``csv+``, and the path."""
    match = _KIND.match(path)
    return (match[0], path[match.end() :]) if match else ("", path)


def expand_home(path: str) -> str:
    """Return a path with the home folder for its ``~``; return other texts unchanged."""
    kind, place = split_kind(path)
    if place.startswith("~"):
        with suppress(RuntimeError, ValueError):  # without such a user it is the name of a file
            return kind + str(Path(place).expanduser())
    return path


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def write_variables(storage: Storage) -> dict[str, str]:
    """Return the options of a store as the variables that the libraries in Rust read."""
    endpoint = storage.get("endpoint") or _env("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    region = storage.get("region") or _env("AWS_REGION", "AWS_DEFAULT_REGION")
    variables = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region}
    if endpoint and endpoint.startswith("http://"):
        variables["AWS_ALLOW_HTTP"] = "true"
    if _is_anonymous(storage):
        variables["AWS_SKIP_SIGNATURE"] = "true"
    if "account" in storage:
        variables["AZURE_STORAGE_ACCOUNT_NAME"] = storage["account"]
    return {name: value for name, value in variables.items() if value}


def list_local(paths: Sequence[str]) -> tuple[ObjectStore, list[StoredFile]]:
    """Return local files as the files of a store."""
    fs: Any = import_module("pyarrow.fs")
    stats = [(path, os.stat(path)) for path in paths]  # noqa: PTH116
    files = [StoredFile(path, path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
    return ObjectStore(fs.LocalFileSystem(), ""), files


def read_first_bytes(path: str) -> bytes:
    """Return the beginning of a local text file, compressed or not; empty if that fails."""
    pa: Any = import_module("pyarrow")
    fs: Any = import_module("pyarrow.fs")
    try:
        with fs.LocalFileSystem().open_input_stream(path) as stream:
            return stream.read(65_536)
    except (OSError, pa.ArrowException):
        return b""


def iterate_lines(filesystem: Any, path: str, encoding: str) -> Iterator[str]:
    """Yield the lines of a text file of a store, compressed or not.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    pa: Any = import_module("pyarrow")
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    try:
        with filesystem.open_input_stream(path) as stream:
            for line in io.TextIOWrapper(stream, name, errors="replace"):
                yield line.rstrip("\r\n")
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, SqlevalError):
            raise
        raise SourceError(f"cannot read {path!r}: {shorten(error)}") from error
