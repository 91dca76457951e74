"""What a person may set: flags, environment variables and their defaults."""

from api.settings.flags import SettingsError
from api.settings.settings import Settings

__all__ = ("Settings", "SettingsError")
