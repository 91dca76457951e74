"""Our server against its peers: same model, library, threads and work, in one run."""
