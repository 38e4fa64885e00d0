"""Speech over HTTP: what is asked, what is heard, and what comes of a server that fails."""

import pytest
from pydantic import SecretStr

from agents.toolkit.services import Services
from app.assistant.speech import NotHeard, suffix_of
from app.plugins.speech import SpeechSettings, opened
from app.plugins.speech.transcriber import Transcriber
from app.settings import Settings
from tests.support.http_service import Answer, Service
from tests.support.search_servers import AIMOCK, NODE, transcriber

VOICE = b"OggS" + bytes(200)


async def test_a_recording_is_sent_as_a_form() -> None:
    """The server gets the file under a name that tells its kind, the model, the language and the key."""
    async with Service.open(Answer({"text": " put milk on my list "})) as service:
        speech = Transcriber(f"{service.url}/v1/", "whisper-1", SecretStr("sk-secret"))
        assert await speech.text(VOICE, "ru") == "put milk on my list"
    [asked] = service.asked
    assert (asked.method, asked.target) == ("POST", "/v1/audio/transcriptions")
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert asked.body["file"] == VOICE
    assert asked.body["file"].name == "speech.ogg"
    assert (asked.body["model"], asked.body["language"]) == ("whisper-1", "ru")
    assert "sk-secret" not in repr(speech)


async def test_no_proxy_of_the_environment_hears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be told the key and what was said."""
    async with Service.open(Answer({"text": "milk"})) as service, Service.open(Answer({"text": "no"})) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("no_proxy", "")
        assert await Transcriber(service.url, "m", SecretStr("sk-secret")).text(VOICE, "en") == "milk"
        assert proxy.asked == []


@pytest.mark.parametrize("bad", [Answer(status=500), Answer(status=429, headers={"retry-after": "0"})])
async def test_a_passing_failure_is_tried_again(bad: Answer) -> None:
    """A busy server is asked once more."""
    async with Service.open(bad, Answer({"text": "milk"})) as service:
        assert await Transcriber(service.url, "m").text(VOICE, "en") == "milk"
    assert "authorization" not in service.asked[0].headers


@pytest.mark.parametrize(
    ("answer", "tries"),
    [
        (Answer(status=401), 1),
        (Answer(status=302, headers={"location": "http://127.0.0.1/"}), 1),
        (Answer(b"<html>"), 1),
        (Answer([]), 1),
        (Answer({"text": None}), 1),
        (Answer({"text": "  "}), 1),
        (Answer({"text": "x" * 1_000_001}), 1),
        (Answer({"text": "x"}, headers={"content-encoding": "gzip"}), 2),
        (Answer(status=503), 2),
    ],
)
async def test_what_is_no_text(answer: Answer, tries: int) -> None:
    """Whatever else comes is not taken for speech, and a failure that stays is not asked about again."""
    async with Service.open(answer) as service:
        with pytest.raises(NotHeard):
            await Transcriber(service.url, "m").text(VOICE, "en")
    assert len(service.asked) == tries


@pytest.mark.parametrize("recording", [b"", b"%PDF-1.7", b"\0\0\0\x18ftypheic", b"OggS" + bytes(20_000_001)])
async def test_what_is_no_recording_is_not_sent(recording: bytes) -> None:
    """The first bytes say what it is, whatever it is called; a large one is not sent either."""
    async with Service.open(Answer({"text": "x"})) as service:
        with pytest.raises(NotHeard):
            await Transcriber(service.url, "m").text(recording, "en")
    assert service.asked == []


async def test_a_server_that_is_not_there() -> None:
    """It is tried and given up."""
    async with Service.open(Answer()) as service:
        url = service.url
    for address in (url, "http://[::1"):
        with pytest.raises(NotHeard):
            await Transcriber(address, "m", timeout=60).text(VOICE, "en")


def test_kinds() -> None:
    """Recordings are known by their beginnings."""
    assert [suffix_of(data) for data in (b"ID3x", b"RIFF....WAVE", b"....ftypM4A", b"\x1a\x45\xdf\xa3", b"fLaC")] == [
        "mp3",
        "wav",
        "m4a",
        "webm",
        "flac",
    ]


@pytest.mark.slow
@pytest.mark.skipif(AIMOCK is None or NODE is None, reason="needs npm's @copilotkit/aimock")
async def test_another_server() -> None:
    """aimock, which reads the form as OpenAI does."""
    async with transcriber("put milk on my list") as url:
        assert await Transcriber(f"{url}/v1", "whisper-1").text(VOICE, "en") == "put milk on my list"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ("https://api.openai.com/v1", "ours")),
        ({"openai_base_url": "http://one/v1"}, ("http://one/v1", "ours")),
        ({"transcriber_api_key": "own"}, ("https://api.openai.com/v1", "own")),
        ({"transcriber_base_url": "http://other/v1"}, ("http://other/v1", None)),
        ({"transcriber_base_url": "http://other/v1", "transcriber_api_key": "own"}, ("http://other/v1", "own")),
    ],
)
async def test_no_server_gets_the_key_of_another_one(values: dict[str, str], expected: tuple[str, str | None]) -> None:
    """The application's server and key are taken, unless there is a server for speech alone."""
    given = {"_env_file": None, "transcriber_model": "m", "openai_api_key": "ours", **values}
    settings = SpeechSettings.model_validate(given), Settings.model_validate(given)
    async with opened(Services(*settings)) as services:
        [speech] = services
    assert isinstance(speech, Transcriber)
    assert (speech.url, speech.key and speech.key.get_secret_value()) == expected


async def test_without_a_model_nobody_hears() -> None:
    """The plug-in then offers nothing."""
    async with opened(Services(SpeechSettings(_env_file=None))) as services:
        assert services == ()
