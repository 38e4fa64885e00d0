"""The models of all roles, from the settings and the dialogs."""

from agents.errors import ConfigError
from agents.models import Model, Models
from agents.models.local_chat import LocalChat
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from app.settings import Settings
from dialogs import Dialog

NO_MODELS = Models(default=Model("none", LocalChat()))
"""The models of a command that plays no turn, and so asks none."""


def make_models(settings: Settings, speakers: Speakers, override: str | None = None) -> Models:
    """Make the models of all roles, also those from dialogs; `override` takes the place of all of them.

    Raises:
        ConfigError: a model's name or key is wrong, or a setting names a role that does not exist.
    """
    own = [dialog for dialog in speakers.dialogs.values() if isinstance(dialog, Dialog)]
    roles = {dialog.name: dialog.model for dialog in own if dialog.model} | settings.role_models
    parameters = {dialog.name: dialog.parameters for dialog in own if dialog.parameters} | settings.llm_parameters
    models = settings.model_copy(update={"role_models": roles, "llm_parameters": parameters}).models(override)
    there_are = [SUPERVISOR, "observer", *speakers.dialogs]
    if unknown := sorted(set(models.roles).difference(there_are)):
        named = f"{', '.join(unknown)}; there are: {', '.join(there_are)}"
        raise ConfigError(f"ROLE_MODELS or LLM_PARAMETERS: there is no role {named}")
    return models


def models_of(settings: Settings, speakers: Speakers, *, are_needed: bool) -> Models:
    """Make the models of all roles; `NO_MODELS` if a setting is wrong, unless they `are_needed`."""
    try:
        return make_models(settings, speakers)
    except ConfigError:
        if are_needed:
            raise
        # What people have said can be shown and deleted while a key is missing.
        return NO_MODELS
