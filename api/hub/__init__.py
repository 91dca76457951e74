"""Models from a hub of model repositories, by the package huggingface_hub."""

from api.hub.choice import HubError, HubModel

__all__ = ("HubError", "HubModel")
