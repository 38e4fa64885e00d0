"""Getting to know the person: experience, skills, interests, the work they seek."""

from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from agents.tools.profile import export_profile, show_profile
from dialogs import Dialog

UNASKED: JsonDict = {"asked": False}
"""Marks a field that is written down when the user tells it, and never asked for."""


class Profile(BaseModel):
    """What the dialog finds out about the user."""

    name: str | None = Field(default=None, max_length=100, description="What to call them.", json_schema_extra=UNASKED)
    home: str | None = Field(default=None, max_length=200, description="Where they live.", json_schema_extra=UNASKED)
    experience: str | None = Field(default=None, max_length=500, description="Work experience: trade and years.")
    skills: list[str] = Field(default=[], max_length=50, description="What they are good at.")
    interests: list[str] = Field(default=[], max_length=50, description="What they like, at work and beside it.")
    work: str | None = Field(default=None, max_length=500, description="The work they seek.")


dialog = Dialog(
    tool="get_acquainted",
    description="Used for getting to know the user: experience, skills, interests and the work they seek; "
    "also for showing, correcting or exporting their profile.",
    form=Profile,
    remember=True,
    tools=[show_profile, export_profile],
    observers=["supervisor", "finished", "intent"],
)
