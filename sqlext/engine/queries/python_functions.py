"""The Python UDFs of extended sessions: `spark.udf.register` is remembered, so that workers can call them.

Spark has no public way to read a registered function back. `extend` therefore wraps `register` of the session's
`UDFRegistration` class, and `restore` restores Spark's own. A function that was registered before `extend` is unknown.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.errors import PySparkException

from sqlext.rewriter.text.names import quoted
from sqlext.spark.kind import session_of

if TYPE_CHECKING:
    from sqlext.expressions.python_functions import PythonFunction

_ORIGINAL = "__sqlext_original__"
_SCALAR = (100, 101)  # PythonEvalType.SQL_BATCHED_UDF and SQL_ARROW_BATCHED_UDF: one row at a time


class _Registered(NamedTuple):
    function: Any
    result: Any  # a DataType, or its text
    eval_type: int
    is_deterministic: bool


_FUNCTIONS: dict[str, dict[str, _Registered]] = {}  # session: lower-case name: function


def python_function(spark: Any, name: str) -> PythonFunction | None:
    """The UDF with this name, pickled for workers; None if the session has no scalar Python UDF of that name, or if
    Spark calls a function of its own by it."""
    registered = _FUNCTIONS.get(session_of(spark), {}).get(name.lower())
    if registered is None or registered.eval_type not in _SCALAR or is_built_in(spark, name):
        return None
    from pyspark import cloudpickle  # pickles functions of notebooks by value, as pyspark does

    from sqlext.expressions.python_functions import PythonFunction  # loads numpy, which `import sqlext` does not

    return PythonFunction(
        name=name,
        pickled=cloudpickle.dumps(registered.function),
        result=_type_name(spark, registered.result),
        is_deterministic=registered.is_deterministic,
    )


def is_built_in(spark: Any, name: str) -> bool:
    """Whether Spark calls a function of its own by this name.

    A UDF that is registered under such a name replaces Spark's function before 4.2. Since then it is registered, and
    listed, but SQL never calls it.
    """
    try:
        described = spark.sql(f"DESCRIBE FUNCTION {quoted(name)}").collect()
    except PySparkException:  # a function of another schema, or none
        return False
    return any(row[0].startswith("Class: org.apache.spark.sql.catalyst.") for row in described)


def python_functions(spark: Any) -> dict[str, PythonFunction]:
    """All scalar Python UDFs that the session has registered, by their names in lower case. UDFs that cannot be pickled
    are left out, since Spark could not run them either."""
    functions: dict[str, PythonFunction] = {}
    for name in function_names(spark):
        with suppress(Exception):  # cloudpickle raises any error that an object's own methods raise
            function = python_function(spark, name)
            if function is not None:
                functions[name] = function
    return functions


def function_names(spark: Any) -> list[str]:
    """The names of all Python UDFs that the session has registered since it was extended, in lower case."""
    return sorted(_FUNCTIONS.get(session_of(spark), {}))


def body_of(spark: Any, name: str) -> str | None:
    """The bytecode of a registered function as text, the same in each process of one version of Python; None if
    there is no function of that name, or it is an object of another kind."""
    registered = _FUNCTIONS.get(session_of(spark), {}).get(name.lower())
    code = None if registered is None else getattr(registered.function, "__code__", None)
    return None if code is None else _text_of(code)


def _text_of(constant: Any) -> str:
    """A constant of bytecode as text; a set has no order.

    >>> def first(x): return x in {"a", "b"} and x + "1"
    >>> def second(x): return x in {"b", "a"} and x + "1"
    >>> def third(x): return x in {"b", "a"} and x + "2"
    >>> a, b, c = (_text_of(function.__code__) for function in (first, second, third))
    >>> a == b, a == c
    (True, False)
    """
    if isinstance(constant, CodeType):
        parts = (constant.co_code, constant.co_names, *constant.co_consts)
        return f"code({', '.join(map(_text_of, parts))})"
    if isinstance(constant, frozenset):
        return f"set({', '.join(sorted(map(_text_of, constant)))})"
    if isinstance(constant, tuple):
        return f"({', '.join(map(_text_of, constant))})"
    return repr(constant)


def hook_register(spark: Any) -> None:
    """Let `spark.udf.register` remember what it registers. May be called again."""
    cls = type(spark.udf)
    if not hasattr(cls.register, _ORIGINAL):
        cls.register = _hooked(cls.register)
    _FUNCTIONS.setdefault(session_of(spark), {})


def unhook_register(spark: Any) -> None:
    """Restore Spark's own `register` of the session's class."""
    cls = type(spark.udf)
    if hasattr(cls.register, _ORIGINAL):
        cls.register = getattr(cls.register, _ORIGINAL)


def forget(spark: Any) -> None:
    """Forget the functions of a session."""
    _FUNCTIONS.pop(session_of(spark), None)


def _type_name(spark: Any, spark_type: Any) -> str:
    if not isinstance(spark_type, str):
        return spark_type.simpleString()
    return spark.sql(f"SELECT CAST(NULL AS {spark_type}) AS c").schema[0].dataType.simpleString()


def _hooked(original: Any) -> Any:
    @functools.wraps(original)
    def register(self: Any, name: str, f: Any, returnType: Any = None) -> Any:
        result = original(self, name, f, returnType)
        functions = _FUNCTIONS.get(session_of(self.sparkSession))
        if functions is not None:
            functions[name.lower()] = _registered(f, returnType)
        return result

    setattr(register, _ORIGINAL, original)
    return register


def _registered(f: Any, return_type: Any) -> _Registered:
    if hasattr(f, "asNondeterministic"):
        return _Registered(f.func, f.returnType, f.evalType, f.deterministic)
    return _Registered(f, return_type or "string", _SCALAR[0], is_deterministic=True)
