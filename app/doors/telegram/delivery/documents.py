"""Documents to a chat: each arrives once, also over a restart."""

from functools import partial

from telegram import InputFile

from app.doors.telegram.delivery.receipts import PageReceipts
from app.doors.telegram.delivery.sender import Sender
from app.doors.telegram.place import Place

LARGEST_DOCUMENT = 50_000_000
"""Bytes of a file that Telegram takes from a bot."""


async def send_document(
    sender: Sender, to: Place, name: str, content: bytes, receipts: PageReceipts | None = None
) -> bool:
    """Send a file, unless a receipt says that it was sent; False if Telegram refuses it.

    `name` is what the file is called. A file that cannot be sent for as long as a message is tried counts as sent.

    Raises:
        Gone: the chat cannot be written to.
    """
    if receipts and receipts.has_next():
        return True
    if len(content) > LARGEST_DOCUMENT:
        return False
    # Telegram refuses an empty file.
    document = InputFile(content or b"\n", filename=name)
    fate = await sender.deliver(to, partial(sender.bot.send_document, document=document, **to.address()))
    if receipts and fate != "refused":
        await receipts.note()
    return fate != "refused"
