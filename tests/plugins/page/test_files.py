"""Files and spoken words that the page sends."""

import base64
import re
from pathlib import Path

import httpx
import pytest

from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.testing.script import Script
from tests.support.http_door import calling
from tests.support.page_visits import BY_PAGE, TALK, said
from tests.support.scripted_assistant import ROLES, stage
from tests.support.speech import Heard

PIXEL = bytes.fromhex("89504e470d0a1a0a") + b"dot" * 500_000
UNUSABLE = {
    "picture": ("cat.jpg", b"\xff\xd8\xff" + b"x" * 3_000_000, "The picture is too large: I take up to 3 MB."),
    "text": ("book.txt", b"word " * 4_000_001, "The file is too large: I take up to 20 MB."),
    "empty": ("notes.txt", b"", "I could not read notes.txt"),
}


async def test_files_beside_a_message(tmp_path: Path, script: Script) -> None:
    """Pictures and documents are read for their turn; an unreadable one is told."""
    script.sees = True
    script.add(supervisor=["A dot and a list."])
    files = [("file", ("dot.png", PIXEL)), ("file", ("list.csv", b"milk,2\ntea,1\n")), ("file", ("", b""))]
    async with stage(tmp_path / "files.db", script.models(ROLES)) as assistant:
        reader = FileReader(assistant, None, 1_000)
        async with calling(assistant, reader=reader, headers=BY_PAGE) as client:
            assert 'data-attach aria-label="Attach files"' in (page := (await client.get(TALK)).text)
            assert "data-record" not in page
            fields = {"id": "message-1", "text": "what is this?"}
            shown = await client.post(f"{TALK}/messages", data=fields, files=files)
            [stream] = re.findall(r'sse-connect="([^"]+)"', shown.text)
            assert "A dot and a list." in (await client.get(stream)).text
            asked = str(script.asked[0].messages)
            assert base64.b64encode(PIXEL).decode() in asked
            assert "milk" in asked
            nothing = await client.post(f"{TALK}/messages", data={"id": "message-2"}, files=[("file", ("x", b"\0\1"))])
            assert "I could not read x" in nothing.text
            assert "sse-connect" not in nothing.text
        assert len(await assistant.history("day")) == 2


@pytest.mark.parametrize("name", UNUSABLE)
async def test_files_that_cannot_be_used(tmp_path: Path, script: Script, name: str) -> None:
    """The user is told why, and the words beside are answered; the message stands there as it was written."""
    script.sees = True
    script.add(supervisor=["I see nothing."])
    file, data, remark = UNUSABLE[name]
    async with (
        stage(tmp_path / "files.db", script.models(ROLES)) as assistant,
        calling(assistant, reader=FileReader(assistant, None, 1_000), headers=BY_PAGE) as client,
    ):
        fields = {"id": "message-1", "text": "what is this?"}
        shown = await client.post(f"{TALK}/messages", data=fields, files=[("file", (file, data))])
        assert (remark in shown.text, "caption" in shown.text) == (True, False)
        assert "I see nothing." in (await client.get(f"{TALK}/answer?id=message-1")).text


async def test_what_is_said_of_a_message_stays(tmp_path: Path, script: Script) -> None:
    """The page asks for the conversation again and again: remarks on files, and why a message was not taken, stay."""
    script.add(supervisor=["Bread."])
    broken = [("file", ("cat.bin", b"\0\1"))]
    async with (
        stage(tmp_path / "files.db", script.models(ROLES)) as assistant,
        calling(assistant, reader=FileReader(assistant, None, 1_000), headers=BY_PAGE) as client,
    ):
        await client.post(f"{TALK}/messages", data={"id": "message-1", "text": "what is this?"}, files=broken)
        await client.get(f"{TALK}/answer?id=message-1")
        assert "I could not read cat.bin" in (await client.get(TALK)).text
        await client.post(f"{TALK}/messages", data={"id": "message-2"}, files=broken)
        assert (await client.get(TALK)).text.count("I could not read cat.bin") == 2
        assert "I take 16000 at most" in await said(client, text="x" * 20_000, id="message-3")
        log = (await client.get(TALK)).text
        assert ("I take 16000 at most" in log, "x" * 20_000 in log) == (True, True)


async def test_too_much_at_once(client: httpx.AsyncClient) -> None:
    """Too many files, or too large ones, are refused in a sentence."""
    fields, much = {"id": "message-1", "text": "look"}, "This is too much at once."
    many = [("file", (f"{number}.txt", b"x")) for number in range(11)]
    for files in (many, [("file", ("film.mp4", b"x" * 26_000_000))]):
        shown = await client.post(f"{TALK}/messages", data=fields, files=files, headers=BY_PAGE)
        assert shown.text.startswith(much)


async def test_speech_that_is_sent_again(assistant: Assistant, script: Script) -> None:
    """A recording whose answer was lost on the way is the same message, although it would be heard otherwise."""
    script.add(supervisor=["Once upon a time."])
    files = {"voice": ("voice", b"OggS" + b"\1" * 50)}
    speech = Heard("a story", "us tory")
    async with calling(assistant, reader=FileReader(assistant, speech, 1_000), headers=BY_PAGE) as client:
        for _ in "12":
            sent = await client.post(f"{TALK}/messages", data={"id": "message-1"}, files=files)
            assert "a story" in sent.text
            assert "Once upon a time." in (await client.get(f"{TALK}/answer?id=message-1")).text
    assert len(speech.asked) == 1


async def test_spoken_words(assistant: Assistant, script: Script) -> None:
    """The page's recording goes to the transcriber, and its words are the user's message."""
    script.add(supervisor=["Once upon a time."])
    voice = [("voice", ("voice", b"\x1a\x45\xdf\xa3webm"))]
    async with calling(assistant, reader=FileReader(assistant, Heard("tell me a story"), 0), headers=BY_PAGE) as client:
        assert 'aria-pressed="false"' in (await client.get(TALK)).text
        shown = await client.post(f"{TALK}/messages", data={"id": "message-1", "text": ""}, files=voice)
        assert "tell me a story" in shown.text
        [stream] = re.findall(r'sse-connect="([^"]+)"', shown.text)
        assert "Once upon a time." in (await client.get(stream)).text
    [line, _] = await assistant.history("day")
    assert (line.text, line.metadata["source"]) == ("tell me a story", "asr")
