"""Where the logs of resumable streams are kept."""
