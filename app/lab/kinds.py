"""What the files of each kind in the lab's folder hold."""

from collections.abc import Mapping

from pydantic import BaseModel

from app.lab.cards import Queries
from app.lab.cases import Case
from app.lab.desk_session import DeskSession
from app.lab.folder import Kind
from app.lab.runs import LabRun
from app.lab.simulation import SimulatedUser
from app.lab.variants import LabVariant
from app.mocks import Mock

KINDS: Mapping[Kind, type[BaseModel]] = {
    "cases": Case,
    "desk": DeskSession,
    "mocks": Mock,
    "queries": Queries,
    "runs": LabRun,
    "users": SimulatedUser,
    "variants": LabVariant,
}
