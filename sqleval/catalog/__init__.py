"""What the SQL files say: their headers, parameters, and which reads which."""

from sqleval.catalog.contract import CONTRACT, Relation
from sqleval.catalog.files import files, get, index, load, relations, sql_folder

__all__ = ["CONTRACT", "Relation", "files", "get", "index", "load", "relations", "sql_folder"]
