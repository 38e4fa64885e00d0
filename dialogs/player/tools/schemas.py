"""What the tools of the player return, as JSON schemas."""

from typing import Annotated, Any

from agents.language.identifiers import MARK, Opaque

Schema = dict[str, Any]
TitleId = Annotated[str, Opaque("title")]


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
TITLE_ID = {"type": "string", MARK: "title"}
ROW = {"title_id": TITLE_ID, "name": TEXT, "kind": TEXT, "year": NUMBER, "rating": NUMBER}
TITLE = {**_object(**ROW), "$comment": "the title"}
TITLES = {"type": "array", "items": _object(**ROW)}
SOME_TITLES = {**TITLES, "$comment": "titles"}
DETAILS = {
    **_object(
        **ROW,
        genres={"type": "array", "items": TEXT},
        age=NUMBER,
        minutes=NUMBER,
        plot=TEXT,
        watched=FLAG,
        liked=FLAG,
        forbidden=TEXT,
    ),
    "$comment": "all facts; forbidden: why not to be played",
}
PLAYBACK = {
    **_object(
        state=TEXT, volume=NUMBER, title_id=TITLE_ID, name=TEXT, duration=NUMBER, position=NUMBER, off_at_end=FLAG
    ),
    "$comment": "what plays",
}
