"""Tools that send the user to a page; the page returns a value."""

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from agents.toolkit.result import Answer, request
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from app.testing.script import Call, Line
from tests.support.changed_speakers import changed

BEGIN: list[Line] = [Call("plan_things", {"brief": "sign in"})]
PAGE = "https://shop.example/sign-in"
END = "https://shop.example/end?state=7&code="


class Code(BaseModel):
    """The page's result."""

    code: str = Field(pattern=r"^\d{4}$")


class Slot(BaseModel):
    """A time to deliver at."""

    day: str = Field(max_length=10)
    hour: int


@traits(kind="breaker")
@tool(response_format="content_and_artifact")
async def sign_in() -> Answer:
    """Let the user sign in on a page."""
    return request("Please sign in.", url=PAGE, back=END)


@traits(kind="breaker", form=Code)
@tool(response_format="content_and_artifact")
async def get_code() -> Answer:
    """Let the user fetch a code of four digits from a page."""
    return request("Please fetch a code.", url=PAGE, back=END)


@traits(kind="breaker", form=Code)
@tool(response_format="content_and_artifact")
async def link_account() -> Answer:
    """Let the user link an account on a page that leads back by a link to the bot."""
    return request("Please link your account.", url=PAGE, back="https://t.me/sue_bot?start=")


@traits(kind="breaker", form=Slot)
@tool(response_format="content_and_artifact")
async def pick_slot() -> Answer:
    """Let the user pick a time in a web app."""
    return request("Please pick a time.", url=PAGE, back="https://shop.example/end?day=&hour=", web_app=True)


@traits(kind="breaker")
@tool(response_format="content_and_artifact")
async def pay() -> Answer:
    """Let the user pay in a web app."""
    return request("Please pay.", url=PAGE, web_app=True)


@traits(kind="breaker")
@tool(response_format="content_and_artifact")
async def go_to(back: str, web_app: bool = False) -> Answer:
    """Send the user to a page of which the return address is given."""
    return request("Please open it.", url="http://shop.example", back=back, web_app=web_app)


@traits(effect="write")
@tool
async def send(text: str) -> str:
    """Send a text to somebody."""
    return "Sent."


def with_pages(speakers: Speakers) -> Speakers:
    """Return the speakers, the planner with the tools of this module."""
    tools = [sign_in, get_code, link_account, pick_slot, pay, go_to, send]
    return changed(speakers, "planner", tools=tools)
