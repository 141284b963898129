"""Write the JSON Schema of recipes, which ships, from the code: python docs/make_schema.py

A test fails when it is out of date.
"""

import json

from corpusmill.recipe.json_schema import recipe_schema
from corpusmill.recipe.shipped import SCHEMA_FILE

if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(recipe_schema(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(SCHEMA_FILE)
