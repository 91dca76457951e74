"""Ownership of native objects: freed once, children first, never before their users.

The finaliser of a child holds its parent's lifeline, so that a garbage-collection cycle
cannot free a model before its context; parents know their children weakly.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from llamactypes.errors import ClosedError

if TYPE_CHECKING:
    from typing import Self

HandleT = TypeVar("HandleT")


class Lifeline:
    """The native object lives as long as this does; owner and views share it.

    A view that held its owner, which holds the view, would be a cycle that only the
    garbage collector can free; through the lifeline both go at the last reference.
    """

    __slots__ = ("__weakref__",)


class NativeObject(Generic[HandleT]):
    """An owner of one native handle: context manager, idempotent `close()`, finaliser.

    A subclass calls `_own` once the native object exists; until then it counts as
    closed, so that an `__init__` that raises leaves nothing behind.
    """

    _closes_after_siblings = False
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
        finaliser would keep this object alive for ever. What `parent` owns is kept
        alive until `free` has run.
        """
        self._handle = handle
        # By id, weakly: a plain dict is copied in one step while other threads add.
        self._children: dict[int, weakref.ref[NativeObject[Any]]] = {}
        self._lifeline = Lifeline()
        # Never `parent` itself: if it refers to this object, neither would ever die.
        parent_line = None if parent is None else parent._lifeline
        self._finalizer = weakref.finalize(
            self._lifeline, _run_free, free, (handle, *held), parent_line
        )
        if parent is not None:
            parent._adopt(self)
            if parent.closed:
                self.close()
                raise ClosedError(f"the {type(parent).__name__} was closed meanwhile")

    def _adopt(self, child: NativeObject[Any]) -> None:
        children = self._children
        key = id(child)
        children[key] = weakref.ref(child, lambda _: children.pop(key, None))

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
        children = self._live_children()
        for child in sorted(children, key=lambda one: one._closes_after_siblings):
            child.close()
        self._handle = None
        self._finalizer()

    def _live_children(self) -> list[NativeObject[Any]]:
        """Return the children that still exist, oldest first."""
        found = [reference() for reference in list(self._children.values())]
        return [child for child in found if child is not None]

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
    parent_line: Lifeline | None,
) -> None:
    # The reference to `parent_line` is its purpose: the parent outlives `free`.
    free(*arguments)
