"""The sentences of the command line, by language: `prompts/<lang>/cli.toml`."""

from prompts import sentence


def say(key: str, lang: str, /, **variables: object) -> str:
    """Return the sentence `key` ("bye", or "reply.lang_is" for one of a section), its `$variables` filled in.

    Raises:
        PromptError: no language has the sentence, or a variable of it was not given.
    """
    return sentence("cli", key, lang, **variables)
