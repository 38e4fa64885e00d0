"""An operator's settings of long-term memory; `.env.example` beside this file explains each."""

from pydantic import Field, SecretStr

from agents.plugin import PluginSettings


class RecallSettings(PluginSettings):
    """The model that sums conversations up."""

    memory_model: str = Field(default="", pattern="^([a-z_]+:.+)?$")
    memory_base_url: str = ""
    memory_api_key: SecretStr | None = None
