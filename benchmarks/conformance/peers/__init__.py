"""A file per peer: which step answers its functions, and the reasons for what differs."""
