"""Arrays, maps and structs: making them, reading them and searching them."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlext.expressions import faults
from sqlext.expressions.coercion import cast_to, chosen_type, string_among_others, takes, unchanged, wider_type
from sqlext.expressions.effort import size_of
from sqlext.expressions.function import LAST_KEY_WINS, SIZE_OF_NULL, Evaluate, Function, Signature, Types
from sqlext.expressions.json_paths import get_json_object
from sqlext.expressions.spark_types import ArrayOf, MapOf, StructOf, nested
from sqlext.expressions.values import compare, distinct, hashable, order_key


def _element_type(spark_type: str) -> str:
    parts = nested(spark_type)
    return parts.element if isinstance(parts, ArrayOf) else "void"


# the types of results


def _parts(signature: Signature) -> ArrayOf | MapOf | StructOf | None:
    """The parts of the type of the first argument."""
    return nested(signature.types[0]) if signature.types else None


def _part_type(signature: Signature) -> str | None:
    parts = _parts(signature)
    return parts.value if isinstance(parts, MapOf) else _element_of_array(signature)


def _element_of_array(signature: Signature) -> str | None:
    parts = _parts(signature)
    return parts.element if isinstance(parts, ArrayOf) else None


def _same_array(signature: Signature) -> str | None:
    return signature.types[0] if isinstance(_parts(signature), ArrayOf) else None


def _keys_type(signature: Signature) -> str | None:
    parts = _parts(signature)
    return f"array<{parts.key}>" if isinstance(parts, MapOf) else None


def _values_type(signature: Signature) -> str | None:
    parts = _parts(signature)
    return f"array<{parts.value}>" if isinstance(parts, MapOf) else None


def _field_type(signature: Signature) -> str | None:
    parts, name = _parts(signature), str(signature.constants.get(1, "")).lower()
    if isinstance(parts, MapOf):
        return parts.value
    if not isinstance(parts, StructOf):
        return None
    return next((t for n, t in zip(parts.names, parts.types) if n.lower() == name), None)


# parts of a value


def _field(signature: Signature) -> Evaluate:
    """The field of a struct. Its name is compared as it is written, then without regard to case."""
    parts = nested(signature.types[0])

    def evaluate(value: Any, name: str) -> Any:
        if isinstance(parts, ArrayOf):
            return [None if element is None else element[_index(parts.element, name)] for element in value]
        return value[_index(signature.types[0], name)]

    return evaluate


def _index(spark_type: str, name: str) -> int:
    parts = nested(spark_type)
    names = parts.names if isinstance(parts, StructOf) else ()
    if name in names:
        return names.index(name)
    return [n.lower() for n in names].index(name.lower())


def _key_types(signature: Signature) -> Types | None:
    parts = nested(signature.types[0])
    if isinstance(parts, MapOf):
        return signature.types[0], parts.key
    index = cast_to(signature.types[1], "int|integer") if isinstance(parts, ArrayOf) else None
    return None if index is None else (signature.types[0], index)


def _subscript(signature: Signature) -> Evaluate:
    """`value[index]` counts from 0."""
    return _part(signature, first=0, must_exist=signature.settings.is_ansi, from_end=False)


def _get(signature: Signature) -> Evaluate:
    return _part(signature, first=0, must_exist=False, from_end=False)


def _element_at(signature: Signature) -> Evaluate:
    """`element_at(value, index)` counts from 1, and from the end if the index is negative."""
    must_exist = signature.settings.is_ansi and signature.name == "element_at"
    return _part(signature, first=1, must_exist=must_exist, from_end=True)


def _part(signature: Signature, first: int, *, must_exist: bool, from_end: bool) -> Evaluate:
    parts = nested(signature.types[0])
    if isinstance(parts, MapOf):
        key_type = parts.key
        return lambda value, key: value.get(hashable(key, key_type))

    def element(value: list[Any], index: int) -> Any:
        if from_end and index == 0:
            raise faults.invalid_value("the index of element_at is 0", "the first element has the index 1")
        at = len(value) + index if from_end and index < 0 else index - first
        if 0 <= at < len(value):
            return value[at]
        if must_exist:
            raise faults.invalid_index(index, len(value))
        return None

    return element


# searching


def _search_types(signature: Signature) -> Types | None:
    """The types of the arguments: the element and the value that is searched for have the same type."""
    parts = nested(signature.types[0])
    if not isinstance(parts, ArrayOf):
        return None
    common = wider_type(parts.element, signature.types[1], settings=signature.settings, with_string=string_among_others)
    return None if common is None else (f"array<{common}>", common)


def _contains(signature: Signature) -> Evaluate:
    element_type = signature.types[1]

    def evaluate(values: list[Any], value: Any) -> bool | None:
        if any(v is not None and compare(v, value, element_type) == 0 for v in values):
            return True
        return None if any(v is None for v in values) else False

    return evaluate


def _position(signature: Signature) -> Evaluate:
    element_type = signature.types[1]
    return lambda values, value: next(
        (i for i, v in enumerate(values, 1) if v is not None and compare(v, value, element_type) == 0), 0
    )


def _size(signature: Signature) -> Evaluate:
    """The size, which for NULL without ANSI is -1 unless a setting says otherwise."""
    settings = signature.settings
    is_null = settings.is_ansi or SIZE_OF_NULL not in settings.is_on or signature.name == "array_size"
    of_null = None if is_null else -1
    return lambda value: of_null if value is None else len(value)


def _extreme(signature: Signature) -> Evaluate:
    element_type = _element_type(signature.types[0])
    choose = max if signature.name == "array_max" else min

    def evaluate(values: list[Any]) -> Any:
        present = [v for v in values if v is not None]
        return choose(present, key=lambda v: order_key(v, element_type)) if present else None

    return evaluate


def _distinct(signature: Signature) -> Evaluate:
    element_type = _element_type(signature.types[0])
    return lambda values: distinct(values, element_type)


def _sort(signature: Signature) -> Evaluate:
    element_type = _element_type(signature.types[0])

    def evaluate(values: list[Any], is_ascending: bool = True) -> list[Any]:  # noqa: FBT001, an argument in SQL
        return sorted(values, key=lambda v: order_key(v, element_type), reverse=not is_ascending)

    return evaluate


def _join(values: list[str | None], separator: str, null_text: str | None = None) -> str:
    texts = (null_text if value is None else value for value in values)
    return separator.join(text for text in texts if text is not None)


def _joined_size(values: list[str | None], separator: str, null_text: str = "") -> int:
    return size_of(values) + len(values) * (len(separator) + len(null_text))


def _slice(values: list[Any], start: int, length: int) -> list[Any]:
    if start == 0:
        raise faults.invalid_value("the start of slice is 0", "the first element has the index 1")
    if length < 0:
        raise faults.invalid_value("the length of slice is negative", "write a length of 0 or more")
    at = start - 1 if start > 0 else len(values) + start
    return values[at : at + length] if at >= 0 else []


# making


def _array_type(signature: Signature) -> str | None:
    common = chosen_type(signature.types, signature.settings)
    return None if common is None else f"array<{common}>"


def _array_types(signature: Signature) -> Types:
    return (_element_type(signature.result),) * len(signature.types)


def _struct_type(signature: Signature) -> str | None:
    names = [signature.constants.get(i) for i in range(0, len(signature.types), 2)]
    if not all(isinstance(name, str) for name in names):
        return None
    return "struct<" + ",".join(f"{name}:{t}" for name, t in zip(names, signature.types[1::2])) + ">"


def _map_type(signature: Signature) -> str | None:
    key, value = (chosen_type(signature.types[i::2], signature.settings) for i in (0, 1))
    return None if key is None or value is None else f"map<{key},{value}>"


def _map_types(signature: Signature) -> Types | None:
    parts = nested(signature.result)
    return (parts.key, parts.value) * (len(signature.types) // 2) if isinstance(parts, MapOf) else None


def _map(signature: Signature) -> Evaluate:
    parts = nested(signature.result)
    key_type = parts.key if isinstance(parts, MapOf) else "void"
    last_wins = LAST_KEY_WINS in signature.settings.is_on

    def evaluate(*values: Any) -> dict[Any, Any]:
        keys = [hashable(key, key_type) for key in values[::2]]
        if None in keys:
            raise faults.invalid_value("a key of a map is NULL", "keys cannot be NULL")
        if len(set(keys)) < len(keys):
            if last_wins:
                pairs = dict(zip(keys, values[1::2]))
                return dict(zip((values[2 * keys.index(key)] for key in pairs), pairs.values()))
            raise faults.invalid_value("a map has the same key twice", "keys must differ")
        return dict(zip(keys, values[1::2]))

    return evaluate


def _map_contains(signature: Signature) -> Evaluate:
    parts = nested(signature.types[0])
    key_type = parts.key if isinstance(parts, MapOf) else "void"
    return lambda value, key: hashable(key, key_type) in value


_ELEMENT_AT = Function(parameters=_key_types, result=_part_type, bind=_element_at)
_SIZE = Function(parameters=unchanged, result="int", bind=_size, takes_nulls=True)
_EXTREME = Function(parameters=unchanged, result=_element_of_array, bind=_extreme)
_making = partial(Function, takes_nulls=True, size=size_of)

NESTED_VALUES: dict[str, Function] = {
    ".": Function(parameters=unchanged, result=_field_type, bind=_field),
    "[]": Function(parameters=_key_types, result=_part_type, bind=_subscript),
    "get": Function(parameters=_key_types, result=_element_of_array, bind=_get),
    **dict.fromkeys(("element_at", "try_element_at"), _ELEMENT_AT),
    **dict.fromkeys(("size", "cardinality", "array_size"), _SIZE),
    "array_contains": Function(parameters=_search_types, result="boolean", bind=_contains),
    "array_position": Function(parameters=_search_types, result="bigint", bind=_position),
    **dict.fromkeys(("array_max", "array_min"), _EXTREME),
    "array_distinct": Function(parameters=unchanged, result=_same_array, bind=_distinct),
    "sort_array": Function(parameters=takes("array", "boolean", optional=1), result=_same_array, bind=_sort),
    "array_join": Function(
        parameters=takes("array<string>", "string", "string", optional=1),
        result="string",
        bind=lambda _: _join,
        size=_joined_size,
    ),
    "slice": Function(parameters=takes("array", "int", "int"), result=_same_array, bind=lambda _: _slice),
    "map_keys": Function(parameters=unchanged, result=_keys_type, bind=lambda _: list),
    "map_values": Function(
        parameters=unchanged, result=_values_type, bind=lambda _: lambda value: list(value.values())
    ),
    "map_contains_key": Function(parameters=_key_types, result="boolean", bind=_map_contains),
    "array": _making(parameters=_array_types, result=_array_type, bind=lambda _: lambda *values: list(values)),
    "struct": _making(parameters=unchanged, result=None, bind=lambda _: lambda *values: values),
    "named_struct": _making(parameters=unchanged, result=_struct_type, bind=lambda _: lambda *values: values[1::2]),
    "map": _making(parameters=_map_types, result=_map_type, bind=_map),
    "get_json_object": Function(parameters=takes("string", "string"), result="string", bind=lambda _: get_json_object),
}
