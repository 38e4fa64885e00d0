"""The tables of inbox and transcript, and what is asked of them."""

from agents.memory import gate_log

# A message's text moves from the inbox to the transcript when it is first closed; `line` says where to.
# That keeps it on disk once, and `line` is also where the lines of the message begin.
TABLES = (
    """CREATE TABLE IF NOT EXISTS inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, message_id TEXT NOT NULL,
    user TEXT NOT NULL, text TEXT, source TEXT NOT NULL, turn INTEGER NOT NULL, status TEXT NOT NULL,
    received_ms INTEGER NOT NULL, line INTEGER, quoted TEXT, UNIQUE (thread, message_id))""",
    "CREATE INDEX IF NOT EXISTS inbox_thread ON inbox (thread)",
    "CREATE INDEX IF NOT EXISTS inbox_open ON inbox (thread) WHERE status = 'open'",
    """CREATE TABLE IF NOT EXISTS transcript (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, turn INTEGER NOT NULL,
    message_id TEXT NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL, text TEXT NOT NULL,
    at_ms INTEGER NOT NULL, metadata TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS transcript_thread ON transcript (thread)",
    "CREATE TABLE IF NOT EXISTS records (letter INTEGER PRIMARY KEY, record TEXT NOT NULL)",
    gate_log.TABLE,
)
QUOTED = "ALTER TABLE inbox ADD COLUMN quoted TEXT"
"""What an older database lacks."""
LETTERS = """
SELECT thread, message_id, user, coalesce(text, (SELECT text FROM transcript WHERE id = inbox.line)),
source, status, turn,
coalesce(quoted, (SELECT json_extract(metadata, '$.quoted') FROM transcript WHERE id = inbox.line)), received_ms
FROM inbox WHERE thread = ?
"""
ONE = "AND message_id = ?"
RECEIVED = """
INSERT INTO inbox (thread, message_id, user, source, text, turn, status, received_ms, quoted)
VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?)
"""
EXTENDED = """
UPDATE inbox SET text = ?, source = ?, quoted = ? WHERE thread = ? AND message_id = ? AND status = 'open'
"""
WITHDRAWN = "DELETE FROM inbox WHERE thread = ? AND message_id = ? AND status = 'open'"
LINES = """
SELECT role, speaker, text, turn, message_id, at_ms, metadata FROM (
    SELECT * FROM transcript WHERE thread = ?1 AND (?2 IS NULL OR message_id = ?2) AND id >= coalesce(
        (SELECT line FROM inbox WHERE thread = ?1 AND message_id = ?2), 0)
    ORDER BY id DESC LIMIT ?3) ORDER BY id
"""
SAID = """
INSERT INTO transcript (thread, turn, message_id, role, speaker, text, at_ms, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
THREADS = """
SELECT one.thread, newest.user, one.turns, max(one.received_ms, coalesce((
    SELECT at_ms FROM transcript WHERE thread = one.thread ORDER BY id DESC LIMIT 1), 0)) AS active_ms, coalesce((
    SELECT text FROM transcript WHERE thread = one.thread AND role = 'user' ORDER BY id LIMIT 1), '')
FROM (SELECT thread, max(id) AS id, max(turn) AS turns, max(received_ms) AS received_ms
    FROM inbox GROUP BY thread) AS one
JOIN inbox AS newest ON newest.id = one.id ORDER BY active_ms DESC
"""
STATE = """
SELECT id, user, text, source, received_ms, line, status, quoted FROM inbox WHERE thread = ? AND message_id = ?
"""
UNTOLD = "DELETE FROM transcript WHERE thread = ? AND message_id = ?"
LATEST = """
SELECT id, thread, at_ms FROM transcript WHERE id IN (SELECT max(id) FROM transcript
    WHERE id > coalesce(?1, (SELECT max(id) FROM transcript) - 10000, 0) GROUP BY thread) ORDER BY id
"""
LAST_TURN = "SELECT coalesce(max(turn), 0) FROM transcript WHERE thread = ?"
USERS = "SELECT DISTINCT user FROM inbox WHERE thread = ?"
THREADS_OF = "SELECT DISTINCT thread FROM inbox WHERE user = ?"
# A message that was tried again has a line for each try.
RECORD = """
INSERT INTO records (letter, record) VALUES (?, ?)
ON CONFLICT DO UPDATE SET record = record || char(10) || excluded.record
"""
RECORDS = """
SELECT inbox.message_id, coalesce(inbox.text, transcript.text), records.record FROM inbox
LEFT JOIN records ON records.letter = inbox.id LEFT JOIN transcript ON transcript.id = inbox.line
WHERE inbox.thread = ? ORDER BY inbox.turn, inbox.id
"""
CLOSED = "UPDATE inbox SET status = ?, turn = ?, line = ?, text = NULL, quoted = NULL WHERE id = ?"
ERASE = (
    gate_log.ERASE,
    "DELETE FROM records WHERE letter IN (SELECT id FROM inbox WHERE thread = ?)",
    "DELETE FROM inbox WHERE thread = ?",
    "DELETE FROM transcript WHERE thread = ?",
)
_PART = "SELECT id FROM inbox WHERE thread = :thread AND user = :user"
ERASE_PART = (
    f"DELETE FROM gate_log WHERE letter IN ({_PART})",
    f"DELETE FROM records WHERE letter IN ({_PART})",
    """DELETE FROM transcript WHERE thread = :thread AND (json_extract(metadata, :note) = :user
    OR message_id IN (SELECT message_id FROM inbox WHERE thread = :thread AND user = :user))""",
    "DELETE FROM inbox WHERE thread = :thread AND user = :user",
)
"""What deletes one person's part of a thread."""
