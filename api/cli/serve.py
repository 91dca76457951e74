"""``llamactypes serve``: from words to a running server."""

from __future__ import annotations

from collections.abc import Sequence

from api.cli.common import do_action
from api.serving.bootstrap import check_extras, check_model
from api.serving.console import Console
from api.serving.log_setup import set_up_logging
from api.serving.serve import serve
from api.serving.stopping import StopSignal
from api.settings import Settings
from llamactypes.chat import ChatTemplate

__all__ = ("serve_command",)


def serve_command(words: Sequence[str], stop: StopSignal, console: Console) -> int:
    """Serve until a signal.

    Raises:
        SettingsError: A flag or variable cannot be used, or the model is not there.
        TemplateError: The text of --chat-template is no template.
    """
    settings = Settings.from_arguments(words)
    if do_action(settings, "serve", console):
        return 0
    set_up_logging(settings)
    for notice in settings.notices:
        console.complain(f"note: {notice}")
    check_model(settings)
    check_extras(settings)
    if settings.jinja and settings.chat_template:
        ChatTemplate(settings.chat_template)
    return 0 if stop.is_set else serve(settings, stop, console)
