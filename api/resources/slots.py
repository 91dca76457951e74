"""``/slots``: what each slot does, and its conversation saved, restored, erased."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any, TypeVar

import falcon

from api.context import ServingContext
from api.errors import ClientGone
from api.protocol.fields import text
from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource, send_json
from api.resources.facts import slot_object
from api.streams.client import WAIT_SLICE_S, Client
from llamactypes.engine import SlotFiles, SlotOrder, erase_slot, restore_slot, save_slot
from llamactypes.errors import EngineStopped, StateError

__all__ = ("SlotActions", "Slots")

T = TypeVar("T")


class Slots(Resource):
    """``GET /slots``."""

    needs_model = False

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show what each slot does."""
        if not self._context.settings.slots:
            raise InvalidRequest(
                "This server does not support slots endpoint. Start it with `--slots`",
                status=501,
                kind="not_supported_error",
            )
        states = self._context.engine.slots()
        is_busy = all(state.is_processing for state in states)
        if req.get_param("fail_on_no_slot") and is_busy:
            raise EngineStopped("no slot available")
        send_json(resp, [slot_object(state) for state in states])

    on_head = on_get


class SlotActions(Resource):
    """``POST /slots/{id}?action=save|restore|erase``, with ``--slot-save-path``."""

    def __init__(self, context: ServingContext) -> None:
        super().__init__(context)
        folder = context.settings.slot_save_path
        self._files = None if folder is None else SlotFiles(folder)

    def on_post(self, req: falcon.Request, resp: falcon.Response, slot_id: str) -> None:
        """Carry out one action as soon as the slot is idle."""
        if self._files is None:
            raise InvalidRequest(
                "This server does not support slots action. "
                "Start it with `--slot-save-path`",
                status=501,
                kind="not_supported_error",
            )
        slot = _slot_number(slot_id)
        action = req.get_param("action")
        if action == "save":
            reply = self._save(req, slot, self._files)
        elif action == "restore":
            reply = self._restore(req, slot, self._files)
        elif action == "erase":
            reply = {"n_erased": self._wait(req, erase_slot(slot))}
        else:
            raise InvalidRequest(
                "Invalid action: it must be save, restore or erase", "action"
            )
        send_json(resp, {"id_slot": slot, **reply})

    def _save(self, req: falcon.Request, slot: int, files: SlotFiles) -> dict[str, Any]:
        name, started = self._filename(req), time.perf_counter()
        try:
            files.check(name)
            saved = self._wait(req, save_slot(slot))
            n_written = files.write(name, saved)
        except ValueError as error:
            raise InvalidRequest(str(error), "filename") from None
        except StateError as error:
            raise InvalidRequest(
                f"Unable to save slot: {error}", status=500, kind="server_error"
            ) from None
        return {
            "filename": name,
            "n_saved": len(saved.tokens),
            "n_written": n_written,
            "timings": {"save_ms": _ms_since(started)},
        }

    def _restore(
        self, req: falcon.Request, slot: int, files: SlotFiles
    ) -> dict[str, Any]:
        name, started = self._filename(req), time.perf_counter()
        try:
            file = files.read(name)
            n_read = self._wait(req, restore_slot(slot, file))
        except ValueError as error:
            raise InvalidRequest(str(error), "filename") from None
        except StateError as error:
            raise InvalidRequest(
                f"Unable to restore slot: {error}", "filename"
            ) from None
        return {
            "filename": name,
            "n_restored": len(file.tokens),
            "n_read": n_read,
            "timings": {"restore_ms": _ms_since(started)},
        }

    def _filename(self, req: falcon.Request) -> str:
        name = text(self._read_json(req), "filename")
        if name is None:
            raise InvalidRequest.field("filename", "Value must be given")
        return name

    def _wait(self, req: falcon.Request, order: SlotOrder[T]) -> T:
        """Have an order carried out; a slot may be busy as long as a client may."""
        try:
            self._context.engine.order(order)
        except ValueError as error:
            raise InvalidRequest(str(error), "id_slot") from None
        client = Client(req.env)
        deadline = time.monotonic() + self._context.settings.timeout_s
        while True:
            try:
                return order.done.result(WAIT_SLICE_S)
            except TimeoutError:
                _check_patience(order.done, client, deadline)


def _check_patience(done: Future[Any], client: Client, deadline: float) -> None:
    """Take an order back that nobody, or nobody any longer, waits for.

    Raises:
        ClientGone: The client left.
        InvalidRequest: The slot was busy all the time.
    """
    if client.is_gone() and done.cancel():
        raise ClientGone
    if time.monotonic() > deadline and done.cancel():
        raise InvalidRequest(
            "the slot is busy: try again when its request has ended, or end it",
            status=503,
            kind="unavailable_error",
        )


def _slot_number(text: str) -> int:
    try:
        return int(text, 10)
    except ValueError:
        raise InvalidRequest(
            "Invalid slot ID: it must be a whole number", "id_slot"
        ) from None


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
