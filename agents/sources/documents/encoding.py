"""The encoding of a text: UTF, or one of the old ones."""

import codecs
import re

SAMPLE = 100_000  # Bytes to guess the encoding of a text from.
WESTERN, CYRILLIC = "cp1252", ("cp1251", "koi8_r", "cp866")  # Old encodings to try before all others.
COMMON = frozenset("оеаинтсрвл")  # These letters make up more than half of a Russian text.
_HIGH_RUN = re.compile(rb"[\x80-\xff]{3,}")


def decoded(body: bytes) -> str:
    """Return a text, decoded as UTF-8 if possible, else in the likeliest encoding."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        beginning = broken.object[: broken.start]
        if broken.end == len(broken.object) and not beginning.isascii():
            return beginning.decode()  # The text was cut within a letter.
        return body.decode(_likely_encoding(body[:SAMPLE]), "replace")


def _likely_encoding(sample: bytes) -> str:
    runs = b"".join(_HIGH_RUN.findall(sample))
    if not runs:
        # Letters with accents stand alone among plain ones.
        return WESTERN

    def common(encoding: str) -> int:
        return sum(letter in COMMON for letter in runs.decode(encoding, "replace").lower())

    best = max(CYRILLIC, key=common)
    if common(best) > len(runs) * 0.4:
        return best
    from charset_normalizer import from_bytes

    likely = from_bytes(sample).best()
    return likely.encoding if likely else "utf-8"
