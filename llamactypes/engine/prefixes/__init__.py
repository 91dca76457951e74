"""What need not be computed because somebody has computed it. Pure."""
