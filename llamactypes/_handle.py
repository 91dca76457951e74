"""Ownership of native objects: freed once, children first, never before their users.

The finaliser of a child holds its parent, so that a garbage-collection cycle cannot
free a model before its context; parents know their children weakly.
"""

from __future__ import annotations

import time
import weakref
from _thread import allocate_lock
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from llamactypes.errors import ClosedError

if TYPE_CHECKING:
    from typing import Self

HandleT = TypeVar("HandleT")

_GATE_POLL_S = 0.001


class NativeObject(Generic[HandleT]):
    """An owner of one native handle: context manager, idempotent `close()`, finaliser.

    A subclass calls `_own` once the native object exists; until then it counts as
    closed, so that an `__init__` that raises leaves nothing behind.
    """

    _handle: HandleT | None = None
    _finalizer: weakref.finalize[..., Any] | None = None

    def _own(
        self,
        handle: HandleT,
        free: Callable[..., None],
        *held: object,
        parent: NativeObject[Any] | None = None,
    ) -> None:
        """Take ownership of `handle`; ``free(handle, *held)`` runs exactly once.

        `free` must be a module function and `held` must not contain `self`: the
        finaliser would keep this object alive for ever. `parent` is kept alive until
        `free` has run.
        """
        self._handle = handle
        # Keyed by id: a plain dict is copied in one step while other threads add.
        self._children: dict[int, weakref.ref[NativeObject[Any]]] = {}
        self._finalizer = weakref.finalize(
            self, _run_free, free, (handle, *held), parent, id(self)
        )
        if parent is not None:
            parent._children[id(self)] = weakref.ref(self)
            if parent.closed:
                self.close()
                raise ClosedError(f"the {type(parent).__name__} was closed meanwhile")

    @property
    def raw(self) -> HandleT:
        """The native handle, for calls into `llamactypes.bindings`.

        Raises:
            ClosedError: The object was closed.
        """
        handle = self._handle
        if handle is None:
            raise ClosedError(f"this {type(self).__name__} was closed")
        return handle

    @property
    def closed(self) -> bool:
        """Whether the native object is gone (or never came to be)."""
        return self._handle is None

    def close(self) -> None:
        """Free the native object, its children first; a second call does nothing."""
        if self._finalizer is None:
            return
        for reference in list(self._children.values()):
            child = reference()
            if child is not None:
                child.close()
        self._handle = None
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _run_free(
    free: Callable[..., None],
    arguments: tuple[object, ...],
    parent: NativeObject[Any] | None,
    key: int,
) -> None:
    # The finaliser's reference keeps `parent` alive until `free` has run.
    free(*arguments)
    if parent is not None:
        parent._children.pop(key, None)


class Gate:
    """Lets any thread use a handle while another may close it.

    Users enter with ``with gate:``; `shut` refuses newcomers and waits for those
    inside. The lock covers two integers, never a native call.
    """

    __slots__ = ("_is_shut", "_lock", "_n_inside")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._n_inside = 0
        self._is_shut = False

    def __enter__(self) -> None:
        with self._lock:
            if self._is_shut:
                raise ClosedError("the model of this vocabulary was closed")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1

    def shut(self, timeout_s: float) -> bool:
        """Refuse newcomers; return whether everybody inside left within `timeout_s`."""
        with self._lock:
            self._is_shut = True
        deadline = time.monotonic() + timeout_s
        while self._n_inside and time.monotonic() < deadline:
            time.sleep(_GATE_POLL_S)
        return self._n_inside == 0
