"""What every resource needs: the engine, the settings and facts made from both."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from api.chat.prompts import ChatPrompts
from api.chat.running import RunningAnswers
from api.errors import NotAuthorized
from api.http.key_limit import KeyLimit
from api.observing.traffic import Traffic
from api.prompt_vocab import BoundedVocab
from api.protocol.chat.conversation import ChatDefaults
from api.protocol.options import OptionDefaults
from api.protocol.thinking import ThinkingAsked
from api.responses.store import ResponseStore, StoreLimits
from api.streams.owners import owner_digest
from api.streams.progress import PromptProgress
from api.streams.sessions import StreamSessions
from api.streams.stores.choice import open_streams

if TYPE_CHECKING:
    from api.settings import Settings
    from llamactypes.engine import Engine

__all__ = ("ServingContext",)


class ServingContext:
    """One server's state. Any thread; resources share one object."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        traffic: Traffic,
        streams: StreamSessions | None = None,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.traffic = traffic
        self.chat_defaults = ChatDefaults(
            jinja=settings.jinja,
            prefill_assistant=settings.prefill_assistant,
            template_kwargs=settings.chat_template_kwargs,
            reasoning_format=settings.reasoning_format,
            skip_parsing=settings.skip_chat_parsing,
            thinking=ThinkingAsked(
                settings.reasoning_budget, settings.reasoning_budget_message
            ),
        )
        self.option_defaults = OptionDefaults(
            sampling=settings.sampling,
            n_predict=settings.n_predict,
            n_keep=settings.n_keep,
            stop=tuple(settings.reverse_prompts),
            cache_prompt=settings.cache_prompt,
            n_cache_reuse=settings.n_cache_reuse,
            ignore_eos=settings.ignore_eos,
            sse_ping_interval_s=settings.sse_ping_interval_s,
            verbose=settings.verbose,
            special=settings.special,
            form=settings.form,
        )
        self.running = RunningAnswers()
        self.progress = PromptProgress(engine.slots)
        self.key_limit = KeyLimit(
            settings.key_concurrency, engine.retry_after_s, self.progress.watch
        )
        self.responses = ResponseStore(
            StoreLimits(
                settings.responses_store,
                settings.responses_store_mib << 20,
                settings.responses_store_age_s,
            )
        )
        self.streams = streams or open_streams(settings)
        self._owners = [owner_digest(key) for key in settings.api_keys]
        self.routes: Sequence[tuple[type[Any], Sequence[str]]] = ()
        """Every resource and its paths; the application sets it."""
        self._prompts: ChatPrompts | None = None
        self._lock = threading.Lock()

    def owner_of(self, key_index: int | None) -> str | None:
        """Return whose streams a request sees; None: the server asks for no key.

        Unlike the number of its key it is the same on other servers, and after keys
        were added and the server was started again.
        """
        return None if key_index is None else self._owners[key_index]

    def key_index_of(self, owner: str | None) -> int | None:
        """Return which API key is the owner's, for a server with keys.

        Raises:
            NotAuthorized: None is, any more.
        """
        if owner is None and not self._owners:
            return None
        if owner not in self._owners:
            raise NotAuthorized
        return self._owners.index(owner)

    @property
    def aliases(self) -> list[str]:
        """The model's names, in alphabetical order."""
        return sorted(set(self.settings.model_alias))

    @property
    def model_id(self) -> str:
        """The name of the model in every reply, whatever the request calls it."""
        aliases = self.aliases
        if aliases:
            return aliases[0]
        repo = self.settings.hf_repo
        return str(repo) if repo else PurePath(self.engine.info.path).name

    @property
    def prompt_vocab(self) -> BoundedVocab:
        """The vocabulary for prompts; raises like `Engine.info` before it is loaded."""
        return BoundedVocab(self.engine.vocab, self.engine.info.n_ctx_slot)

    @property
    def prompts(self) -> ChatPrompts:
        """The model's chat templates; raises like `Engine.info` before it is loaded."""
        with self._lock:
            if self._prompts is None:
                self._prompts = ChatPrompts(
                    self.engine,
                    jinja=self.settings.jinja,
                    override=self.settings.chat_template,
                    variables=self.settings.chat_template_kwargs,
                    parse_special_content=self.settings.parse_special_content,
                )
            return self._prompts
