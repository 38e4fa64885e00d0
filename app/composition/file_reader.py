"""What reads the files beside messages, from the settings."""

from agents.sources.attachments.transcriber import Transcriber
from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.settings import Settings

OPENAI = "https://api.openai.com/v1"


def make_file_reader(settings: Settings, assistant: Assistant) -> FileReader:
    """Return what reads files; it hears if a model for that is set."""
    transcriber = None
    if settings.transcriber_model:
        own = settings.transcriber_base_url and str(settings.transcriber_base_url)
        url, key = own or settings.openai_base_url or OPENAI, settings.transcriber_api_key
        # The key of one server is nothing for another one.
        key = key if own else key or settings.openai_api_key
        transcriber = Transcriber(url, settings.transcriber_model, key, settings.model_timeout)
    return FileReader(assistant, transcriber, settings.attached_length)
