"""A chat: what is asked, and replies of ``/v1/chat/completions``. Pure."""
