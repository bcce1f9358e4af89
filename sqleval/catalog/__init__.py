"""What the SQL files say: their headers, parameters, and which reads which."""

from sqleval.catalog.catalogue import Catalogue, builtin, find_sql_folder
from sqleval.catalog.contract import Relation
from sqleval.catalog.relations import CONTRACT

__all__ = ["CONTRACT", "Catalogue", "Relation", "builtin", "find_sql_folder"]
