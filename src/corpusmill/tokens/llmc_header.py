"""The header of the files of llm.c. Source: llm.c, dev/data/data_common.py."""

HEADER = 256  # int32 before the ids: magic, version, number of ids, zeros
LLMC_MAGIC = {2: (20240520, 1), 4: (20240801, 7)}  # bytes of an id -> magic and version
MAX_IDS = 2**31 - 1  # ids in a file: the header counts them as an int32
