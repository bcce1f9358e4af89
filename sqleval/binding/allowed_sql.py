"""Checks that a user's SQL expression holds only operators and functions of values.

Allowed functions are listed, because a list of forbidden ones would never be complete: engines have
functions that read files, settings and other sessions, that wait, or that write.
"""

import re

from sqlglot import exp

#: Operators and other syntax without a function's name.
_SYNTAX: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Tuple,
        exp.And, exp.Or, exp.Not, exp.Xor, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
        exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.Between, exp.In, exp.Like, exp.ILike, exp.Glob,
        exp.SimilarTo, exp.Escape, exp.RegexpFullMatch,
        exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.DPipe,
        exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift,
        exp.BitwiseRightShift,
        exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Interval,
        exp.IntervalSpan, exp.Var, exp.AtTimeZone, exp.Collate, exp.Bracket, exp.Slice, exp.Dot,
        exp.Array, exp.Extract, exp.StrPosition, exp.ArrayOverlaps, exp.JSONExtract,
        exp.JSONExtractScalar, exp.JSONPath, exp.JSONPathRoot, exp.JSONPathKey,
        exp.JSONPathSubscript,
        exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtime, exp.Localtimestamp,
    }
)  # fmt: skip
#: Functions whose result depends only on their arguments, or on the time.
_NAMES = """
    abs acos acosh age ago array_contains array_extract array_has array_has_all array_has_any
    array_length array_position array_value ascii asin asinh atan atan2 atanh bit_length
    cardinality cbrt ceil ceiling century char_length character_length chr coalesce concat
    concat_ws contains cos cosh cot current_date damerau_levenshtein date_add date_diff date_part
    date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek
    dayofyear days_in_month decade degrees editdist3 element_at ends_with epoch epoch_ms epoch_ns
    epoch_us era even exp factorial flatten floor fmod format gamma gcd get_current_timestamp
    greatest hamming hash hex hour if ifnull instr isfinite isinf isnan isodow isoyear jaccard
    jaro_similarity jaro_winkler_similarity json_array_length json_contains json_exists
    json_extract json_extract_path json_extract_path_text json_extract_string json_keys json_type
    json_valid julian last_day lcase lcm least left len length levenshtein lgamma list_contains
    list_distinct list_element list_extract list_has list_has_all list_has_any
    list_intersect list_max list_min
    list_position list_sum list_unique list_value ln log log10 log2 lower lpad ltrim make_date
    make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz map_contains
    map_extract md5 microsecond millennium millisecond minute mod month monthname nanosecond
    nextafter nfc_normalize now nullif octet_length ord overlay parse_dirname parse_dirpath
    parse_filename parse_path pi position pow power prefix printf quarter radians regexp_escape
    regexp_extract regexp_full_match regexp_matches regexp_replace repeat replace reverse right
    round round_even rpad rtrim second sha1 sha256 sign signbit sin sinh split split_part sqrt
    starts_with str_split strftime string_split strip_accents strlen strpos strptime
    struct_extract substr substring suffix tan tanh time_bucket timezone timezone_hour
    timezone_minute to_base to_days to_hex to_hours to_microseconds to_milliseconds to_minutes
    to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
    translate trim trunc try_strptime typeof ucase unhex unicode upper week weekday weekofyear
    year yearweek
"""
_FUNCTIONS = frozenset(_NAMES.split())
_NAME = re.compile(r"(\w+)\(")
_WORD = re.compile(r"\w+")


def find_forbidden(tree: exp.Expr, also: frozenset[str] = frozenset()) -> str | None:
    """Return a forbidden part of an expression, such as a function; None if all is allowed.

    Parameters
    ----------
    tree : sqlglot.exp.Expr
        The expression.
    also : frozenset of str
        Names of further functions that it may hold.
    """
    for node in tree.walk():
        if isinstance(node, exp.In) and (node.args.get("query") or node.args.get("unnest")):
            return "IN with a query"
        # A schema's own function may have the name of an allowed one.
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            return f"the function {node.sql(dialect='duckdb')}"
        if _is_verbatim(node):
            return f"{node.sql(dialect='duckdb')[:60]!r} as a name"
        if type(node) in _SYNTAX:
            continue
        if not isinstance(node, exp.Func):
            return f"{type(node).__name__.upper()} in {node.sql(dialect='duckdb')[:60]}"
        if not _list_names(node) & (_FUNCTIONS | also):
            return f"the function {_name_call(node)}"
    return None


def _is_verbatim(node: exp.Expr) -> bool:
    """Whether sqlglot would write a user's text into the statement without quotes."""
    if isinstance(node, exp.Var):
        return not _WORD.fullmatch(node.name)
    if isinstance(node, exp.DataType):
        return node.this == exp.DataType.Type.USERDEFINED
    if isinstance(node, exp.Collate):
        name = node.expression
        return not isinstance(name, (exp.Var, exp.Identifier)) or not _WORD.fullmatch(name.name)
    return False


def _name_call(node: exp.Func) -> str:
    """Return the name of a function in DuckDB."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    text = node.sql(dialect="duckdb")
    match = _NAME.match(text)
    return (match[1] if match else text).lower()


def _list_names(node: exp.Func) -> set[str]:
    """Return the names of a function in sqlglot and in DuckDB."""
    if isinstance(node, exp.Anonymous):
        return {node.name.lower()}
    return {_name_call(node), *(str(name).lower() for name in node.sql_names())}
