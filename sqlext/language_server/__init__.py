"""`sqlext lsp`: what an editor asks about SQL, over the Language Server Protocol 3.17."""
