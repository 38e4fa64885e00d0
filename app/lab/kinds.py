"""What the files of each kind in the lab's folder hold."""

from collections.abc import Mapping

from pydantic import BaseModel

from app.agent_files.mocks import Mock
from app.lab.cards import Queries
from app.lab.cases import Case
from app.lab.desk_session import Session
from app.lab.folder import Kind
from app.lab.runs import Run
from app.lab.simulation import User
from app.lab.variants import Variant

KINDS: Mapping[Kind, type[BaseModel]] = {
    "cases": Case,
    "desk": Session,
    "mocks": Mock,
    "queries": Queries,
    "runs": Run,
    "users": User,
    "variants": Variant,
}
