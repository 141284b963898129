"""Steps that turn text into token ids."""
