"""Getting to know the person: experience, skills, interests, the work they seek."""

from collections.abc import Sequence

from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from agents.toolkit.context import Context
from agents.toolkit.handover_tools import NAMES_USER
from dialogs import Dialog
from dialogs.profile.store import told_of_user
from dialogs.profile.tools import export_profile, show_profile
from prompts import form_texts, sentence

UNASKED: JsonDict = {"asked": False}
"""The mark of a field that is stored when the user tells it, and never asked for."""
NAME: JsonDict = {**UNASKED, NAMES_USER: True}
TOLD = ("name", "home")


class Profile(BaseModel):
    """What the dialog finds out about the user."""

    name: str | None = Field(default=None, max_length=100, description="What to call them.", json_schema_extra=NAME)
    home: str | None = Field(default=None, max_length=200, description="Where they live.", json_schema_extra=UNASKED)
    experience: str | None = Field(default=None, max_length=500, description="Work experience: trade and years.")
    skills: list[str] = Field(default=[], max_length=50, description="What they are good at.")
    interests: list[str] = Field(default=[], max_length=50, description="What they like, at work and beside it.")
    work: str | None = Field(default=None, max_length=500, description="The work they seek.")


async def user_lines(context: Context, store: BaseStore, lang: str) -> Sequence[str]:
    """Return the supervisor's lines on the user: the noted goal, and the fields in `TOLD`."""
    intent, form = await told_of_user(store, context.user)
    labels = form_texts("profile", lang)
    facts = "; ".join(f"{labels[name]['label']}: {form[name]}" for name in TOLD if form.get(name))
    goal = [sentence("profile/phrases", "goal_noted", lang, intent=intent)] if intent else []
    return [*goal, *([sentence("profile/phrases", "user_known", lang, known=facts)] if facts else [])]


dialog = Dialog(
    tool="get_acquainted",
    description="Used for getting to know the user: experience, skills, interests and the work they seek; "
    "also for showing, correcting or exporting their profile.",
    form=Profile,
    remember=True,
    tools=[show_profile, export_profile],
    observers=["supervisor", "finished", "intent"],
    user_lines=user_lines,
)
