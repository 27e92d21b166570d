"""What firedup knows about engines, as tested data: loading, checking and matching."""
