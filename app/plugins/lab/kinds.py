"""The models of the lab's files, by kind."""

from collections.abc import Mapping

from pydantic import BaseModel

from app.plugins.lab.cards import Queries
from app.plugins.lab.cases import Case
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.folder import Kind
from app.plugins.lab.mocks import Mock
from app.plugins.lab.runs import LabRun
from app.plugins.lab.simulation import SimulatedUser
from app.plugins.lab.variants import LabVariant

KINDS: Mapping[Kind, type[BaseModel]] = {
    "cases": Case,
    "desk": DeskSession,
    "mocks": Mock,
    "queries": Queries,
    "runs": LabRun,
    "users": SimulatedUser,
    "variants": LabVariant,
}
