"""The values of a definition's fields, held to the types that its dataclass declares: functions to their parameters."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial, reduce
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, isroutine, signature, unwrap
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import PydanticCustomError, PydanticUndefined

OWN = "definition"
"""The type of the faults that are found here, and not by pydantic."""
DEFAULT = "default_of_"
PLAIN = "write it with `def` and without `yield`"
WRITTEN = {Awaitable: "write it with `async def`", AsyncGenerator: "write it with `async def` and `yield`"}
"""The form of a function, by the type that it returns; any other function has the form `PLAIN`."""


def mistyped(definition: object) -> str:
    """Return the first fault of a definition's fields, by their declared types; empty without one."""
    kind: Any = type(definition)
    try:
        _model_of(kind).model_validate(vars(definition))
    except ValidationError as wrong:
        faults = wrong.errors()
        # Of a choice of types a function is held to the one for functions.
        fault = next((each for each in faults if each["type"] == OWN), faults[0])
        value_part = "" if fault["type"] == OWN else f", found {fault['input']!r}"
        return f"{fault['loc'][0]}: {fault['msg']}{value_part}"
    return ""


def wrong_default(model: type[BaseModel]) -> str:
    """Return the first default of a pydantic model that its field would refuse; None stands for "not known"."""
    config = ConfigDict(arbitrary_types_allowed=True, validate_default=True)
    # Some names, such as `json`, are taken in a model.
    stated: dict[str, Any] = {
        f"{DEFAULT}{name}": (field.annotation, field)
        for name, field in model.model_fields.items()
        if field.default is not PydanticUndefined and field.default is not None
    }
    try:
        create_model(model.__name__, __config__=config, **stated)()
    except ValidationError as wrong:
        fault = wrong.errors()[0]
        name = str(fault["loc"][0]).removeprefix(DEFAULT)
        return f"has a wrong default of {name!r}: {fault['msg']}, found {fault['input']!r}"
    return ""


@cache
def _model_of(kind: type[Any]) -> type[BaseModel]:
    """Return the model that checks the fields of a dataclass; a value that is an instance of a class is not read."""
    hints, config = get_type_hints(kind, include_extras=True), ConfigDict(arbitrary_types_allowed=True, strict=True)
    declared: dict[str, Any] = {each.name: (_followed(hints[each.name]), ...) for each in fields(kind)}
    return create_model(kind.__name__, __config__=config, **declared)


def _followed(hint: Any) -> Any:
    """Return a type whose functions are held to their parameters, and whose dataclasses to their fields."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Callable:
        return Annotated[hint, AfterValidator(partial(_fitting, hint))]
    if origin is Annotated:
        return Annotated[(_followed(inner[0]), *hint.__metadata__)]
    if origin in (Union, UnionType):
        return reduce(or_, map(_followed, inner))
    if isinstance(hint, type) and is_dataclass(hint):
        return Annotated[hint, AfterValidator(_whole)]
    is_generic = isinstance(origin, type) and origin is not type
    return origin[tuple(map(_followed, inner))] if is_generic else hint


def _whole(definition: object) -> object:
    """Return a definition within another one, whose fields have their types."""
    if wrong := mistyped(definition):
        raise _fault(f"{type(definition).__name__}.{wrong}")
    return definition


def _fitting(hint: Any, value: Any) -> object:
    """Return a function that takes the parameters of its type, and is written as the type demands."""
    taken, returned = get_args(hint)
    if not _takes(value, taken):
        types = [get_args(each)[0] if get_origin(each) is Annotated else each for each in taken]
        raise _fault(f"it must take ({', '.join(getattr(each, '__name__', str(each)) for each in types)})")
    is_manager = AbstractAsyncContextManager in (get_origin(returned), *map(get_origin, get_args(returned)))
    wanted = WRITTEN.get(get_origin(returned), PLAIN)
    # Either a decorator or the function below it tells the result of a call.
    written = {_written(each, returned) for each in ([value] if is_manager else [value, unwrap(value)])}
    if isroutine(value) and wanted not in written:
        raise _fault("write `@asynccontextmanager` above it" if is_manager else wanted)
    return value


def _fault(text: str) -> PydanticCustomError:
    return PydanticCustomError(OWN, "{text}", {"text": text})


def _takes(value: Callable[..., object], taken: Sequence[object]) -> bool:
    # Some classes and functions that are written in C do not tell their parameters.
    with suppress(ValueError):
        try:
            signature(value).bind(*taken)
        except TypeError:
            return False
    return True


def _written(function: object, returned: object) -> str:
    """Return the form of a function; one that declares the type that it must return has the form of that type."""
    if iscoroutinefunction(function):
        return WRITTEN[Awaitable]
    if isasyncgenfunction(function):
        return WRITTEN[AsyncGenerator]
    wanted, declared = get_origin(returned), None
    # A type that is imported for the type checker alone is not known here.
    with suppress(NameError, TypeError):
        declared = get_origin(get_type_hints(function).get("return"))
    if wanted in WRITTEN and isinstance(declared, type) and issubclass(declared, wanted):
        return WRITTEN[wanted]
    return "" if isgeneratorfunction(function) else PLAIN
