from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from llamactypes import (
    Batch,
    ClosedError,
    Context,
    ContextParams,
    Model,
    SamplerChain,
    SamplingParams,
)
from llamactypes.gate import Gate
from tests.support.models import ROOT, tiny_model
from tests.support.waiting import eventually

SMALL = ContextParams(n_ctx=256, n_threads=1)


@pytest.fixture
def freed(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was freed so far, in order: first words of the log lines."""
    gc.collect()  # nothing of earlier tests may be freed in between
    caplog.set_level(logging.INFO, logger="llamactypes.objects")
    caplog.clear()

    class Freed(list[str]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter([r.message.split(":")[0] for r in caplog.records])

    return Freed()


def test_closing_a_model_frees_its_contexts_first(
    tiny_model_path: Path, freed: list[str]
) -> None:
    model = Model(tiny_model_path)
    Context(model, SMALL).check_owner()
    context = Context(model, SMALL)
    gc.collect()
    model.close()
    assert context.closed
    assert list(freed) == ["context freed", "context freed", "model freed"]


def test_closing_twice_frees_once(tiny_model_path: Path, freed: list[str]) -> None:
    model = Model(tiny_model_path)
    context = Context(model, SMALL)
    context.close()
    context.close()
    model.close()
    model.close()
    assert list(freed) == ["context freed", "model freed"]


def test_a_context_keeps_its_model_alive(
    tiny_model_path: Path, freed: list[str]
) -> None:
    context = Context(Model(tiny_model_path), SMALL)
    assert list(freed) == []
    assert context.model.vocab.n_tokens > 0
    del context
    assert list(freed) == ["context freed", "model freed"]


def test_views_keep_their_owner_alive(tiny_model_path: Path, freed: list[str]) -> None:
    vocab = Model(tiny_model_path).vocab
    memory = Context(Model(tiny_model_path), SMALL).memory
    assert list(freed) == []
    assert vocab.tokenize("the day")
    assert memory.seq_pos_max(0) == -1
    del memory, vocab
    assert list(freed) == ["context freed", "model freed", "model freed"]


@pytest.mark.parametrize("context_dies_first", [False, True])
def test_a_garbage_cycle_frees_the_context_before_the_model(
    tiny_model_path: Path, freed: list[str], context_dies_first: bool
) -> None:
    class Cycle:
        pass

    gc.disable()
    try:
        model = Model(tiny_model_path)
        context = Context(model, SMALL)
        chain = SamplerChain.from_params(model, SamplingParams(dry_multiplier=1.0))
        members = [context, model, chain] if context_dies_first else [model, context]
        cycle = Cycle()
        cycle.members = members  # type: ignore[attr-defined]
        for member in members:
            member.cycle = cycle  # type: ignore[union-attr]
        del model, context, chain, members, member, cycle
        assert list(freed) == []
        gc.collect()
    finally:
        gc.enable()
    assert list(freed) == ["context freed", "model freed"]


def test_the_context_manager_closes(tiny_model_path: Path, freed: list[str]) -> None:
    with Model(tiny_model_path) as model, Context(model, SMALL) as context:
        assert not context.closed
    assert context.closed
    assert model.closed
    assert list(freed) == ["context freed", "model freed"]


def test_use_after_close_raises_closed_error(tiny_model_path: Path) -> None:
    model = Model(tiny_model_path)
    context = Context(model, SMALL)
    chain = SamplerChain.from_params(model, SamplingParams())
    batch = Batch(4)
    batch.add(1, 0, 0, True)
    model.close()
    for use in (
        lambda: context.decode(batch),
        lambda: context.logits(0),
        lambda: context.memory.clear(),
        lambda: chain.accept(1),
        lambda: model.vocab.tokenize("text"),
        lambda: model.vocab.text(1),
        lambda: Context(model, SMALL),
        lambda: model.chat_template(),
    ):
        with pytest.raises(ClosedError):
            use()


def test_closing_waits_for_threads_that_tokenize(tiny_model_path: Path) -> None:
    model = Model(tiny_model_path)
    text, refused, is_busy = "the day she was in it " * 2000, [], threading.Event()

    def tokenize_for_ever() -> None:
        try:
            while model.vocab.tokenize(text):
                is_busy.set()
        except ClosedError as error:
            refused.append(error)

    threads = [threading.Thread(target=tokenize_for_ever) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert is_busy.wait(10)
    model.close()
    for thread in threads:
        thread.join(10)
    assert len(refused) == 4


def run(program: str) -> tuple[int, list[str], str]:
    """Run `program` in a process of its own; return status, events and stderr."""
    head = (
        "import logging, sys\n"
        "logging.basicConfig(level='INFO', format='%(message)s', stream=sys.stdout)\n"
        "logging.getLogger('llamactypes.native').setLevel('ERROR')\n"
        "from llamactypes import *\n"
        f"model = Model({str(tiny_model())!r})\n"
        "context = Context(model, ContextParams(n_ctx=256, n_threads=1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    events = [line.split(":")[0] for line in done.stdout.splitlines()]
    return done.returncode, events, done.stderr


def test_free_backend_closes_models_first_and_start_may_follow() -> None:
    status, events, errors = run(
        "free_backend()\n"
        "free_backend()\n"
        "assert context.closed and model.closed and not backend_is_started()\n"
        "model = Model(model.path)\n"
        "print(model.vocab.kind)\n"
    )
    freed_once = ["context freed", "model freed", "backend freed"]
    assert (status, errors) == (0, "")
    assert events == [*freed_once, "spm", "model freed", "backend freed"]


def test_the_end_of_the_process_frees_in_order_and_prints_nothing_else() -> None:
    status, events, errors = run(
        "chain = SamplerChain.from_params(model, SamplingParams())\n"
        "model.cycle = context\n"
    )
    assert (status, errors) == (0, "")
    assert events == ["context freed", "model freed", "backend freed"]


def test_a_gate_waits_for_those_inside_and_refuses_newcomers() -> None:
    gate, may_leave, is_shut = Gate(lambda: ClosedError("shut")), threading.Event(), []

    def stay() -> None:
        with gate:
            may_leave.wait(5)

    inside = threading.Thread(target=stay)
    inside.start()
    eventually(lambda: gate._n_inside == 1)
    assert gate.close(timeout_s=0.01) is False
    with pytest.raises(ClosedError), gate:
        pass
    closer = threading.Thread(target=lambda: is_shut.append(gate.close(timeout_s=5)))
    closer.start()
    may_leave.set()
    closer.join(5)
    inside.join(5)
    assert is_shut == [True]
