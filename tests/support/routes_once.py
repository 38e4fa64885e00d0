"""Reads the routes of the HTTP door once for all its applications: each reads all routes anew at its first request."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from fastapi import routing
from fastapi.dependencies import utils
from fastapi.dependencies.models import Dependant

T = TypeVar("T")
FindDependant = Callable[..., Dependant]


def read_routes_once(patch: pytest.MonkeyPatch) -> None:
    """Make what FastAPI reads of a route once in this process."""
    for place in (routing, utils):
        patch.setattr(place, "get_dependant", dependants_once(utils.get_dependant))
        for name in {"create_model_field", "create_body_model"} & vars(place).keys():
            patch.setattr(place, name, made_once(getattr(place, name)))


def dependants_once(get_dependant: FindDependant) -> FindDependant:
    """Return a replacement for FastAPI's `get_dependant` that reads the signature of the same function once.

    Each application reads all routes anew: half of the time of its test. A closure over an application is not kept.
    """
    known: dict[tuple[object, ...], Dependant] = {}

    def dependant_of(*, path: str, call: Callable[..., Any], **options: Any) -> Dependant:
        if getattr(call, "__closure__", None) is not None:
            return get_dependant(path=path, call=call, **options)
        key = path, call, repr(sorted(options.items()))
        if key not in known:
            known[key] = get_dependant(path=path, call=call, **options)
        # Its application adds dependencies of its own.
        return replace(known[key], dependencies=[*known[key].dependencies])

    return dependant_of


def made_once(make: Callable[..., T]) -> Callable[..., T]:
    """Return a replacement for a function of FastAPI that makes the model, or the field, of the same description once.

    An annotation is told by itself, for two types may have one name; it lives as long as what is made of it.
    """
    known: dict[tuple[object, ...], tuple[T, object]] = {}

    def making(**description: Any) -> T:
        field = description.get("field_info")
        annotations = [description.get("type_"), *(it.field_info.annotation for it in description.get("fields", ()))]
        key = repr(sorted(description.items())), type(field), *map(id, annotations)
        if key not in known:
            known[key] = make(**description), annotations
        return known[key][0]

    return making
