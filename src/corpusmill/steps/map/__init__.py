"""Steps that change documents one by one, by code of your own."""
