"""``llamactypes run``: one prompt, answered in this process as it streams."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from api.chat.prompts import ChatPrompts
from api.cli.common import do_action, load_with_bar
from api.protocol.chat.conversation import Conversation
from api.protocol.chat.template_variables import read_template_variables
from api.protocol.prompt import chat_tokens, with_bos
from api.serving.bootstrap import check_extras, check_model
from api.serving.console import Console
from api.serving.log_setup import set_up_logging
from api.serving.model_source import loader_of
from api.settings import Settings, SettingsError
from llamactypes.chat.templates.special_text import Piece
from llamactypes.engine import Engine, GenerationRequest, Timings

__all__ = ("run_command",)

_QUIET = 2


def run_command(words: Sequence[str], console: Console) -> int:
    """Print the completion of one prompt.

    Raises:
        SettingsError: A flag or variable cannot be used, or there is no prompt.
        LlamaError: The model cannot be loaded or the prompt not be answered.
    """
    settings = Settings.from_arguments(words, command="run")
    if do_action(settings, "run", console):
        return 0
    _set_up_quiet_logging(settings)
    for notice in settings.notices:
        console.complain(f"note: {notice}")
    check_model(settings)
    check_extras(settings)
    prompt = _prompt(settings)
    engine = Engine(settings.engine, load=loader_of(settings))
    try:
        load_with_bar(engine)
        return _answer(engine, settings, prompt, console)
    finally:
        engine.stop(0.0)


def _set_up_quiet_logging(settings: Settings) -> None:
    """Log warnings only, unless a level was asked for: the answer is the output."""
    is_default = settings.verbosity == Settings().verbosity
    set_up_logging(replace(settings, verbosity=_QUIET) if is_default else settings)


def _prompt(settings: Settings) -> str:
    if settings.prompt is not None:
        return _as_utf8(settings.prompt)
    if sys.stdin is None or sys.stdin.isatty():
        raise SettingsError("no prompt: give -p TEXT, -f FILE, or pipe one in")
    return _as_utf8(sys.stdin.read())


def _as_utf8(text: str) -> str:
    """Return text with what the locale could not decode read as UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _answer(engine: Engine, settings: Settings, prompt: str, console: Console) -> int:
    generation = engine.submit(_request(engine, settings, prompt))
    for text in generation:
        if not console.write(text):
            return 0  # nobody reads on: stopping the engine ends the generation
    console.say()
    result = generation.wait(5.0)
    if result is not None:
        console.complain(_summary(result.timings))
    return 0


def _request(engine: Engine, settings: Settings, prompt: str) -> GenerationRequest:
    if settings.raw:
        tokens = tuple(with_bos(prompt, engine.vocab))
    else:
        tokens = chat_tokens(_chat_pieces(engine, settings, prompt), engine.vocab)
    return GenerationRequest(
        prompt_tokens=tokens,
        sampling=settings.sampling,
        max_tokens=settings.n_predict,
        stop=settings.reverse_prompts,
        ignore_eos=settings.ignore_eos,
        n_keep=settings.n_keep,
        special_pieces=settings.special,
    )


def _chat_pieces(engine: Engine, settings: Settings, prompt: str) -> tuple[Piece, ...]:
    """Return the prompt inside the chat template, as the server would."""
    messages: list[dict[str, object]] = [{"role": "user", "content": prompt}]
    if settings.system_prompt:
        messages.insert(0, {"role": "system", "content": settings.system_prompt})
    prompts = ChatPrompts(
        engine,
        jinja=settings.jinja,
        override=settings.chat_template,
        variables=settings.chat_template_kwargs,
        parse_special_content=settings.parse_special_content,
    )
    variables = read_template_variables({}, settings.chat_template_kwargs)
    conversation = Conversation(messages, template_kwargs=variables)
    return prompts.prompt(conversation).pieces


def _summary(timings: Timings) -> str:
    facts = timings.as_dict()
    return (
        f"[prompt {facts['prompt_n']} tokens, {facts['prompt_per_second']:.1f} per s; "
        f"answer {facts['predicted_n']} tokens, "
        f"{facts['predicted_per_second']:.1f} per s]"
    )
