"""Getting to know the person: experience, skills, interests, the work they seek."""

from pydantic import BaseModel, Field

from agents.tools.profile import export_profile, show_profile
from dialogs import Dialog


class Profile(BaseModel):
    """What the dialog finds out about the user."""

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
